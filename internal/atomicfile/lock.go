package atomicfile

import (
	"errors"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

// ErrLocked is the error for a lock that another process has now.
var ErrLocked = errors.New("another todo-mcp has it in use: try again")

// TryLock makes a file and locks it, until unlock removes it or the process ends, in
// whatever way. The error is [ErrLocked] if another process has it.
func TryLock(path string) (unlock func(), err error) {
	lock := flock.New(path)
	if got, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !got {
		return nil, ErrLocked
	}
	// The last holder may have removed the file after it was opened here; then another
	// process can lock the next one.
	locked, err := lock.Stat()
	named, gone := os.Stat(path)
	if err != nil || gone != nil || !os.SameFile(locked, named) {
		_ = lock.Close()
		return nil, errors.Join(err, ErrLocked)
	}
	return func() {
		if runtime.GOOS == "windows" { // which removes no file that is open
			_ = lock.Close()
		}
		_ = os.Remove(path) // before others can lock it, so that none locks a file without a name
		_ = lock.Close()
	}, nil
}
