package watch

import (
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

// styles returns how a terminal shows each role, in the colours that its user chose to be
// legible on its background.
func styles() map[role]tcell.Style {
	s := tcell.StyleDefault
	return map[role]tcell.Style{bold: s.Bold(true), dim: s.Dim(true), struck: s.Dim(true).StrikeThrough(true),
		accent: s.Foreground(tcell.PaletteColor(6)), done: s.Foreground(tcell.PaletteColor(2)),
		warn: s.Foreground(tcell.PaletteColor(3)), bad: s.Foreground(tcell.PaletteColor(1))}
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
