package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 52: a file of an earlier program, of any version, is refused with an error
// that says how to move its lists, by opening and by a store that was opened before
// the file came. Not a byte of it changes.
func TestEarlierSchemas(t *testing.T) {
	old, err := os.ReadFile(filepath.Join("testdata", "version2.db"))
	if err != nil {
		t.Fatal(err)
	}
	for version := uint32(1); version < schemaVersion; version++ {
		binary.BigEndian.PutUint32(old[60:], version) // where the format has user_version
		path := filepath.Join(t.TempDir(), "todo.db")
		early := openWithCleanup(t, path)
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		_, opening := Open(path)
		_, reading := early.Find(t.Context(), todo.Query{})
		_, saving := storetest.Save(t.Context(), early, snapshot("a", 1))
		for what, err := range map[string]error{"opening": opening, "reading": reading, "saving": saving} {
			if !errors.Is(err, todo.ErrOtherSchema) || errors.Is(err, todo.ErrUnknownOutcome) {
				t.Errorf("52: version %d, %s: %v", version, what, err)
				continue
			}
			for _, advice := range []string{path, fmt.Sprint("version ", version), "todo-mcp export", "todo-mcp import", "--store", "left as it is"} {
				if !strings.Contains(err.Error(), advice) {
					t.Errorf("52: version %d, %s, no %q: %v", version, what, advice, err)
				}
			}
		}
		early.Close()
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
			t.Errorf("52: version %d: the file was changed, %v", version, err)
		}
		if beside, err := filepath.Glob(path + "-*"); err != nil || len(beside) > 0 {
			t.Errorf("52: version %d: left %v, %v", version, beside, err)
		}
	}
}

// A file of this version has the version of the schema as its user_version, and one
// that is newer by one is refused.
func TestSchemaVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := open(t, path)
	mustSave(t, s, "a", 1)
	s.Close()
	db := openRaw(t, path)
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != schemaVersion {
		t.Errorf("user_version %d, %v", version, err)
	}
	execSQL(t, db, fmt.Sprint("PRAGMA user_version = ", schemaVersion+1))
	db.Close()
	if _, err := Open(path); !errors.Is(err, todo.ErrTooNew) {
		t.Errorf("52: %v", err)
	}
}
