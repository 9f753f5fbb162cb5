package watch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// role is what a colour stands for. A role never stands alone: each has a sign
// or a word too, so that nothing is lost without colours.
//
// Within a text, a role is a control character in front of what has it, as no safe text
// has one. It takes no cell, so that a painted text is measured and cut as it is.
type role byte

const (
	plainText role = 0x0e + iota
	bold
	dim
	accent // current, selected, a person's
	done   // done, progress
	warn   // waits
	bad    // failed
	struck // removed, cancelled
)

// styles returns how a terminal shows each role: in the colours that the user chose to be
// legible on its background.
func styles() map[role]tcell.Style {
	s := tcell.StyleDefault
	colour := func(n int) tcell.Style { return s.Foreground(tcell.PaletteColor(n)) }
	return map[role]tcell.Style{bold: s.Bold(true), dim: s.Dim(true), struck: s.Dim(true).StrikeThrough(true),
		accent: colour(6), done: colour(2), warn: colour(3), bad: colour(1)}
}

func isRole(r rune) bool { return r >= rune(plainText) && r <= rune(struck) }

// paint gives a text a role.
func paint(r role, text string) string {
	if r == plainText || text == "" {
		return text
	}
	return string(r) + text + string(plainText)
}

// cut cuts a painted text to a width.
func cut(text string, width int) string {
	short := render.Cut(text, width)
	if short != text && strings.ContainsFunc(short, isRole) {
		short += string(plainText)
	}
	return short
}

// spread puts one painted text at the left of a width and another at the right.
func spread(left, right string, width int) string {
	return left + strings.Repeat(" ", max(width-render.Cells(left+right), 0)) + right
}

// join joins painted parts with a separator to at most width cells. It cuts the first if
// necessary, and leaves out those after it that do not fit.
func join(separator string, width int, parts ...string) string {
	line := ""
	for n, p := range parts {
		if n == 0 {
			line = cut(p, width)
		} else if render.Cells(line+separator+p) <= width {
			line += separator + p
		}
	}
	return line
}

// maxWrapped is how many lines the text of an item takes unless it is shown whole.
const maxWrapped = 3

// wrap breaks a painted text into lines of a width, at spaces where there are any. The
// last of at most limit lines is cut.
func wrap(text string, width, limit int) []string {
	width = max(width, 1)
	var lines []string
	for render.Cells(text) > width && len(lines) < limit-1 {
		head := displaywidth.TruncateString(text, width, "")
		if head == "" {
			break // a character wider than the line
		}
		if i := strings.LastIndexByte(head, ' '); i > 0 && text[len(head)] != ' ' {
			head = head[:i]
		}
		text = strings.TrimLeft(text[len(head):], " ")
		head = strings.TrimRight(head, " ")
		if i := strings.LastIndexFunc(head, isRole); i >= 0 { // it goes on in the next line
			head, text = head+string(plainText), head[i:i+1]+text
		}
		lines = append(lines, head)
	}
	return append(lines, cut(text, width))
}

// listName returns the agent of a sub-agent's list, and the title of any other.
func listName(s todo.Snapshot) string {
	if s.List.Agent != "" {
		return render.Safe(s.List.Agent)
	}
	return render.Safe(s.Title())
}

func progress(s todo.Snapshot) string {
	if s.IsChat() {
		return ""
	}
	n := s.Progress()
	return fmt.Sprintf("%d/%d", n.Done, n.Total)
}

// rootCause returns the safe text of the innermost wrapped error: "connection refused".
func rootCause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return render.Safe(err.Error())
}
