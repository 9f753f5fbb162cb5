package watch

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Terminal control sequences: leaveScreen undoes enterScreen, endFrame
// beginFrame.
const (
	// alternate screen, cursor hidden, no line wrapping, screen cleared
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	// synchronized output: the terminal shows the whole frame at once;
	// terminals that do not support it ignore these
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// screen draws frames onto a terminal, writing only lines that changed.
type screen struct {
	out      io.Writer
	onScreen []string // the lines of the last frame; nil if the screen's content is unknown
}

// draw writes a frame of lines that the caller has cut to the width. It writes
// nothing if the frame equals the last one.
func (s *screen) draw(lines []string) error {
	if s.onScreen != nil && slices.Equal(s.onScreen, lines) {
		return nil
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	if s.onScreen == nil {
		b.WriteString("\x1b[2J")
	}
	for i := range max(len(lines), len(s.onScreen)) {
		var line, before string
		if i < len(lines) {
			line = lines[i]
		}
		if i < len(s.onScreen) {
			before = s.onScreen[i]
		}
		if line != before {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[2K%s", i+1, line)
		}
	}
	b.WriteString(endFrame)
	if s.onScreen = slices.Clone(lines); s.onScreen == nil {
		s.onScreen = []string{}
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// invalidate makes draw write the next frame in full. It is called when the
// terminal was resized or other programs wrote to it.
func (s *screen) invalidate() { s.onScreen = nil }
