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
	// alternate screen, cursor hidden, no line wrapping, pasted text marked as
	// such, screen cleared
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J"
	leaveScreen = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
	// synchronized output: the terminal shows the whole frame at once;
	// terminals that do not support it ignore these
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
	// asks the terminal for the colour of its background, see keyBackground
	askBackground = "\x1b]11;?\x1b\\"
)

// screen draws frames onto a terminal, writing only lines that changed, and of
// those with two parts only the right one if the left did not change.
type screen struct {
	out      io.Writer
	onScreen []line // the lines of the last frame; nil if the screen's content is unknown
}

// draw writes a frame of lines that the caller has cut to the width. It writes
// nothing if the frame equals the last one.
func (s *screen) draw(lines []line) error {
	if s.onScreen != nil && slices.Equal(s.onScreen, lines) {
		return nil
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	if s.onScreen == nil {
		b.WriteString("\x1b[2J")
	}
	for i := range max(len(lines), len(s.onScreen)) {
		var now, before line
		if i < len(lines) {
			now = lines[i]
		}
		if i < len(s.onScreen) {
			before = s.onScreen[i]
		}
		if now != before {
			now.write(&b, i+1, before)
		}
	}
	b.WriteString(endFrame)
	if s.onScreen = slices.Clone(lines); s.onScreen == nil {
		s.onScreen = []line{}
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

// write writes what differs from the line before into a row, counted from 1. The
// left part of two ends where the right one begins, so that it covers what was
// there; unless the terminal may show it in another width.
func (l line) write(b *strings.Builder, row int, before line) {
	switch {
	case l.at == 0 || l.at != before.at || l.left != before.left && strings.ContainsFunc(l.left+before.left, isDisputed):
		fmt.Fprintf(b, "\x1b[%d;1H\x1b[2K%s", row, l.left)
		before.right = ""
	case l.left != before.left:
		fmt.Fprintf(b, "\x1b[%d;1H%s", row, l.left)
	}
	if l.at > 0 && l.right != before.right {
		fmt.Fprintf(b, "\x1b[%d;%dH\x1b[K%s", row, l.at+1, l.right)
	}
}

// invalidate makes draw write the next frame in full. It is called when the
// terminal was resized or other programs wrote to it.
func (s *screen) invalidate() { s.onScreen = nil }
