package render

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// cells is how wide a text shows.
func cells(text string) int { return displaywidth.String(text) }

// cut shortens a text to a width, telling by "…" that it did. No character is
// ever cut in two. Nothing fits into a width below 1.
func cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// limit is cut where a width of 0 or less means no limit.
func limit(text string, width int) string {
	if width <= 0 {
		return text
	}
	return cut(text, width)
}

// pad fills a text up with spaces.
func pad(text string, width int) string { return text + fill(" ", width-cells(text)) }

func fill(with string, n int) string { return strings.Repeat(with, max(n, 0)) }
