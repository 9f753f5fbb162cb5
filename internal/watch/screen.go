package watch

import (
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/render"
)

type screen struct {
	tcell.Screen
	styles map[role]tcell.Style
	shown  []string // the lines of the last frame; nil if it is to be drawn again
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
	if colour {
		s.styles = styles()
	}
	s.EnablePaste()
	return &s, nil
}

// draw shows a frame of lines, unless it equals the last one.
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

// put puts a painted text into a row, and blanks after it up to a width.
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

// unread calls f, and drops what comes from the terminal before and meanwhile: f waits for tcell's
// goroutine that reads the terminal, and that one for a reader. Of tcell's goroutines the reader of
// all may end first, and then the other one waits for ever; so nothing should come any more.
func (s *screen) unread(f func()) {
	quiet := func() bool {
		select {
		case _, open := <-s.EventQ():
			return !open
		case <-time.After(quietFor):
			return true
		}
	}
	for latest := time.Now().Add(time.Second); !quiet() && time.Now().Before(latest); {
		continue
	}
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

// quietFor is how long nothing comes from a terminal where all that was typed is read.
const quietFor = 30 * time.Millisecond
