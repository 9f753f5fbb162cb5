//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/store/storetest"
)

// BAD-INPUT 76: a link to a file that is not there, as when a disk is not
// mounted, is not replaced by a store of its own.
func TestDanglingLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	late := openWithCleanup(t, path)
	if err := os.Symlink(filepath.Join(filepath.Dir(path), "unmounted", "todo.db"), path); err != nil {
		t.Fatal(err)
	}
	_, opening := Open(path)
	_, saving := storetest.Save(t.Context(), late, snapshot("a", 1))
	for what, err := range map[string]error{"opening": opening, "saving": saving} {
		if err == nil || !strings.Contains(err.Error(), "a link to a file that is not there") || !strings.Contains(err.Error(), "--store") {
			t.Errorf("76: %s: %v", what, err)
		}
	}
	if _, err := os.Readlink(path); err != nil {
		t.Errorf("76: the link was replaced: %v", err)
	}
}
