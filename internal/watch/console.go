package watch

import (
	"io"
	"os"

	"golang.org/x/term"
)

// console is what the viewer needs of a terminal.
type console interface {
	io.Writer
	// keys reads what is typed, until stop; nothing typed after that is lost.
	keys() (r io.Reader, stop func(), err error)
	// size is in cells.
	size() (width, height int)
	// raw makes keys come one by one and unechoed, until restore.
	raw() (restore func(), err error)
	// resized gets a word when the size may have changed, until stop.
	resized() (words <-chan os.Signal, stop func())
	// suspend stops the process until the shell goes on with it.
	suspend()
}

// tty is the terminal the process was started in.
type tty struct{ in, out *os.File }

var _ console = tty{}

// typed reports whether keys can be read.
func (t tty) typed() bool { return t.in != nil && term.IsTerminal(int(t.in.Fd())) }

func (t tty) Write(p []byte) (int, error) { return t.out.Write(p) }

func (t tty) size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

func (t tty) raw() (restore func(), err error) {
	show, err := t.prepare()
	if err != nil || !t.typed() {
		return show, err
	}
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		show()
		return nil, err
	}
	return func() {
		_ = term.Restore(int(t.in.Fd()), state)
		show()
	}, nil
}
