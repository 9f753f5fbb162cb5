//go:build !bits

// It needs the program, and with it SQLite (see chats_file_test.go).

package board_test

import (
	"context"
	"fmt"
	"testing"

	"todo-mcp/internal/board"
	"todo-mcp/internal/chattest"
	memory "todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// planWriter returns a function that writes a plan of so many items on a board, one
// step further each time.
func planWriter(t testing.TB, b *board.Board, items int) func(n int) todo.Snapshot {
	plan := storetest.Plan(items)
	lines := make([]todo.Line, items)
	return func(n int) todo.Snapshot {
		for i, item := range plan {
			lines[i] = todo.Line{Text: item.Text, Active: item.Active, Status: "pending"}
			if i < n%items {
				lines[i].Status = "completed"
			}
		}
		out, err := b.As("").Apply(context.Background(), board.Write{Target: board.Target{Conversation: conversation("chat"), Lines: lines},
			Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }})
		if err != nil || !out.Changed {
			t.Fatal(out, err)
		}
		return out.After
	}
}

// BenchmarkApply measures a write of a whole list, one step on, beside a save of the
// same revision alone.
func BenchmarkApply(b *testing.B) {
	for _, items := range []int{10, 50} {
		for name, store := range chattest.Stores(b) {
			bd := board.NewBoard(store)
			write := planWriter(b, bd, items)
			next := write(0)
			b.Run(fmt.Sprint(name, ", ", items, " items/floor"), func(b *testing.B) {
				next.List.ID = board.NewID()
				next.Revision = 0
				b.ReportAllocs()
				for b.Loop() {
					next.Revision++
					next.Operation.ID = board.NewID()
					save := func(tx board.Tx) error { _, err := tx.Save(b.Context(), next); return err }
					if err := store.Update(b.Context(), board.Key{}, save); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprint(name, ", ", items, " items/apply"), func(b *testing.B) {
				b.ReportAllocs()
				for n := 1; b.Loop(); n++ {
					write(n)
				}
			})
			bd.Close()
		}
	}
}

// BenchmarkPublish measures from the begin of a write until all watchers have its
// revision; the floor is a write that nobody watches.
func BenchmarkPublish(b *testing.B) {
	for _, watchers := range []int{0, 1, 2000} {
		b.Run(fmt.Sprint(watchers, " watchers"), func(b *testing.B) {
			bd := board.NewBoard(memory.New())
			defer bd.Close()
			var all []*board.Watcher
			for range watchers {
				all = append(all, bd.As("").Watch(nil))
			}
			write := planWriter(b, bd, 10)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				write(n)
				for _, w := range all {
					if got, err := w.Next(b.Context()); err != nil || len(got) != 1 {
						b.Fatal(got, err)
					}
				}
			}
		})
	}
}
