package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// TestMain runs child instead of the tests when TODO_TEST_CHILD names a store
// file, so that tests can start other processes on that file.
func TestMain(m *testing.M) {
	if path := os.Getenv("TODO_TEST_CHILD"); path != "" {
		if err := child(path, os.Getenv("TODO_TEST_MODE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is what a child process runs. In mode "count" it prints the number of
// revisions in the file; see [movingChild]. Otherwise it increments the list "shared" 50 times.
func child(path, mode string) error {
	switch mode {
	case "count":
		return printCount(path)
	case "moving", "stuck":
		return movingChild(path, mode)
	}
	s, err := Open(path, board.Keep{})
	for range 50 {
		if err == nil {
			err = increment(s, "shared")
		}
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// printCount prints the number of revisions, as another program would read it.
func printCount(path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM history").Scan(&n); err != nil {
		return err
	}
	fmt.Println(n)
	return db.Close()
}

// increment adds one to a list's LastID, which the tests use as a counter.
func increment(s *Store, id string) error {
	return s.Update(context.Background(), board.Key{}, func(tx board.Tx) error { return incrementIn(tx, id) })
}

// incrementIn is increment in a transaction.
func incrementIn(tx board.Tx, id string) error {
	now, err := tx.Load(context.Background(), id, 0)
	if err != nil && !errors.Is(err, board.ErrNotFound) {
		return err
	}
	next := snapshot(id, now.Revision+1)
	next.LastID = now.LastID + 1
	if now.Revision == 0 {
		next.LastID = 1
	}
	_, err = tx.Save(context.Background(), next)
	return err
}

func startChild(t *testing.T, path, mode string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "TODO_TEST_CHILD="+path, "TODO_TEST_MODE="+mode)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())(t)
	checkErr(t, cmd.Start())
	return cmd, out
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := must(sql.Open("sqlite", path))(t)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}

// BAD-INPUT 51: eight processes that write to one file lose no update and see
// no error, even while the file is being created.
func TestEightProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	var children []*exec.Cmd
	for range 8 {
		cmd, out := startChild(t, path, "shared")
		go io.Copy(io.Discard, out)
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Errorf("51: a process failed: %v", err)
		}
	}
	s := openWithCleanup(t, path)
	got, err := s.Load(t.Context(), "shared", 0)
	if err != nil || got.Revision != 400 || got.LastID != 400 {
		t.Errorf("51: revision %d, count %d, %v", got.Revision, got.LastID, err)
	}
	checkIntegrity(t, path)
}
