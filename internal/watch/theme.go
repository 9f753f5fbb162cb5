package watch

import (
	"fmt"
	"strconv"
	"strings"
)

// role is what a colour stands for. A role never stands alone: each has a sign
// or a word too, so that nothing is lost without colours.
type role int

const (
	plainText role = iota
	bold
	dim
	accent // current, selected, a person's
	done   // done, progress
	warn   // waits
	bad    // failed
	struck // removed, cancelled
)

// theme holds the SGR parameters of each role; a nil theme paints nothing.
type theme map[role]string

// basic uses the 16 colours, which the user's terminal chooses to be legible on
// its own background.
func basic() theme {
	return theme{bold: "1", dim: "2", accent: "36", done: "32", warn: "33", bad: "31", struck: "9;2"}
}

// exact are the panel's colours, on a light or a dark background.
func exact(light bool, colour func(hex string) string) theme {
	hexes := map[role]string{dim: "97958e", accent: "93a6ff", done: "45bd86", warn: "eab560", bad: "ff8f85"}
	if light {
		hexes = map[role]string{dim: "6d6a62", accent: "2b45d4", done: "177a50", warn: "8a5200", bad: "b3261e"}
	}
	t := theme{bold: "1"}
	for r, hex := range hexes {
		t[r] = colour(hex)
	}
	t[struck] = "9;" + t[dim]
	return t
}

func trueColour(hex string) string {
	r, g, b := channels(hex)
	return fmt.Sprintf("38;2;%d;%d;%d", r, g, b)
}

// colour256 returns the nearest colour of the 6×6×6 cube, or of the greys.
func colour256(hex string) string {
	r, g, b := channels(hex)
	if max(r, g, b)-min(r, g, b) < 16 {
		return "38;5;" + strconv.Itoa(232+min(max((r-8+5)/10, 0), 23))
	}
	step := func(v int) int {
		if v < 48 {
			return 0
		}
		return min((v-35)/40, 5)
	}
	return "38;5;" + strconv.Itoa(16+36*step(r)+6*step(g)+step(b))
}

func channels(hex string) (r, g, b int) {
	n, _ := strconv.ParseUint(hex, 16, 32)
	return int(n >> 16 & 255), int(n >> 8 & 255), int(n & 255)
}

// exactColours returns how the terminal is told an exact colour; nil when it has
// 16 colours as far as its environment says.
func exactColours(getenv func(string) string) func(hex string) string {
	term := getenv("TERM")
	switch {
	case getenv("COLORTERM") == "truecolor", getenv("COLORTERM") == "24bit", strings.HasSuffix(term, "-direct"):
		return trueColour
	case strings.HasSuffix(term, "256color"):
		return colour256
	}
	return nil
}

// isLight reports whether a colour, as a terminal answers what its background is
// ("rgb:1c1c/1c1c/1c1c"), is light. ok is false for another answer.
func isLight(answer string) (light, ok bool) {
	_, text, ok := strings.Cut(answer, "rgb:")
	parts := strings.Split(text, "/")
	if !ok || len(parts) != 3 {
		return false, false
	}
	sum := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return false, false
		}
		sum += weight * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return sum > 0.5, true
}

// paint colours a text that has no colours.
func (t theme) paint(r role, text string) string {
	if t[r] == "" || text == "" {
		return text
	}
	return "\x1b[" + t[r] + "m" + text + "\x1b[0m"
}
