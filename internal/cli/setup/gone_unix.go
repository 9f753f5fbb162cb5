//go:build unix

package setup

import (
	"os"

	"golang.org/x/sys/unix"
)

// isGone reports whether the host that started this process is gone: by its id, or, where a shell
// is between them, by the other end of standard output.
func isGone(host int) bool {
	out := []unix.PollFd{{Fd: int32(os.Stdout.Fd())}}
	_, err := unix.Poll(out, 0)
	return os.Getppid() != host || err == nil && out[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
