package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 50: on a full disk saves fail and are not applied, reads still
// work, and the store recovers without a restart.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	s.pragmas = []string{"max_page_count(40)"} // SQLite then returns the error of a full disk
	n := int64(0)
	var err error
	for err == nil {
		n++
		next := snapshot("a", n)
		next.Items[0].Text = strings.Repeat("x", 4000)
		_, err = storetest.Save(t.Context(), s, next)
	}
	if !strings.Contains(err.Error(), "full") || errors.Is(err, todo.ErrUnknownOutcome) {
		t.Errorf("50: %v", err)
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != n-1 {
		t.Errorf("50: revision %d after %d, %v", got.Revision, n-1, err)
	}
	s.pragmas = nil // the disk has space again
	mustSave(t, s, "a", n)
	checkIntegrity(t, path)
}

// BAD-INPUT 50: deleting only the main file, while two stores have it open,
// breaks neither: the old -wal and -shm files are not applied to the new file.
func TestMainFileDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := openWithCleanup(t, path), openWithCleanup(t, path)
	for n := range int64(20) {
		mustSave(t, a, "a", n+1)
	}
	if _, err := b.Load(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for n := range int64(20) {
		mustSave(t, a, "new", n+1)
		mustSave(t, b, "other", n+1)
	}
	for _, s := range []*Store{a, b} {
		if got, err := s.Find(t.Context(), todo.Query{}); err != nil || len(got) != 2 {
			t.Errorf("50: found %d lists, %v", len(got), err)
		}
	}
	checkIntegrity(t, path)
}

// BAD-INPUT 75: deleting only the log, while two stores have it open, loses no
// acknowledged save, whoever reads or writes next.
func TestLogDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := openWithCleanup(t, path), openWithCleanup(t, path)
	revisions := int64(0)
	for range 5 {
		revisions++
		mustSave(t, a, "a", revisions)
		mustSave(t, b, "b", revisions)
		for _, s := range []*Store{a, b} {
			if _, err := s.Load(t.Context(), "a", 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(path + "-wal"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			revisions++
			mustSave(t, a, "a", revisions)
			mustSave(t, b, "b", revisions)
			for _, s := range []*Store{b, a} {
				for _, id := range []string{"a", "b"} {
					if got, err := s.Load(t.Context(), id, 0); err != nil || got.Revision != revisions {
						t.Fatalf("75: revision %d of %s after %d, %v", got.Revision, id, revisions, err)
					}
				}
			}
		}
		if got := countInChild(t, path); got != fmt.Sprintln(2*revisions) {
			t.Fatalf("75: acknowledged %d, another process reads %s", 2*revisions, got)
		}
	}
	checkIntegrity(t, path)
}

// BAD-INPUT 75: a save whose log is deleted before its commit is not
// acknowledged; repeated with its operation id it is saved once.
func TestLogDeletedInASave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	mustSave(t, s, "a", 1)
	next := snapshot("a", 2)
	next.Operation = todo.Operation{ID: "op", Digest: "d"}
	err := s.Update(t.Context(), todo.Key{}, func(tx todo.Tx) error {
		_, err := tx.Save(t.Context(), next)
		return errors.Join(err, os.Remove(path+"-wal"))
	})
	if !errors.Is(err, todo.ErrUnknownOutcome) {
		t.Errorf("75: the save was acknowledged, or %v", err)
	}
	err = s.Update(t.Context(), todo.Key{}, func(tx todo.Tx) error {
		found, err := tx.Find(t.Context(), todo.Query{Operation: "op"})
		if err == nil && len(found) == 0 {
			_, err = tx.Save(t.Context(), next)
		}
		return err
	})
	if err != nil {
		t.Errorf("75: repeated: %v", err)
	}
	if got := countInChild(t, path); got != fmt.Sprintln(2) {
		t.Errorf("75: another process reads %s", got)
	}
}

