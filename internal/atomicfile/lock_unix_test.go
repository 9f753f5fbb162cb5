//go:build unix

package atomicfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
)

// BAD-INPUT 114: TryLock refuses a pipe in the place of a lock without waiting, a link without
// following it, and a folder.
func TestNoLock(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	for name, plant := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":   func(path string) error { return os.Symlink(victim, path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		if _, err := atomicfile.TryLock(path); err == nil {
			t.Errorf("a %s is locked", name)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the link was followed")
	}
}
