package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 50: on a full disk saves fail and are not applied, reads go on, and
// the store recovers without a restart.
func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	s.pragmas = []string{"max_page_count(40)"} // SQLite then says what it says of a full disk
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
	s.pragmas = nil // there is room again
	saved(t, s, "a", n)
	intact(t, path)
}

// BAD-INPUT 50: deleting the main file alone, under two stores, breaks neither:
// what the old one left beside it is not taken for the new one's.
func TestMainFileVanishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	a, b := opened(t, path), opened(t, path)
	for n := range int64(20) {
		saved(t, a, "a", n+1)
	}
	if _, err := b.Load(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for n := range int64(20) {
		saved(t, a, "new", n+1)
		saved(t, b, "other", n+1)
	}
	for _, s := range []*Store{a, b} {
		if got, err := s.Find(t.Context(), todo.Query{}); err != nil || len(got) != 2 {
			t.Errorf("50: found %d lists, %v", len(got), err)
		}
	}
	intact(t, path)
}

// A file that is moved away takes with it what was acknowledged.
func TestMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	for n := range int64(5) {
		saved(t, s, "a", n+1)
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	saved(t, s, "b", 1)
	old := opened(t, path+".old")
	if got, err := old.Load(t.Context(), "a", 0); err != nil || got.Revision != 5 {
		t.Errorf("revision %d, %v", got.Revision, err)
	}
}

// A record that cannot be read is the trouble of its own list alone.
func TestDamagedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := opened(t, path)
	saved(t, s, "bad", 1)
	saved(t, s, "good", 1)
	db := raw(t, path)
	run(t, db, "UPDATE lists SET meta = '{' WHERE id = 'bad'")
	hold := raw(t, path)
	run(t, hold, "BEGIN IMMEDIATE") // so that both saves wait for one batch
	bad, good := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.Save(context.Background(), snapshot("bad", 2)); bad <- err }()
	go func() { _, err := s.Save(context.Background(), snapshot("good", 2)); good <- err }()
	run(t, hold, "ROLLBACK")
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

// A process killed in the very act of making the file holds nobody up for good.
func TestMarkOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	if err := os.WriteFile(path+"-new", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path + "-new")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path+"-new", info.ModTime(), info.ModTime().Add(-2*staleAfter)); err != nil {
		t.Fatal(err)
	}
	saved(t, opened(t, path), "a", 1)
}

// Opening and closing a store that is not used is cheap: clients start us twice.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := open(b, filepath.Join(dir, "there.db"))
	if _, err := s.Save(b.Context(), snapshot("a", 1)); err != nil {
		b.Fatal(err)
	}
	s.Close()
	for _, name := range []string{"there", "missing"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b, filepath.Join(dir, name+".db")).Close()
			}
		})
	}
}

// BenchmarkSave measures 32 writers, and the floor of the same run: a
// transaction a save on the bare driver.
func BenchmarkSave(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		f, err := openWriter(b.Context(), filepath.Join(b.TempDir(), "todo.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer f.release()
		call, err := newSave(snapshot("a", 1))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for b.Loop() {
			n++
			if _, err := f.db.Exec(`INSERT INTO history (list, revision, operation, body) VALUES ('a', ?, '', ?)`, n, call.body); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "saves/s")
	})
	b.Run("32 writers", func(b *testing.B) {
		s := open(b, filepath.Join(b.TempDir(), "todo.db"))
		defer s.Close()
		lists := make(chan string, 32)
		for i := range cap(lists) {
			lists <- fmt.Sprint("l", i)
		}
		b.SetParallelism(16) // times the two cores
		b.RunParallel(func(p *testing.PB) {
			id := <-lists
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
