//go:build unix

package atomicfile

import (
	"os"
	"syscall"
)

// chownLike gives f the same owner and group as other.
func chownLike(f *os.File, other os.FileInfo) error {
	of, ok := other.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return f.Chown(int(of.Uid), int(of.Gid))
}