// BAD-INPUT 76: an empty database beside a log with acknowledged saves is not
// taken for a new store: SQLite would delete the log. Both are left as they are,
// also by a store that was opened before they came.
func TestEmptyDatabaseBesideItsLog(t *testing.T) {
	dir := t.TempDir()
	s := openWithCleanup(t, filepath.Join(dir, "source.db"))
	mustSave(t, s, "a", 1)
	log, err := os.ReadFile(filepath.Join(dir, "source.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "todo.db")
	late := openWithCleanup(t, path)
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, opening := Open(path)
	_, saving := storetest.Save(t.Context(), late, snapshot("a", 1))
	_, reading := late.Find(t.Context(), todo.Query{})
	for what, err := range map[string]error{"opening": opening, "saving": saving, "reading": reading} {
		if !errors.Is(err, todo.ErrCorrupt) || !strings.Contains(err.Error(), "is empty, but its log") || !strings.Contains(err.Error(), "move both away") {
			t.Errorf("76: %s: %v", what, err)
		}
	}
	if now, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(now, log) {
		t.Errorf("76: the log was changed, %v", err)
	}
}

// A file that is moved away contains all acknowledged saves.
func TestFileMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	for n := range int64(5) {
		mustSave(t, s, "a", n+1)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, "b", 1)
	old := openWithCleanup(t, path+".old")
	if got, err := old.Load(t.Context(), "a", 0); err != nil || got.Revision != 5 {
		t.Errorf("revision %d, %v", got.Revision, err)
	}
}

// A record that cannot be decoded fails the calls on its own list only.
func TestDamagedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	mustSave(t, s, "bad", 1)
	mustSave(t, s, "good", 1)
	db := openRaw(t, path)
	execSQL(t, db, "UPDATE lists SET meta = '{' WHERE id = 'bad'")
	locker := openRaw(t, path)
	execSQL(t, locker, "BEGIN IMMEDIATE") // so that both saves wait, for one batch
	bad, good := make(chan error, 1), make(chan error, 1)
	go func() { _, err := storetest.Save(context.Background(), s, snapshot("bad", 2)); bad <- err }()
	go func() { _, err := storetest.Save(context.Background(), s, snapshot("good", 2)); good <- err }()
	execSQL(t, locker, "ROLLBACK")
	if err := <-good; err != nil {
		t.Errorf("the good list: %v", err)
	}
	if err := <-bad; !errors.Is(err, todo.ErrCorrupt) {
		t.Errorf("the bad list: %v", err)
	}
	if _, err := s.Load(t.Context(), "bad", 0); !errors.Is(err, todo.ErrCorrupt) {
		t.Errorf("load: %v", err)
	}
}

