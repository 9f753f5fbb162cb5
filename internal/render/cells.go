package render

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Cells returns the display width of a text.
func Cells(text string) int { return displaywidth.String(text) }

// Cut shortens a text to a width and ends it with "…" if anything was cut. It
// never splits a character, and returns "" for a width below 1.
func Cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Pad appends spaces to a text up to a width.
func Pad(text string, width int) string { return text + fill(" ", width-Cells(text)) }

func fill(with string, n int) string { return strings.Repeat(with, max(n, 0)) }
