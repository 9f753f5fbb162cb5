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
		_, err = s.Save(t.Context(), next)
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
	sv, err := newSave(next, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.submit(t.Context(), func(st *statements) (todo.Snapshot, error) {
		saved, err := sv.run(st)
		return saved, errors.Join(err, os.Remove(path+"-wal"))
	})
	if !errors.Is(err, todo.ErrUnknownOutcome) {
		t.Errorf("75: the save was acknowledged, or %v", err)
	}
	if saved, err := s.Save(t.Context(), next); err != nil || saved.Revision != 2 {
		t.Errorf("75: repeated: revision %d, %v", saved.Revision, err)
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
	_, saving := late.Save(t.Context(), snapshot("a", 1))
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
	go func() { _, err := s.Save(context.Background(), snapshot("bad", 2)); bad <- err }()
	go func() { _, err := s.Save(context.Background(), snapshot("good", 2)); good <- err }()
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
				if _, err := b.Save(ctx, snapshot("b", acknowledged+1)); err != nil {
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
	if _, err := openWithCleanup(t, path).Save(ctx, snapshot("a", 1)); err != nil {
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
	if _, err := s.Save(b.Context(), snapshot("a", 1)); err != nil {
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
		sv, err := newSave(snapshot("a", 1), nil)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			n++
			if _, err := f.db.Exec(`INSERT INTO history (list, revision, operation, body) VALUES ('a', ?, '', ?)`, n, sv.whole); err != nil {
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
				if _, err := s.Save(b.Context(), next); err != nil {
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
				if _, err := s.Save(context.Background(), snapshot(id, n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
		b.ReportMetric(float64(b.N)/float64(s.batches.Load()), "saves/batch")
	})
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