// A damaged cursor costs its conversation what it said, and no more: the conversation
// goes on with its other cursors, and is read again once it has moved one.
func TestDamagedCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := openWithCleanup(t, path)
	key := todo.Key{Conversation: "c"}
	for n, id := range []string{"a", "b", "a", "b"} {
		if n < 2 {
			mustSave(t, s, id, 1)
		}
		if err := move(t.Context(), s, "c", id); err != nil {
			t.Fatal(err)
		}
	}
	execSQL(t, openRaw(t, path), `UPDATE cursors SET seen = 77 WHERE list = 'b'`)
	var known []todo.Cursor
	read := func(tx todo.Tx) (err error) { known, err = tx.Cursors(t.Context(), key); return err }
	for range 2 {
		if err := s.Update(t.Context(), key, read); err != nil || len(known) != 1 || known[0].List != "a" || known[0].Current {
			t.Errorf("78: beside a damaged cursor: %+v, %v", known, err)
		}
	}
	mustSave(t, s, "c", 1)
	if err := move(t.Context(), s, "c", "c"); err != nil {
		t.Fatal(err)
	}
	mustSave(t, openWithCleanup(t, path), "d", 1) // of another process: this one must read anew
	if err := s.Update(t.Context(), key, read); err != nil || len(known) != 2 || known[0].List != "c" || !known[0].Current || known[1].List != "a" || known[1].Current {
		t.Errorf("78: after a move: %+v, %v", known, err)
	}
	if outside, err := s.Cursors(t.Context(), key); err != nil || !cmp.Equal(outside, known) {
		t.Errorf("78: read after a move: %+v, %v", outside, err)
	}
	if _, err := s.Check(t.Context(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}

// BAD-INPUT 50: while a store cannot be written updates fail and are not applied,
// reads work, and it goes on by itself afterwards.
func TestReadOnlyForATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	mustSave(t, openWithCleanup(t, path), "a", 1)
	s := openWithCleanup(t, path)
	s.pragmas = []string{"query_only(1)"} // SQLite then returns the error of a file that is read-only
	for range 3 {
		if err := increment(s, "a"); err == nil || errors.Is(err, todo.ErrUnknownOutcome) || !strings.Contains(err.Error(), "writable") {
			t.Errorf("50: %v", err)
		}
		if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 1 {
			t.Errorf("50: revision %d, %v", got.Revision, err)
		}
	}
	s.pragmas = nil
	if err := increment(s, "a"); err != nil {
		t.Errorf("50: %v", err)
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 2 {
		t.Errorf("50: revision %d, %v", got.Revision, err)
	}
}

// BAD-INPUT 74: a process that sleeps for as long as it likes between its check
// that there is no file and its removal of what a deleted one left does not
// remove the log of a file that another process has made meanwhile.
func TestCreatorThatSleeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := openWithCleanup(t, path), openWithCleanup(t, path)
	acknowledged := int64(0)
	var asleep atomic.Bool
	really := removeLeftover
	defer func() { removeLeftover = really }()
	removeLeftover = func(name string) error {
		if asleep.CompareAndSwap(false, true) { // a is here; b finds that all of a's files are old
			for _, suffix := range []string{"-new", "-lock"} {
				_ = os.Chtimes(path+suffix, time.Time{}, time.Now().Add(-time.Hour))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for acknowledged < 83 {
				if _, err := storetest.Save(ctx, b, snapshot("b", acknowledged+1)); err != nil {
					break
				}
				acknowledged++
			}
		}
		return really(name)
	}
	mustSave(t, a, "a", 1)
	found, err := openWithCleanup(t, path).History(t.Context(), "b", 0, 0)
	if err != nil || int64(len(found)) != acknowledged {
		t.Errorf("74: %d saves were acknowledged, %d are there, %v", acknowledged, len(found), err)
	}
	mustSave(t, b, "b", acknowledged+1)
	for _, suffix := range []string{"-new", "-lock"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("74: %s is left, %v", suffix, err)
		}
	}
}

// BAD-INPUT 74: what a process left that was killed while it made the store
// does not keep others from making it.
func TestTemporaryFileOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	for _, suffix := range []string{"-new", "-lock"} {
		if err := os.WriteFile(path+suffix, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := storetest.Save(ctx, openWithCleanup(t, path), snapshot("a", 1)); err != nil {
		t.Errorf("74: %v", err)
	}
}

// BAD-INPUT 73: before the first save is acknowledged, the name of the file and
// of every folder above it is on disk, whoever made the folder: another process
// may have made it and not come to sync it.
func TestFoldersSurvivePowerLoss(t *testing.T) {
	synced := map[string]bool{}
	really := syncFolder
	defer func() { syncFolder = really }()
	syncFolder = func(path string) { synced[path] = true; really(path) }
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "other's"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "other's", "new", "er", "todo.db")
	mustSave(t, openWithCleanup(t, path), "a", 1)
	for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		if !synced[dir] {
			t.Errorf("73: the names in %s are not synced", strings.TrimPrefix(dir, filepath.Dir(root)))
		}
	}
}

