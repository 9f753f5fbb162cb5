package todo_test

import (
	"context"
	"fmt"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// countingStore counts the snapshots that are read from it.
type countingStore struct {
	todo.Store
	reads int
}

func (s *countingStore) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s.reads++
	return s.Store.Load(ctx, list, revision)
}

func (s *countingStore) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	found, err := s.Store.History(ctx, list, after, limit)
	s.reads += len(found)
	return found, err
}

func (s *countingStore) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	s.reads++
	return s.Store.LastBy(ctx, list, person, upTo)
}

// BAD-INPUT 70: however often a person edited a list, the agent's next write
// reads a few revisions of it, and says who changed what.
func TestAWriteAfterManyEditsOfAPerson(t *testing.T) {
	for name, next := range map[string]todo.Write{
		"of the conversation that saw the list": {Target: target("a"), Change: add("B")},
		"of one that never saw it":              {Target: target("b"), Change: add("B")},
	} {
		t.Run(name, func(t *testing.T) {
			store := &countingStore{Store: memory.New()}
			b := todo.NewBoard(store)
			defer b.Close()
			first, err := b.As("").Apply(t.Context(), todo.Write{Target: target("a"), Change: add("A")})
			if err != nil {
				t.Fatal(err)
			}
			list := first.After.List.ID
			for n := range 298 {
				w := todo.Write{Target: todo.Target{List: list}, Writer: todo.Writer{Person: true}, Change: func(d *todo.Draft) error {
					d.SetText("1", fmt.Sprint("A", n))
					return nil
				}}
				if _, err := b.As("").Apply(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
			next.List = list
			store.reads = 0
			out, err := b.As("").Apply(t.Context(), next)
			if err != nil || len(out.Unseen) != 1 || out.By != todo.People {
				t.Errorf("70: report %+v, %v", out.Report, err)
			}
			if store.reads > 6 {
				t.Errorf("70: the write read %d revisions", store.reads)
			}
		})
	}
}
