package install

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// lockWait is how long another process may keep a file, which it does for two writes.
const lockWait = 10 * time.Second

// lockFile keeps other processes of this program from changing a file, by a lock beside
// it, until unlock is called, which removes the lock. Those of others do not ask for it.
func lockFile(path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	for {
		lock := flock.New(path + ".todo-mcp.lock")
		_, err := lock.TryLockContext(ctx, 10*time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, errors.New("another todo-mcp has it in use: try again")
		}
		if err != nil {
			return nil, err
		}
		// The last holder may have removed the lock after it was opened here.
		locked, err := lock.Stat()
		named, namedErr := os.Stat(lock.Path())
		if err == nil && namedErr == nil && os.SameFile(locked, named) {
			return func() { removeLock(lock) }, nil
		}
		_ = lock.Close()
	}
}

// removeLock removes a lock before it lets go of it, so that no other gets one without a
// name; Windows removes no file that is open.
func removeLock(lock *flock.Flock) {
	if runtime.GOOS == "windows" {
		_ = lock.Close()
	}
	_ = os.Remove(lock.Path())
	_ = lock.Close()
}