// BenchmarkOpen measures opening and closing a store without using it, which
// must be cheap because clients start the server twice.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := open(b, filepath.Join(dir, "existing.db"))
	if _, err := storetest.Save(b.Context(), s, snapshot("a", 1)); err != nil {
		b.Fatal(err)
	}
	s.Close()
	for _, name := range []string{"existing", "missing"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b, filepath.Join(dir, name+".db")).Close()
			}
		})
	}
}

// BenchmarkSave measures one writer of ten and of fifty items and 32 concurrent ones
// of one, and in the same run a floor to compare them with: one transaction per save
// on the bare driver.
func BenchmarkSave(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		f, err := openWriter(b.Context(), filepath.Join(b.TempDir(), "todo.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer f.release()
		body, err := record.Body(snapshot("a", 1))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			n++
			if _, err := f.db.Exec(`INSERT INTO history (list, revision, operation, person, updated, body, sum) VALUES ('a', ?, '', 0, 0, ?, 1)`, n, string(body)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "saves/s")
	})
	for _, items := range []int{10, 50} {
		b.Run(fmt.Sprint("1 writer, ", items, " items"), func(b *testing.B) {
			s := openWithCleanup(b, filepath.Join(b.TempDir(), "todo.db"))
			next := snapshot("a", 0)
			next.Items, next.LastID = storetest.Plan(items), items
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				next.Revision++
				next.Items[n%items].Status = todo.Statuses()[n/items%2]
				if _, err := storetest.Save(b.Context(), s, next); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, items := range []int{10, 50} {
		b.Run(fmt.Sprint("update with a cursor, ", items, " items"), func(b *testing.B) {
			s := openWithCleanup(b, filepath.Join(b.TempDir(), "todo.db"))
			first := snapshot("a", 1)
			first.Items, first.LastID = storetest.Plan(items), items
			key := todo.Key{Conversation: "session:c"}
			if _, err := storetest.Save(b.Context(), s, first, todo.Cursor{Key: key, List: "a", Seen: 1, Current: true}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				err := s.Update(b.Context(), key, func(tx todo.Tx) error { return writeNext(b.Context(), tx, key, n) })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("32 writers", func(b *testing.B) {
		s := open(b, filepath.Join(b.TempDir(), "todo.db"))
		defer s.Close()
		var writers atomic.Int64
		b.SetParallelism(max(32/runtime.GOMAXPROCS(0), 1))
		b.RunParallel(func(p *testing.PB) {
			id := fmt.Sprint("l", writers.Add(1))
			for n := int64(1); p.Next(); n++ {
				if _, err := storetest.Save(context.Background(), s, snapshot(id, n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
		b.ReportMetric(float64(b.N)/float64(s.batches.Load()), "saves/batch")
	})
}

// writeNext does what a write does: it reads what its conversation knows, and the list
// that it holds, saves the next revision of it, and moves the cursor.
func writeNext(ctx context.Context, tx todo.Tx, key todo.Key, n int) error {
	known, err := tx.Cursors(ctx, key)
	if err != nil {
		return err
	}
	next, err := tx.Load(ctx, known[0].List, 0)
	if err != nil {
		return err
	}
	next = next.Clone()
	next.Revision++
	items := len(next.Items)
	next.Items[n%items].Status = todo.Statuses()[n/items%2]
	if _, err := tx.Save(ctx, next); err != nil {
		return err
	}
	return tx.SetCursor(ctx, todo.Cursor{Key: key, List: next.List.ID, Seen: next.Revision, Current: true})
}

// BAD-INPUT 74: a process that looks for the store while another makes it does not
// take it for an empty database beside a full log.
func TestLooksWhileAnotherMakes(t *testing.T) {
	for range 30 {
		path := filepath.Join(t.TempDir(), "todo.db")
		var lookers sync.WaitGroup
		for range 4 {
			lookers.Go(func() {
				for {
					info, err := look(path)
					if err != nil {
						t.Error(err)
					}
					if err != nil || info != nil && info.Size() > 0 {
						return
					}
				}
			})
		}
		mustSave(t, openWithCleanup(t, path), "a", 1)
		lookers.Wait()
	}
}
