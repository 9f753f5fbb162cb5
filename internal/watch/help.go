package watch

import (
	"slices"
	"strings"

	"todo-mcp/internal/render"
)

// The overlay of keys has two columns of columnWidth cells where there is room for both,
// and in each the keys in the first keysWidth.
const (
	columnWidth = 48
	keysWidth   = 11
)

// helpLines draws the overlay in a height; it scrolls.
func (m *model) helpLines(height int) []string {
	signs := strings.NewReplacer("PgUp", "PgUp", "Up", "↑", "Down", "↓", "Left", "←", "Right", "→", "Backspace", "⌫")
	states := []binding{
		{keys: "◐ ‖ ◌", help: "working, waits for you, idle"},
		{keys: "◦ ✓ ✗", help: "left open, finished, failed"},
		{keys: "you", help: "your change, not seen by the agent"},
	}
	width := max(min(m.width-4, 2*columnWidth+2), 1)
	column, two := width, width >= 2*columnWidth
	if two {
		column = width/2 - 1
	}
	section := func(title string, table []binding) (texts []string) {
		texts = []string{"", paint(bold, render.Cut(title, column))}
		for _, b := range table {
			keys := signs.Replace(b.keys)
			line := paint(accent, render.Pad(keys, keysWidth)) + render.Cut(b.help, column-keysWidth)
			if b.help != "" && !slices.Contains(texts, line) {
				texts = append(texts, line)
			}
		}
		return texts
	}
	left := slices.Concat(section("Showing "+m.sourceName, nil), section("Moving", moving()), section("Items", editing()))
	right := slices.Concat(section("Lists", wholeLists()), section("History (h)", revisions()),
		section("Everywhere", looking()), section("Signs", states))
	texts := append(left, right...)[1:]
	if two {
		right = append([]string{""}, right...) // under the name of the source
		texts = beside(left[1:], right, column+2)
	}
	inside := max(height-2, 0)
	m.helpTop = min(max(m.helpTop, 0), max(len(texts)-inside, 0))
	texts = framed("Keys", true, width+4, min(len(texts)-m.helpTop+2, height), beside(nil, texts[m.helpTop:], 1))
	return beside(nil, texts, (m.width-width-4)/2)
}

// beside puts lines beside others, at a column.
func beside(left, right []string, column int) []string {
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		if i < len(left) {
			out[i] = left[i]
		}
		if i < len(right) {
			out[i] = spread(out[i], "", column) + right[i]
		}
	}
	return out
}
