package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// Whatever a store remembers, its next transaction reads what another process has
// written since, whether it is a list, what a conversation knows, or that a list is
// gone, and writes on top of it.
func TestOldMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	ours, theirs := openWithCleanup(t, path), openWithCleanup(t, path)
	for name, change := range map[string]func() error{
		"list":         func() error { return increment(theirs, "list") },
		"cursor":       func() error { return move(t.Context(), theirs, "cursor", "other") },
		"another list": func() error { return increment(theirs, "new") },
		"purge":        func() error { _, err := theirs.Purge(t.Context(), todo.Writer{}, time.Now(), "purge"); return err },
	} {
		key := todo.Key{Conversation: name}
		if _, err := storetest.Save(t.Context(), ours, snapshot(name, 1), todo.Cursor{Key: key, List: name, Current: true}); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(name, err)
		}
		stored, err := theirs.Load(t.Context(), name, 0)
		if err != nil {
			t.Fatal(name, err)
		}
		cursors, err := theirs.Cursors(t.Context(), key)
		if err != nil {
			t.Fatal(name, err)
		}
		err = ours.Update(t.Context(), key, func(tx todo.Tx) error {
			now, err := tx.Load(t.Context(), name, 0)
			if err != nil || !cmp.Equal(now, stored) {
				t.Errorf("%s: read %+v, %v; stored is %+v", name, now, err, stored)
			}
			known, err := tx.Cursors(t.Context(), key)
			if err != nil || !cmp.Equal(known, cursors) {
				t.Errorf("%s: read cursors %+v, %v; stored are %+v", name, known, err, cursors)
			}
			now.Revision++
			_, err = tx.Save(t.Context(), now)
			return err
		})
		if err != nil {
			t.Errorf("%s: a save on top of it: %v", name, err)
		}
		if now, err := theirs.Load(t.Context(), name, 0); err != nil || now.Revision != stored.Revision+1 || !cmp.Equal(now.Items, stored.Items) {
			t.Errorf("%s: the other store reads revision %d, %v", name, now.Revision, err)
		}
	}
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
