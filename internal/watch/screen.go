package watch

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Terminal control: what the viewer does to a terminal, and takes back.
const (
	// alternate screen, cursor hidden, lines not wrapped, all clear
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	// synchronized output: shown at once; terminals without it ignore these
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// screen draws frames onto a terminal, writing only lines that changed.
type screen struct {
	out   io.Writer
	shown []string // nil: nothing is known of the terminal
}

// draw shows a frame: a line each, cut to the width. A frame of the same lines
// writes nothing.
func (s *screen) draw(lines []string) error {
	if s.shown != nil && slices.Equal(s.shown, lines) {
		return nil
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	if s.shown == nil {
		b.WriteString("\x1b[2J")
	}
	for i := range max(len(lines), len(s.shown)) {
		var line, before string
		if i < len(lines) {
			line = lines[i]
		}
		if i < len(s.shown) {
			before = s.shown[i]
		}
		if line != before {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, line)
		}
	}
	b.WriteString(endFrame)
	if s.shown = slices.Clone(lines); s.shown == nil {
		s.shown = []string{}
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// forget makes the next frame a whole one: the terminal was resized, or others
// wrote to it.
func (s *screen) forget() { s.shown = nil }
