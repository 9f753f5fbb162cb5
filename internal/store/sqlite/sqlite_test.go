package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) todo.Store { return open(t, filepath.Join(t.TempDir(), "todo.db")) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(path string) (todo.Store, error) { return Open(path) })
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is a store the test closes.
func opened(t testing.TB, path string) *Store {
	t.Helper()
	s := open(t, path)
	t.Cleanup(func() { s.Close() })
	return s
}

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Scope: todo.Scope{Conversation: "x"}}, Revision: revision,
		Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}
}

// A start leaves nothing behind until the first write, and what it then makes
// is the user's alone.
func TestLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "er", "todo.db")
	s := opened(t, path)
	if _, err := s.Find(t.Context(), todo.Query{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, todo.ErrNotFound) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("opening left %v, %v", entries, err)
	}
	if _, err := s.Save(t.Context(), snapshot("a", 1)); err != nil {
		t.Fatal(err)
	}
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

// A process that opened first sees the file another one makes, without any
// start of its own.
func TestSeesAFileMadeLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	early := opened(t, path)
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
	late := opened(t, path)
	if _, err := late.Save(t.Context(), snapshot("a", 1)); err != nil {
		t.Fatal(err)
	}
	<-hints
	if got, err := early.Load(t.Context(), "a", 0); err != nil || got.Revision != 1 {
		t.Error(got, err)
	}
	if _, err := late.Save(t.Context(), snapshot("a", 2)); err != nil {
		t.Fatal(err)
	}
	<-hints
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BAD-INPUT 52: a newer, damaged or foreign file is refused at the start, with
// what to do, and left as it was.
func TestRefusesFilesItCannotUse(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	s := open(t, good)
	for n := range int64(200) {
		if _, err := s.Save(t.Context(), snapshot("a", n+1)); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	intact, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	newer, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	torn := bytes.Clone(intact)
	for i := 100; i < 4096; i++ {
		torn[i] = 0xA5
	}
	for name, c := range map[string]struct {
		content []byte
		want    error
		says    string
	}{
		"newer":     {newer, todo.ErrTooNew, "or a later one"},
		"no SQLite": {[]byte(strings.Repeat("my diary\n", 100)), todo.ErrCorrupt, "move the file away"},
		"short":     {[]byte("SQLite"), todo.ErrCorrupt, "move the file away"},
		"torn":      {torn, todo.ErrCorrupt, "move the file away"},
	} {
		path := filepath.Join(dir, name+".db")
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.content) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

// Places where there cannot be a file are errors, and nothing breaks.
func TestBadPlaces(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(file, "todo.db"))
	if err == nil {
		_, err = s.Save(t.Context(), snapshot("a", 1))
		s.Close()
	}
	if err == nil {
		t.Error("a file in a file was made")
	}
}

// BAD-INPUT 50: a store file that vanishes is an unknown outcome or a fresh
// file, never a silent loss; and the store goes on.
func TestVanishedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	if _, err := s.Save(t.Context(), snapshot("a", 1)); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		os.Remove(path + suffix)
	}
	if got, err := s.Find(t.Context(), todo.Query{}); err != nil || len(got) != 0 {
		t.Errorf("read of a vanished file: %v, %v", got, err)
	}
	if _, err := s.Save(t.Context(), snapshot("a", 2)); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("save into a vanished list: %v", err)
	}
	if _, err := s.Save(t.Context(), snapshot("b", 1)); err != nil {
		t.Errorf("the store does not go on: %v", err)
	}
	if got, err := s.Find(t.Context(), todo.Query{}); err != nil || len(got) != 1 {
		t.Errorf("read of the new file: %v, %v", got, err)
	}
}

// Saves that wait together are committed together.
func TestGroupCommit(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "todo.db"))
	const n = 200
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if _, err := s.Save(context.Background(), snapshot(fmt.Sprint("l", i), 1)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.Close()
	if s.batches.Load() > n/2 {
		t.Errorf("%d saves took %d transactions", n, s.batches.Load())
	}
	t.Logf("%d saves in %d transactions", n, s.batches.Load())
}

// One save's conflict does not touch the others of its batch.
func TestBatchDecidesEachSave(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "todo.db"))
	var w writer
	defer w.close()
	queued := func(id string, revision int64) *save {
		call, err := newSave(snapshot(id, revision))
		if err != nil {
			t.Fatal(err)
		}
		return call
	}
	good, stale, missing, last := queued("a", 1), queued("a", 1), queued("b", 5), queued("a", 2)
	if err := w.begin(s); err != nil {
		t.Fatal(err)
	}
	if _, err := w.write([]*save{good, stale, missing, last}); err != nil {
		t.Fatal(err)
	}
	var conflict *todo.ConflictError
	if good.err != nil || !errors.As(stale.err, &conflict) || !errors.Is(missing.err, todo.ErrNotFound) || last.err != nil {
		t.Errorf("%v; %v; %v; %v", good.err, stale.err, missing.err, last.err)
	}
}
