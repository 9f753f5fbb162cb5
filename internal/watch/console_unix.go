//go:build unix

package watch

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endSignals are the signals, besides those that end the program anyway, after
// which the terminal is restored.
func endSignals() []os.Signal { return []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} }

// prepare does nothing: terminals on Unix interpret escape sequences by default.
func (t tty) prepare() (undo func(), err error) { return func() {}, nil }

func (t tty) resized() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// keyboard reads from a terminal until the other end of wake is closed, and
// leaves later input to other programs. It uses select(2), since not every
// system can poll(2) a terminal.
type keyboard struct{ in, wake *os.File }

func (t tty) keys() (r io.Reader, stop func(), err error) {
	if !t.hasKeyboard() {
		return strings.NewReader(""), func() {}, nil
	}
	wakeReader, wakeWriter, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return keyboard{t.in, wakeReader}, func() { wakeWriter.Close() }, nil
}

// Read implements io.Reader. At the end it also closes wake.
func (k keyboard) Read(p []byte) (int, error) {
	in, wake := int(k.in.Fd()), int(k.wake.Fd())
	for {
		var ready unix.FdSet
		ready.Set(in)
		ready.Set(wake)
		_, err := unix.Select(max(in, wake)+1, &ready, nil, nil, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || ready.IsSet(wake):
			k.wake.Close()
			return 0, io.EOF
		case ready.IsSet(in):
			return k.in.Read(p)
		}
	}
}

// suspend stops the whole process group, as the terminal does for Ctrl-Z, and
// returns when the shell continues it; after 300 ms if nothing stopped it, as
// when there is no job control.
func (t tty) suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(300 * time.Millisecond):
	}
}

// readerGone reports whether f is a pipe or terminal with no reader left.
func readerGone(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
