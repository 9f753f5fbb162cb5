package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

func locked(t *testing.T, path string) bool {
	t.Helper()
	info := checktest.Must(os.Stat(path))(t)
	f := checktest.Must(os.Open("/proc/locks"))(t)
	defer f.Close()
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.Contains(lines.Text(), inode) {
			return true
		}
	}
	return false
}

// A store keeps its lock on the file from its first read on: without the lock, an older SQLite that closes the file
// would delete the log.
//
// BAD-INPUT 51: Processes (SQLite) or replicas (PostgreSQL) write to the same list or conversation at once → No update
// is lost, no call fails, one list begins
func TestKeepsItsLock(t *testing.T) {
	path, s := newStore(t)
	mustSave(t, s, "a", 1)
	s.Close()
	if locked(t, path) {
		t.Error("51: a lock is left after Close")
	}
	s = open(t, path)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a read", func() { s.Load(t.Context(), "a", 0) }},
		{"the first save", func() { mustSave(t, s, "a", 2) }},
		{"another store opened", func() { mustSave(t, open(t, path), "a", 3) }},
		{"another store closed", func() { open(t, path).Close() }},
		{"a further save", func() { mustSave(t, s, "a", 4) }},
	} {
		if step.do(); !locked(t, path) {
			t.Fatalf("51: no lock is left after %s", step.name)
		}
	}
}
