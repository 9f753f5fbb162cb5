package memory_test

import (
	"fmt"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// BenchmarkSave measures a save of a list that has few revisions, and of one that has
// as many as are kept: their times must be alike.
func BenchmarkSave(b *testing.B) {
	for _, kept := range []int64{10, 1000} {
		b.Run(fmt.Sprint(kept, " revisions"), func(b *testing.B) {
			s := memory.NewKeeping(todo.Keep{Revisions: int(kept)})
			next := todo.Snapshot{List: todo.List{ID: "a"}, Items: make([]todo.Item, 10), LastID: 10}
			save := func() {
				next.Revision++
				if _, err := storetest.Save(b.Context(), s, next); err != nil {
					b.Fatal(err)
				}
			}
			for range 2 * kept {
				save()
			}
			for b.Loop() {
				save()
			}
		})
	}
}

func BenchmarkMany(b *testing.B) {
	storetest.BenchmarkMany(b, func(_ testing.TB, lists int) todo.Store {
		s := memory.NewKeeping(todo.Keep{Revisions: 1000, Lists: 1_000_000, Begun: 1000, Bytes: 4_000_000_000, Abandoned: time.Hour})
		for n := range lists {
			s.Put(storetest.Crowd(n))
		}
		return s
	})
}
