package watch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v3"

	"todo-mcp/internal/render"
)

type screen struct {
	tcell.Screen
	styles map[role]tcell.Style
	shown  []line // the lines of the last frame; nil if it is to be drawn again
}

// openScreen takes over a terminal; nil is the one in which the program runs.
func openScreen(tty tcell.Tty, colour bool) (*screen, error) {
	// The locale says nothing of what a terminal shows: each that the viewer may meet
	// shows UTF-8.
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	tcell.RegisterEncoding("US-ASCII", tcell.GetEncoding("UTF-8"))
	// A terminal that answers no questions would delay the first frame by a second.
	options := []tcell.TerminfoScreenOption{tcell.OptNegotiation(false)}
	var s screen
	if !colour {
		options = append(options, tcell.OptColors(0))
	}
	var err error
	if s.Screen, err = tcell.NewTerminfoScreenFromTty(tty, options...); err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, err
	}
	s.styles = map[role]tcell.Style{code: tcell.StyleDefault.Underline(true)} // as its marks are not shown
	if colour {
		s.styles = styles()
	}
	s.EnablePaste()
	return &s, nil
}

// draw shows a frame of lines, unless it equals the last one. The parts at the right
// follow by themselves, so that each begins at its column also where the terminal shows
// a character at the left of it in another width than computed.
func (s *screen) draw(lines []line) {
	if s.shown != nil && slices.Equal(s.shown, lines) {
		return
	}
	s.shown = slices.Clone(lines)
	width, height := s.Size()
	lines = append(slices.Clip(lines), make([]line, max(height-len(lines), 0))...)
	inTwo := false
	for y, l := range lines {
		s.put(0, y, min(cmp.Or(l.at, width), width), l.left)
		inTwo = inTwo || l.at > 0
	}
	s.Show()
	if !inTwo {
		return
	}
	for y, l := range lines {
		if l.at > 0 {
			s.put(l.at, y, width-l.at, l.right)
		}
	}
	s.Show()
}

// put puts a painted text at a place, and blanks after it up to a width.
func (s *screen) put(x, y, width int, text string) {
	s.FillArea(x, y, width, 1, ' ', tcell.StyleDefault)
	for style := tcell.StyleDefault; text != ""; {
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

// unread calls f, and drops what comes from the terminal meanwhile: tcell waits for the
// goroutine that reads it to end, which waits for a reader while too much has come.
func (s *screen) unread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		select {
		case _, open := <-s.EventQ():
			if !open {
				<-done
				return
			}
		case <-done:
			return
		}
	}
}
