package watch

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
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
	code   // code in a text
)

// styles returns how a terminal shows each role: in the colours that the user chose to be
// legible on its background.
func styles() map[role]tcell.Style {
	s := tcell.StyleDefault
	colour := func(n int) tcell.Style { return s.Foreground(tcell.PaletteColor(n)) }
	return map[role]tcell.Style{bold: s.Bold(true), dim: s.Dim(true), struck: s.Dim(true).StrikeThrough(true),
		accent: colour(6), done: colour(2), warn: colour(3), bad: colour(1), code: colour(5)}
}

func isRole(r rune) bool { return r >= rune(plainText) && r <= rune(code) }

// paint gives a text a role.
func paint(r role, text string) string {
	if r == plainText || text == "" {
		return text
	}
	return string(r) + text + string(plainText)
}

// markup matches bold and code as Markdown writes them, which agents do. A text in
// asterisks stands by itself, and begins with a letter, a digit, code or a quote: others are
// powers and paths.
var markup = regexp.MustCompile("``.+?``|`[^`]+`|\\B\\*\\*[\\pL\\pN`\"'“(](.*?[^\\s*])?\\*\\*\\B")

// marked gives a text a role, and draws what is bold or code in it. Of a text that is dim
// all is.
func marked(r role, text string) string {
	strong, quoted := bold, code
	if r == dim || r == struck {
		strong, quoted = r, r
	}
	return paint(r, markup.ReplaceAllStringFunc(text, func(found string) string {
		if inside, isBold := strings.CutPrefix(found, "**"); isBold {
			return marked(strong, strings.TrimSuffix(inside, "**")) + string(r)
		}
		return paint(quoted, strings.Trim(found, "`")) + string(r)
	}))
}

// cut cuts a painted text to a width.
func cut(text string, width int) string {
	short := render.Cut(text, width)
	if short != text && strings.ContainsFunc(short, isRole) {
		short += string(plainText)
	}
	return short
}

// spread puts one painted text at the left of a width and another at the right. Behind a
// text from right to left, a terminal that orders such text would put a number at the right
// before it: a blank that counts as a letter from left to right parts them.
func spread(left, right string, width int) string {
	space := strings.Repeat(" ", max(width-render.Cells(left+right), 0))
	if space != "" && strings.ContainsFunc(left, isRightToLeft) {
		space = brailleBlank + space[1:]
	}
	return left + space + right
}

const brailleBlank = "\u2800"

// isRightToLeft reports whether a rune is in a block of letters that are written from right
// to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r < 0x900 || r >= 0xfb1d && r < 0xfe00 || r >= 0xfe70 && r < 0xff00 ||
		r >= 0x10800 && r < 0x11000 || r >= 0x1e800 && r < 0x1f000
}

// join joins parts with a separator to at most width cells. It skips empty parts, cuts
// the first of the others if necessary, and leaves out those after it that do not fit.
func join(separator string, width int, parts ...string) string {
	line := ""
	for _, p := range parts {
		switch {
		case p == "":
		case line == "":
			line = render.Cut(p, width)
		case render.Cells(line+separator+p) <= width:
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
