package sqlite

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

// openRaw opens the file as another program would, with one connection.
func openRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := must(sql.Open("sqlite", path))(t)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func execSQL(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// countInChild starts a process that opens the file, counts the revisions and
// closes it. It returns the printed line.
func countInChild(t *testing.T, path string) string {
	t.Helper()
	cmd, out := startChild(t, path, "count")
	line, err := bufio.NewReader(out).ReadString('\n')
	if waitErr := cmd.Wait(); err != nil || waitErr != nil {
		t.Fatal(err, waitErr)
	}
	return line
}

// BAD-INPUT 51: a process that closes the file does not delete the log of
// another process that has it open.
func TestAnotherProcessOpensAndCloses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := open(t, path)
	mustSave(t, s, "a", 1)
	s.Close()
	s = openWithCleanup(t, path)
	must(s.Load(t.Context(), "a", 0))(t)
	for n := int64(2); n < 6; n++ {
		mustSave(t, s, "a", n)
		if got := countInChild(t, path); got != fmt.Sprintln(n) {
			t.Fatalf("51: acknowledged %d, another process reads %s", n, got)
		}
		openWithCleanup(t, path) // another store in this process opens it too
	}
}

func mustSave(t testing.TB, s *Store, id string, revision int64) {
	t.Helper()
	if _, err := storetest.Save(t.Context(), s, snapshot(id, revision)); err != nil {
		t.Fatalf("save %s revision %d: %v", id, revision, err)
	}
}

// Close leaves one file: no log stays beside it.
func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "todo.db"))
	mustSave(t, s, "a", 1)
	must(s.Load(t.Context(), "a", 0))(t)
	s.Close()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("closing left %v, %v", entries, err)
	}
}

// checkErr fails a test for an error.
func checkErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns what a call returned that may not fail.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		checkErr(t, err)
		return v
	}
}
