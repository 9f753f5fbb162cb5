package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type screen struct {
	tcell.Screen
	styles map[role]tcell.Style
	shown  []string // the last frame; nil to draw again
}

// openScreen takes over a terminal; nil is the process's terminal.
func openScreen(tty tcell.Tty, colour bool) (*screen, error) {
	// Assume UTF-8 whatever the locale says.
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	tcell.RegisterEncoding("US-ASCII", tcell.GetEncoding("UTF-8"))
	var s screen
	if colour {
		s.styles = styles()
	}
	var err error
	// Without the option, a terminal that answers no queries would delay the first frame by a second.
	if s.Screen, err = tcell.NewTerminfoScreenFromTty(tty, tcell.OptNegotiation(false)); err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, err
	}
	s.EnablePaste()
	return &s, nil
}

// draw shows a frame, unless it equals the last one.
func (s *screen) draw(lines []string) {
	if s.shown != nil && slices.Equal(s.shown, lines) {
		return
	}
	s.shown = slices.Clone(lines)
	width, height := s.Size()
	for y, l := range append(slices.Clip(lines), make([]string, max(height-len(lines), 0))...) {
		s.put(y, width, l)
	}
	s.Show()
}

// put draws a painted text at the beginning of a line, which it clears.
func (s *screen) put(y, width int, text string) {
	s.FillArea(0, y, width, 1, ' ', tcell.StyleDefault)
	for x, style := 0, tcell.StyleDefault; text != ""; {
		plain := text
		if i := strings.IndexFunc(text, isRole); i >= 0 {
			plain = text[:i]
		}
		s.PutStrStyled(x, y, plain, style)
		x += render.Cells(plain)
		if text = text[len(plain):]; text != "" {
			style, text = s.styles[role(text[0])], text[1:]
		}
	}
}

// When a terminal has sent nothing for quietFor, all typed keys are read. drain waits for that for at most quietMost.
const quietFor, quietMost = 30 * time.Millisecond, time.Second

// drain drops events until the terminal is quiet. It must be called before tcell stops: with much input unread, tcell
// waits for ever for a reader of its events.
func (s *screen) drain() {
	for latest := time.After(quietMost); ; {
		select {
		case <-s.EventQ():
		case <-time.After(quietFor):
			return
		case <-latest:
			return
		}
	}
}

// role is the meaning of a colour. A sign or a word always says the same, for terminals without colours. In painted
// text a role is a control character before the text it applies to: it takes no cell, and is never in safe text.
type role byte

const (
	plainText role = 0x0e + iota
	bold
	dim
	accent // current, selected, or a person's
	done
	warn
	bad
	struck // removed or cancelled
)

// styles returns the style of each role, in the terminal's own palette.
func styles() map[role]tcell.Style {
	s := tcell.StyleDefault
	colour := func(n int) tcell.Style { return s.Foreground(tcell.PaletteColor(n)) }
	return map[role]tcell.Style{bold: s.Bold(true), dim: s.Dim(true), struck: s.Dim(true).StrikeThrough(true),
		accent: colour(6), done: colour(2), warn: colour(3), bad: colour(1)}
}

func isRole(r rune) bool { return r >= rune(plainText) && r <= rune(struck) }

// paint marks a text with a role.
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

// spread puts painted texts at the left and right end of a width.
func spread(left, right string, width int) string {
	return left + strings.Repeat(" ", max(width-render.Cells(left+right), 0)) + right
}

// maxWrapped limits the lines of an item that is not shown whole.
const maxWrapped = 3

// wrap breaks a painted text into at most limit lines, at spaces if possible, and cuts the last.
func wrap(text string, width, limit int) []string {
	width = max(width, 1)
	var lines []string
	for render.Cells(text) > width && len(lines) < limit-1 {
		head := displaywidth.TruncateString(text, width, "")
		if head == "" {
			break // the first character is wider than the line
		}
		if i := strings.LastIndexByte(head, ' '); i > 0 && text[len(head)] != ' ' {
			head = head[:i]
		}
		text = strings.TrimLeft(text[len(head):], " ")
		head = strings.TrimRight(head, " ")
		if i := strings.LastIndexFunc(head, isRole); i >= 0 { // the role continues in the next line
			head, text = head+string(plainText), head[i:i+1]+text
		}
		lines = append(lines, head)
	}
	return append(lines, cut(text, width))
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
