//go:build unix

package watch

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readerGone returns true when the reader of a pipe or terminal is gone, and false when ctx ends.
func readerGone(ctx context.Context, f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for ctx.Err() == nil {
		// macOS returns POLLNVAL for every terminal.
		if n, err := unix.Poll(fds, 0); err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return false
}
