//go:build unix

package watch

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// readerGone returns true when f is a pipe or terminal with no reader left, and false when
// ctx ends. A list may not change for hours, and until then no write would fail.
func readerGone(ctx context.Context, f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for ctx.Err() == nil {
		if n, _ := unix.Poll(fds, 100); n > 0 { // of a file that has a reader nothing is said
			return true
		}
	}
	return false
}
