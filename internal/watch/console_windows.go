package watch

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// endSignals: Windows has none but those that end the program anyway.
func endSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// prepare makes the console interpret escape sequences until undo.
func (t tty) prepare() (undo func(), err error) {
	handle := windows.Handle(t.out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(handle, &mode); err != nil {
		return nil, err
	}
	wanted := mode | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if err := windows.SetConsoleMode(handle, wanted); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(handle, mode) }, nil
}

// keys reads in a goroutine that nobody waits for: a read from a console cannot
// be interrupted, and ends with the process.
func (t tty) keys() (r io.Reader, stop func(), err error) {
	if !t.hasKeyboard() {
		return strings.NewReader(""), func() {}, nil
	}
	pr, pw := io.Pipe()
	go func() { _, err := io.Copy(pw, t.in); pw.CloseWithError(err) }()
	return pr, func() { pr.Close() }, nil
}

// resized never signals on Windows: the viewer reads the size every second.
func (t tty) resized() (signals <-chan os.Signal, stop func()) { return nil, func() {} }

func (t tty) suspend() {}

// readerGone cannot detect a closed reader on Windows; the next write fails
// instead.
func readerGone(*os.File) bool { return false }
