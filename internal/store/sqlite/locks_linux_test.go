package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// locked reports whether a process holds a lock on a file.
func locked(t *testing.T, path string) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.Contains(lines.Text(), inode) {
			return true
		}
	}
	return false
}

// BAD-INPUT 51: from the first read on a process keeps its lock, whatever it
// and other stores in it do. A descriptor of the file opened and closed beside
// SQLite's would take it away, and then an older SQLite (a shell, a backup)
// deletes the log under us when it closes, and acknowledged saves with it.
func TestKeepsItsLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := open(t, path)
	saved(t, s, "a", 1)
	s.Close()
	if locked(t, path) {
		t.Error("51: a closed store holds a lock")
	}
	s = opened(t, path)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a read", func() { s.Load(t.Context(), "a", 0) }},
		{"the first save", func() { saved(t, s, "a", 2) }},
		{"another store opened", func() { saved(t, opened(t, path), "a", 3) }},
		{"another store closed", func() { open(t, path).Close() }},
		{"a further save", func() { saved(t, s, "a", 4) }},
	} {
		if step.do(); !locked(t, path) {
			t.Fatalf("51: no lock is left after %s", step.name)
		}
	}
}
