package todo_test

import (
	"errors"
	"fmt"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 70: however often a person edited a list, the agent's next write
// reads a few revisions of it, and says who changed what.
//
// BAD-INPUT 70: A person edits a long list some hundred times → The agent's next write
// takes no longer: the last revision of an agent, and of a person, is found in one
// read
func TestAWriteAfterManyEditsOfAPerson(t *testing.T) {
	for name, next := range map[string]todo.Write{
		"of the conversation that saw the list": {Target: target("a"), Change: add("B")},
		"of one that never saw it":              {Target: target("b"), Change: add("B")},
	} {
		t.Run(name, func(t *testing.T) {
			store := &counter{Store: memory.New()}
			b := newBoard(t, store)
			first := apply(t, b, todo.Write{Target: target("a"), Change: add("A")})
			list := first.After.List.ID
			for n := range 298 {
				w := todo.Write{Target: todo.Target{List: list}, Writer: todo.Writer{Person: true}, Change: func(d *todo.Draft) error {
					d.SetText("1", fmt.Sprint("A", n))
					return nil
				}}
				apply(t, b, w)
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

// What an agent read at one board counts for its next write at another: it is told of
// nothing that it has read, and what it then leaves out is gone. A read that shows it
// nothing new stores nothing.
func TestWhatWasReadIsStored(t *testing.T) {
	store := &counter{Store: memory.New()}
	one, other := newBoard(t, store), newBoard(t, store)
	first := apply(t, one, todo.Write{Target: target("a"), Change: add("A")})
	person := todo.Write{Target: todo.Target{List: first.After.List.ID}, Writer: todo.Writer{Person: true}, Change: add("by a person")}
	if _, err := one.As("").Apply(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	store.updates = 0
	for range 3 {
		if shown, err := one.As("").Show(t.Context(), target("a")); err != nil || len(shown.Items) != 2 {
			t.Fatalf("shown %v, %v", shown.Items, err)
		}
	}
	if store.updates != 1 {
		t.Errorf("%d times stored, want once", store.updates)
	}
	lines := []todo.Line{{Text: "A", Active: "A", Status: "pending"}}
	whole := target("a")
	whole.Lines = lines
	out, err := other.As("").Apply(t.Context(), todo.Write{Target: whole, Change: func(d *todo.Draft) error { d.Replace(plain, lines); return nil }})
	if err != nil || len(out.Unseen) > 0 || len(out.After.Items) != 1 {
		t.Errorf("told of %v, %v, %v", out.Unseen, out.After.Items, err)
	}
}

// A write that is refused has stored nothing before, also if it would begin another plan
// and tell what a person did to the one before: all that share its transaction in a store
// would have to run again.
func TestARefusedWriteStoresNothing(t *testing.T) {
	store := &counter{Store: memory.New()}
	d := newDesk(t)
	d.store = store
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	d.personEdits(list, setStatus("1", todo.Completed))
	store.stored = 0
	refusal := &todo.InputError{Problems: []todo.Problem{{Message: "refused"}}}
	_, err := a.apply(todo.Target{Lines: parseLines("p:X p:Y"), View: todo.CoreView()}, func(*todo.Draft) error { return refusal })
	if !errors.Is(err, refusal) || store.stored != 0 {
		t.Errorf("%d rows are stored, %v", store.stored, err)
	}
	if out := a.writes("p:X p:Y"); len(out.Unseen) != 1 || len(a.writes("p:X p:Z").Unseen) != 0 {
		t.Errorf("the person's edit is told %+v", out.Report)
	}
}
