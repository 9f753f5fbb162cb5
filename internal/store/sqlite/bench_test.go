package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

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

// BenchmarkSave measures updates of ten and of fifty items and 32 concurrent writers
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
			if _, err := f.db.Exec(`INSERT INTO history (list, revision, operation, updated, body, sum) VALUES ('a', ?, '', 0, ?, 1)`, n, string(body)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "saves/s")
	})
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
