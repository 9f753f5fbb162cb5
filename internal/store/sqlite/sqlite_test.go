package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) board.Store { return open(t, filepath.Join(t.TempDir(), "todo.db")) })
}

func TestKeep(t *testing.T) {
	storetest.RunKeep(t, func(t testing.TB, keep board.Keep) board.Store {
		return open(t, filepath.Join(t.TempDir(), "todo.db"), keep)
	})
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(path string) (board.Store, error) { return Open(path, board.Keep{}) })
}

// open opens a store that waits for the disk only in benchmarks. internal/faults tests by power loss that commits are
// synced.
func open(t testing.TB, path string, keep ...board.Keep) *Store {
	t.Helper()
	s := checktest.Must(Open(path, append(keep, board.Keep{})[0]))(t)
	t.Cleanup(func() { s.Close() })
	if _, measured := t.(*testing.B); !measured {
		s.pragmas = []string{"synchronous(OFF)"}
	}
	return s
}

func newStore(t testing.TB, keep ...board.Keep) (path string, s *Store) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	return path, open(t, path, keep...)
}

func checkRevision(t testing.TB, s *Store, id string, want int64) {
	t.Helper()
	if got, err := s.Load(t.Context(), id, 0); err != nil || got.Revision != want {
		t.Errorf("%s is at revision %d, not %d, %v", id, got.Revision, want, err)
	}
}

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Conversation: "x"}, Revision: revision,
		Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}
}

// Opening and reading create nothing on disk. Only the user may access what the first save creates, and Close leaves
// only the store file.
func TestCreatesFilesOnFirstSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "er", "todo.db")
	s := open(t, path)
	checktest.Must(s.Find(t.Context(), board.Query{}))(t)
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, board.ErrNotFound) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("opening left %v, %v", entries, err)
	}
	mustSave(t, s, "a", 1)
	checkRevision(t, s, "a", 1)
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if p == dir {
			return err
		}
		info, err := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", p, info.Mode(), err)
		}
		return err
	})
	s.Close()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("closing left %v, %v", entries, err)
	}
}

// Lists of `--store memory` are in a folder that Close removes.
func TestTemporary(t *testing.T) {
	s := checktest.Must(Open("", board.Keep{}))(t)
	mustSave(t, s, "a", 1)
	s.Attend("p")()
	checktest.Must(os.Stat(s.path))(t)
	checktest.Check(t, s.Close())
	if _, err := os.Stat(filepath.Dir(s.path)); !os.IsNotExist(err) {
		t.Errorf("after Close its folder is there: %v", err)
	}
}

// Saves that wait at the same time are committed in one transaction.
func TestGroupCommit(t *testing.T) {
	_, s := newStore(t)
	const n = 200
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if _, err := storetest.Save(t.Context(), s, snapshot(fmt.Sprint("l", i), 1)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.Close()
	if s.batches.Load() > n/2 {
		t.Errorf("%d saves in %d transactions", n, s.batches.Load())
	}
}

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

// child runs in a child process. In mode "count" it prints the number of revisions in the file; in modes "moving" and
// "stuck" it runs [movingChild]; in any other mode it increments the list "shared" 50 times.
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
			err = s.Update(context.Background(), board.Key{}, func(tx board.Tx) error { return incrementIn(tx, "shared") })
		}
	}
	if err != nil {
		return err
	}
	return s.Close()
}

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
	out := checktest.Must(cmd.StdoutPipe())(t)
	checktest.Check(t, cmd.Start())
	return cmd, out
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
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
	s := open(t, path)
	got, err := s.Load(t.Context(), "shared", 0)
	if err != nil || got.Revision != 400 || got.LastID != 400 {
		t.Errorf("51: revision %d, count %d, %v", got.Revision, got.LastID, err)
	}
	checkIntegrity(t, path)
}

func openRaw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
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

func countInChild(t *testing.T, path string) string {
	t.Helper()
	cmd, out := startChild(t, path, "count")
	line, err := bufio.NewReader(out).ReadString('\n')
	if waitErr := cmd.Wait(); err != nil || waitErr != nil {
		t.Fatal(err, waitErr)
	}
	return line
}

func mustSave(t testing.TB, s *Store, id string, revision int64) {
	t.Helper()
	if _, err := storetest.Save(t.Context(), s, snapshot(id, revision)); err != nil {
		t.Fatalf("save %s revision %d: %v", id, revision, err)
	}
}

// A watcher hears of a save of another process at once, through the file that each save writes and without polling.
// This holds even if the watch began before the store's file existed, or if the written file was deleted since.
func TestWatchHearsOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	b, a := open(t, path), open(t, path)
	ctx, end := context.WithCancel(t.Context())
	hints, done := make(chan struct{}, 100), make(chan error, 1)
	go func() { done <- b.Watch(ctx, func() { hints <- struct{}{} }) }()
	heard := func(revision int64) time.Duration {
		for len(hints) > 0 {
			<-hints
		}
		began := time.Now()
		mustSave(t, a, "a", revision)
		<-hints
		return time.Since(began)
	}
	heard(1)
	checkRevision(t, b, "a", 1)
	for _, err := os.Stat(b.path + savedSuffix); err != nil; _, err = os.Stat(b.path + savedSuffix) { //nolint:revive // until it listens
	}
	heard(2) // the save, or the hint that Watch gives when it begins to listen
	const soon = time.Second / 4
	quickest := time.Minute
	for n := int64(3); n < 12; n++ {
		quickest = min(quickest, heard(n))
	}
	if quickest > soon {
		t.Errorf("heard after %s at best", quickest)
	}
	for os.RemoveAll(filepath.Dir(b.path+savedSuffix)) != nil { //nolint:revive // the watcher may make it again meanwhile
	}
	for quickest, n := time.Minute, int64(12); quickest > soon; n++ {
		quickest = heard(n)
	}
	end()
	checktest.Check(t, <-done)
}

// Rows of seen that nobody used for long are removed, and no other list becomes current instead.
func TestAging(t *testing.T) {
	storetest.RunAging(t, func(t testing.TB) (board.Store, func(time.Duration)) {
		path := filepath.Join(t.TempDir(), "todo.db")
		return open(t, path), func(by time.Duration) {
			execSQL(t, openRaw(t, path), fmt.Sprint(`UPDATE seen SET at = at - `, by.Nanoseconds()),
				`UPDATE seen SET sum = todo_sum(principal, chat, mirrors, list, revision, process, held, current, at)`)
		}
	})
}
