package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
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

// open opens a store that does not wait for the disk, but in benchmarks. That commits are
// synced is tested by internal/faults, without power.
func open(t testing.TB, path string, keep ...board.Keep) *Store {
	t.Helper()
	s := must(Open(path, append(keep, board.Keep{})[0]))(t)
	if _, measured := t.(*testing.B); !measured {
		s.pragmas = []string{"synchronous(OFF)"}
	}
	return s
}

// openWithCleanup opens a store that is closed when the test ends.
func openWithCleanup(t testing.TB, path string, keep ...board.Keep) *Store {
	t.Helper()
	s := open(t, path, keep...)
	t.Cleanup(func() { s.Close() })
	return s
}

// newStore makes a store in a folder of its own.
func newStore(t testing.TB, keep ...board.Keep) (path string, s *Store) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	return path, openWithCleanup(t, path, keep...)
}

// checkRevision checks at which revision a list is.
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

// Opening and reading create nothing on disk; what the first save creates only
// the user may access.
func TestCreatesFilesOnFirstSave(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "er", "todo.db")
	s := openWithCleanup(t, path)
	must(s.Find(t.Context(), board.Query{}))(t)
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, board.ErrNotFound) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("opening left %v, %v", entries, err)
	}
	mustSave(t, s, "a", 1)
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
}

// A store that was opened before the file existed reads and watches the file
// that another store creates, without being opened again.
func TestSeesAFileCreatedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	early := openWithCleanup(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	hints := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- early.Watch(ctx, func() {
			select {
			case hints <- struct{}{}:
			default:
			}
		})
	}()
	late := openWithCleanup(t, path)
	mustSave(t, late, "a", 1)
	<-hints
	checkRevision(t, early, "a", 1)
	mustSave(t, late, "a", 2)
	<-hints
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What `--store memory` keeps is in a folder that goes as the store is closed.
func TestTemporary(t *testing.T) {
	s := must(Temporary(board.Keep{}))(t)
	if _, err := storetest.Save(t.Context(), s, todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1}); err != nil {
		t.Error(err)
	}
	leave := must(s.Attend("p"))(t)
	if _, err := os.Stat(s.path); err != nil {
		t.Error(err)
	}
	leave()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(s.path)); !os.IsNotExist(err) {
		t.Errorf("after Close its folder is there: %v", err)
	}
}

// Saves that wait at the same time are committed in one transaction.
func TestGroupCommit(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "todo.db"))
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
	t.Logf("%d saves in %d transactions", n, s.batches.Load())
}
