package watch

import (
	"io"
	"os"

	"golang.org/x/term"
)

// console is the terminal the viewer runs on; tests replace it.
type console interface {
	io.Writer
	// keys returns a reader of what is typed. stop ends it; where the system
	// allows, what is typed later stays for other programs.
	keys() (r io.Reader, stop func(), err error)
	// size returns the size in cells.
	size() (width, height int)
	// raw switches to raw mode: keys arrive one by one and are not echoed.
	// restore switches back; it is nil if err is not.
	raw() (restore func(), err error)
	// resized returns a channel that receives when the size may have changed,
	// until stop; a nil channel where the system does not report it.
	resized() (signals <-chan os.Signal, stop func())
	// suspend stops the process until the shell continues it.
	suspend()
}

// tty is the terminal the process was started in. in may be nil.
type tty struct{ in, out *os.File }

var _ console = tty{}

// hasKeyboard reports whether keys can be read.
func (t tty) hasKeyboard() bool { return t.in != nil && term.IsTerminal(int(t.in.Fd())) }

func (t tty) Write(p []byte) (int, error) { return t.out.Write(p) }

func (t tty) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

func (t tty) raw() (restore func(), err error) {
	undo, err := t.prepare()
	if err != nil || !t.hasKeyboard() {
		return undo, err
	}
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		undo()
		return nil, err
	}
	return func() {
		_ = term.Restore(int(t.in.Fd()), state)
		undo()
	}, nil
}
