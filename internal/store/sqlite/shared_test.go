package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// raw opens the file as any other program would, with one connection.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// look reads, in a process of its own that comes and goes, how many revisions
// the file has.
func look(t *testing.T, path string) string {
	t.Helper()
	cmd, out := startChild(t, path, "look")
	line, err := bufio.NewReader(out).ReadString('\n')
	if waitErr := cmd.Wait(); err != nil || waitErr != nil {
		t.Fatal(err, waitErr)
	}
	return line
}

// BAD-INPUT 51: a process that closes the file while another has it open does
// not take the log away from it.
func TestAnotherProcessComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := open(t, path)
	saved(t, s, "a", 1)
	s.Close()
	s = opened(t, path)
	if _, err := s.Load(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	for n := int64(2); n < 6; n++ {
		saved(t, s, "a", n)
		if got := look(t, path); got != fmt.Sprintln(n) {
			t.Fatalf("51: acknowledged %d, another process reads %s", n, got)
		}
		opened(t, path) // and one of this process opens it too
	}
}

func saved(t *testing.T, s *Store, id string, revision int64) {
	t.Helper()
	if _, err := s.Save(t.Context(), snapshot(id, revision)); err != nil {
		t.Fatalf("save %s revision %d: %v", id, revision, err)
	}
}

// Closing leaves one file, with everything in it.
func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "todo.db"))
	saved(t, s, "a", 1)
	if _, err := s.Load(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("closing left %v, %v", entries, err)
	}
}

// BAD-INPUT 52: the log a killed newer program left is not folded into the file
// by looking at it.
func TestNewerVersionInTheLog(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "ours.db"))
	saved(t, s, "a", 1)
	s.Close()
	db := raw(t, filepath.Join(dir, "ours.db"))
	run(t, db, "PRAGMA wal_autocheckpoint = 0", "PRAGMA user_version = 99")
	path := filepath.Join(dir, "killed.db")
	before := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, "ours.db"+suffix))
		if err == nil {
			err = os.WriteFile(path+suffix, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		before[suffix] = content
	}
	if _, err := Open(path); !errors.Is(err, todo.ErrTooNew) {
		t.Errorf("52: %v", err)
	}
	for suffix, content := range before {
		if now, err := os.ReadFile(path + suffix); err != nil || !bytes.Equal(now, content) {
			t.Errorf("52: the file %q was changed, %v", suffix, err)
		}
	}
}

// BAD-INPUT 52: a newer program that takes the file over while we run is not
// written over.
func TestNewerVersionWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	saved(t, s, "a", 1)
	db := raw(t, path)
	run(t, db, "PRAGMA user_version = 99")
	if _, err := s.Save(t.Context(), snapshot("a", 2)); !errors.Is(err, todo.ErrTooNew) {
		t.Errorf("52: %v", err)
	}
	run(t, db, fmt.Sprint("PRAGMA user_version = ", len(migrations())))
	saved(t, s, "a", 2)
}

// BAD-INPUT 52: another program's database is refused and left as it was, also
// when it comes after our start.
func TestForeignDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	early := opened(t, path)
	db := raw(t, path)
	run(t, db, "CREATE TABLE theirs (x)")
	db.Close()
	if _, err := Open(path); !errors.Is(err, todo.ErrCorrupt) {
		t.Errorf("52: open: %v", err)
	}
	if _, err := early.Save(t.Context(), snapshot("a", 1)); !errors.Is(err, todo.ErrCorrupt) {
		t.Errorf("52: save: %v", err)
	}
	db = raw(t, path)
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 1 {
		t.Errorf("52: %d tables, %v", tables, err)
	}
}

// A save that waits for another program's lock is taken back when its context
// ends, and the others go on when the lock is free.
func TestSaveWaitsForALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	saved(t, s, "a", 1)
	db := raw(t, path)
	run(t, db, "BEGIN IMMEDIATE")
	patient := make(chan error, 1)
	go func() {
		_, err := s.Save(context.Background(), snapshot("b", 1))
		patient <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := s.Save(ctx, snapshot("a", 2))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, todo.ErrUnknownOutcome) || time.Since(began) > lastWait {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	run(t, db, "ROLLBACK")
	if err := <-patient; err != nil {
		t.Errorf("the patient one: %v", err)
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 1 {
		t.Errorf("a save taken back was applied: %d, %v", got.Revision, err)
	}
}

// A closing store does not wait for ever for somebody else's lock.
func TestCloseWhileLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	saved(t, s, "a", 1)
	db := raw(t, path)
	run(t, db, "BEGIN IMMEDIATE")
	done := make(chan error, 1)
	go func() {
		_, err := s.Save(context.Background(), snapshot("a", 2))
		done <- err
	}()
	s.Close()
	if err := <-done; err == nil || errors.Is(err, todo.ErrUnknownOutcome) {
		t.Errorf("a save that could not be: %v", err)
	}
}
