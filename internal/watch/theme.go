package watch

import (
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v3"

	"todo-mcp/internal/render"
)

// role is what a colour stands for. A role never stands alone: each has a sign
// or a word too, so that nothing is lost without colours.
type role byte

const (
	plainText role = '0' + iota
	bold
	dim
	accent // current, selected, a person's
	done   // done, progress
	warn   // waits
	bad    // failed
	struck // removed, cancelled
)

// styles returns how a terminal with so many colours shows each role. background is what
// the terminal says of its own in COLORFGBG. Where it is known, and there are colours
// enough, they are the panel's, else those that the user chose to be legible on it.
func styles(colours int, background string) map[role]tcell.Style {
	s := tcell.StyleDefault
	colour := func(dark, light string, own int) tcell.Style {
		if isLight, known := readBackground(background); known && colours >= 256 {
			return s.Foreground(tcell.GetColor(map[bool]string{false: dark, true: light}[isLight]))
		}
		if own < 0 {
			return s.Dim(true)
		}
		return s.Foreground(tcell.PaletteColor(own))
	}
	faint := colour("#97958e", "#6d6a62", -1)
	return map[role]tcell.Style{bold: s.Bold(true), dim: faint, struck: faint.StrikeThrough(true),
		accent: colour("#93a6ff", "#2b45d4", 6), done: colour("#45bd86", "#177a50", 2),
		warn: colour("#eab560", "#8a5200", 3), bad: colour("#ff8f85", "#b3261e", 1)}
}

// readBackground reads COLORFGBG, the numbers of a terminal's two colours as "15;0": the
// last is the background, of which 7 and those from 9 on are light.
func readBackground(text string) (light, known bool) {
	n, err := strconv.Atoi(text[strings.LastIndex(text, ";")+1:])
	return n == 7 || n > 8, err == nil
}

// roleMark begins a part of a text that has a role, which is the byte after it. No safe text
// contains it.
const roleMark = "\x1b"

// paint gives a text that has no roles one.
func paint(r role, text string) string {
	if r == plainText || text == "" {
		return text
	}
	return roleMark + string(r) + text + roleMark + string(plainText)
}

// unpainted returns a text without its roles.
func unpainted(text string) string {
	plain, painted, _ := strings.Cut(text, roleMark)
	for part := range strings.SplitSeq(painted, roleMark) {
		plain += part[min(1, len(part)):]
	}
	return plain
}

// paintedCells returns the width of a painted text.
func paintedCells(text string) int { return render.Cells(unpainted(text)) }
