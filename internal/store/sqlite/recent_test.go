package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// What is read from memory may be old when another process writes, and then a save
// that is based on it is refused, whether it is the list or what a conversation holds
// that has changed.
func TestOldMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	ours, theirs := openWithCleanup(t, path), openWithCleanup(t, path)
	for name, change := range map[string]func() error{
		"list": func() error { return saveOn(t.Context(), theirs, snapshot("list", 2)) },
		"binding": func() error {
			return theirs.Bind(t.Context(), todo.Binding{Conversation: "binding", List: "other", Moves: true})
		},
		"another list": func() error { return saveOn(t.Context(), theirs, snapshot("new", 1)) },
		"purge":        func() error { _, err := theirs.Purge(t.Context(), todo.Writer{}, time.Now(), "purge"); return err },
	} {
		held := todo.Binding{Conversation: name, Moves: true}
		if err := saveOn(t.Context(), ours, snapshot(name, 1), held); err != nil {
			t.Fatal(err)
		}
		ctx := todo.WithBasis(t.Context(), &todo.Basis{})
		if err := change(); err != nil {
			t.Fatal(name, err)
		}
		known, err := ours.Load(ctx, name, 0)
		if err != nil || known.Revision != 1 {
			t.Fatalf("%s: revision %d in memory, %v", name, known.Revision, err)
		}
		if bound, err := ours.Bindings(ctx, "", name); err != nil || len(bound) != 1 || bound[0].List != name {
			t.Fatalf("%s: bindings %+v in memory, %v", name, bound, err)
		}
		var conflict *todo.ConflictError
		if _, err := ours.Save(ctx, snapshot(name, 2), held); !errors.As(err, &conflict) {
			t.Errorf("%s: a save on an old basis: %v", name, err)
			continue
		}
		stored, err := theirs.Load(t.Context(), name, 0)
		if err != nil || conflict.Current.Revision != stored.Revision {
			t.Errorf("%s: refused with revision %d of %d, %v", name, conflict.Current.Revision, stored.Revision, err)
		}
		again := todo.WithBasis(t.Context(), &todo.Basis{})
		now, err := ours.Load(again, name, 0)
		if err != nil || now.Revision != stored.Revision {
			t.Errorf("%s: revision %d of %d after that, %v", name, now.Revision, stored.Revision, err)
		}
		if err := saveOn(again, ours, snapshot(name, now.Revision+1), held); err != nil {
			t.Errorf("%s: a save on what is newest: %v", name, err)
		}
	}
}

func saveOn(ctx context.Context, s *Store, next todo.Snapshot, bindings ...todo.Binding) error {
	_, err := s.Save(ctx, next, bindings...)
	return err
}

// BAD-INPUT 54: a board reports what people have changed through another process also
// when a write changes nothing of what it knew, and answers no call from an old memory.
func TestBoardWithOldMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	agent, person := todo.NewBoard(openWithCleanup(t, path)), todo.NewBoard(openWithCleanup(t, path))
	t.Cleanup(agent.Close)
	t.Cleanup(person.Close)
	lines := []todo.Line{{Text: "A", Status: "pending"}, {Text: "B", Status: "pending"}}
	plan := todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "session:1"}, Lines: lines}, Change: func(d *todo.Draft) error {
		d.Replace(view, lines)
		return nil
	}}
	first, err := agent.As("").Apply(t.Context(), plan)
	if err != nil || first.After.Revision != 1 {
		t.Fatal(first, err)
	}
	add := todo.Write{Target: todo.Target{List: first.After.List.ID}, Writer: todo.Writer{Person: true}, Change: func(d *todo.Draft) error {
		d.Append("C")
		return nil
	}}
	if _, err := person.As("").Apply(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	out, err := agent.As("").Apply(t.Context(), plan)
	if err != nil || out.Changed || len(out.After.Items) != 3 || len(out.Unseen) != 1 || out.By != todo.People {
		t.Errorf("54: the plan again: %+v, %v", out, err)
	}
	// A write that is wrong by the old list only.
	done := todo.Write{Target: todo.Target{Conversation: plan.Conversation, Item: "3"}, Change: func(d *todo.Draft) error {
		if !d.SetStatus("3", todo.Completed) {
			return errors.New("no item 3")
		}
		return nil
	}}
	if out, err := agent.As("").Apply(t.Context(), done); err != nil || !out.Changed {
		t.Errorf("54: an item that a person added: %+v, %v", out, err)
	}
}

var view = todo.View{Words: map[todo.Status]string{todo.Pending: "pending", todo.InProgress: "in_progress", todo.Completed: "completed"}}
