//go:build unix

package watch

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endSignals are the signals, besides those that end the program anyway, after
// which the terminal is restored.
func endSignals() []os.Signal { return []os.Signal{syscall.SIGHUP, syscall.SIGQUIT} }

// stopProcess stops the whole process group, as the terminal does for Ctrl-Z, and
// returns when the shell continues it; after 300 ms if nothing stopped it, as
// when there is no job control.
func stopProcess() {
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
