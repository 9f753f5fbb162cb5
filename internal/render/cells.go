package render

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// cells returns the display width of a text.
func cells(text string) int { return displaywidth.String(text) }

// cut shortens a text to a width and ends it with "…" if anything was cut. It
// never splits a character, and returns "" for a width below 1.
func cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Limit shortens a text of one line to a width in cells and ends it with "…" if
// anything was cut; a width of 0 or less means no limit.
func Limit(text string, width int) string { return limit(text, width) }

// limit is like cut, but a width of 0 or less means no limit.
func limit(text string, width int) string {
	if width <= 0 {
		return text
	}
	return cut(text, width)
}

// pad appends spaces to a text up to a width.
func pad(text string, width int) string { return text + fill(" ", width-cells(text)) }

func fill(with string, n int) string { return strings.Repeat(with, max(n, 0)) }
