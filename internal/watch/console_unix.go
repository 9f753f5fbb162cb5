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

// prepare has nothing to do: terminals here take escape sequences as they are.
func (t tty) prepare() (undo func(), err error) { return func() {}, nil }

func (t tty) resized() (words <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// keyboard reads from a terminal until the other end of wake is closed, and
// leaves what comes later to others. It selects, for not every system can poll
// a terminal.
type keyboard struct{ in, wake *os.File }

func (t tty) keys() (r io.Reader, stop func(), err error) {
	if !t.typed() {
		return strings.NewReader(""), func() {}, nil
	}
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return keyboard{t.in, wake}, func() { waker.Close() }, nil
}

// Read implements io.Reader. Its end also gives up the pipe.
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

// suspend stops the whole job, as the terminal does for Ctrl-Z, and returns when
// it goes on; soon, if there is no shell that could stop us.
func (t tty) suspend() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-goesOn:
	case <-time.After(300 * time.Millisecond):
	}
}

// abandoned reports whether nobody reads any more what is written to f.
func abandoned(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
