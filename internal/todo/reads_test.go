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

// waitingStore lets the saves of one list wait, after they were made or before.
type waitingStore struct {
	todo.Store
	list   string
	saving chan struct{} // receives a value when such a save waits
	let    chan struct{} // closed to let it go on
}

func (s *waitingStore) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	if next.List.ID == s.list {
		s.saving <- struct{}{}
		<-s.let
	}
	return s.Store.Save(ctx, next, bindings...)
}

// What an agent has read counts for its next write also while another
// conversation's write is storing that: what it then leaves out is gone.
func TestReadWhileItIsStored(t *testing.T) {
	store := &waitingStore{Store: memory.New(), saving: make(chan struct{}), let: make(chan struct{})}
	b := todo.NewBoard(store)
	defer b.Close()
	lists := b.As("")
	apply := func(w todo.Write) todo.Snapshot {
		t.Helper()
		out, err := lists.Apply(t.Context(), w)
		if err != nil {
			t.Error(err)
		}
		return out.After
	}
	list := apply(todo.Write{Target: target("a"), Change: add("A")}).List.ID
	other := apply(todo.Write{Target: target("c"), Change: add("other")}).List.ID
	shared := target("b")
	shared.List = list
	apply(todo.Write{Target: shared, Change: add("B")})
	if got, err := lists.Show(t.Context(), target("a")); err != nil || len(got.Items) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	store.list = other
	done := make(chan struct{})
	go func() {
		defer close(done)
		apply(todo.Write{Target: target("c"), Change: add("more")}) // takes what a has read with it
	}()
	<-store.saving
	lines := []todo.Line{{Text: "A", Active: "A", Status: "pending"}}
	whole := target("a")
	whole.Lines = lines
	after := apply(todo.Write{Target: whole, Change: func(d *todo.Draft) error { d.Replace(plain, lines); return nil }})
	if len(after.Items) != 1 {
		t.Errorf("the item that the agent had read and left out is there: %+v", after.Items)
	}
	close(store.let)
	<-done
}
