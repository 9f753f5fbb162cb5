package memorytest_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// BenchmarkSave measures a save of a list that has few revisions, and of one that has
// as many as are kept: their times must be alike.
func BenchmarkSave(b *testing.B) {
	for _, kept := range []int64{10, 1000} {
		b.Run(fmt.Sprint(kept, " revisions"), func(b *testing.B) {
			s := memorytest.NewKeeping(board.Keep{Revisions: int(kept)})
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
