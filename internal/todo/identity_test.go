package todo_test

import (
	"errors"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// Who may only read changes nothing, by no method, and nothing is noted of it
// (BAD-INPUT 33).
//
// BAD-INPUT 33: A read scope on a write → 403 that names the scope, before anything is
// done; the model refuses it as well
func TestReadOnlyChangesNothing(t *testing.T) {
	store := memory.New()
	board := newBoard(t, store)
	add := todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "c"}}, Change: func(d *todo.Draft) error { d.Append("a"); return nil }}
	out, err := board.For(todo.Identity{Principal: "team", User: "ann"}).Apply(t.Context(), add)
	if err != nil {
		t.Fatal(err)
	}
	if out.After.Writer.User != "ann" {
		t.Errorf("written by %q, want ann", out.After.Writer.User)
	}
	before := out.After
	viewer := board.For(todo.Identity{Principal: "team", User: "vic", ReadOnly: true})
	id, w := before.List.ID, todo.Writer{Person: true}
	for name, change := range map[string]func() error{
		"apply": func() error { _, err := viewer.Apply(t.Context(), add); return err },
		"restore": func() error {
			_, err := viewer.Edit(t.Context(), id, todo.Edit{Do: todo.EditRestore, Revision: 1}, w)
			return err
		},
		"archive": func() error { _, err := viewer.Archive(t.Context(), id, true, w); return err },
		"rename":  func() error { _, err := viewer.Edit(t.Context(), id, title("x"), w); return err },
		"delete":  func() error { _, err := viewer.Edit(t.Context(), id, todo.Edit{Do: todo.EditDelete}, w); return err },
		"purge":   func() error { _, err := viewer.Purge(t.Context(), todo.Writer{Person: true}, id); return err },
		"hold":    func() error { return viewer.SetCurrent(t.Context(), todo.Conversation{Key: "v"}, before) },
	} {
		if err := change(); !errors.Is(err, todo.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
	held := todo.Target{Conversation: todo.Conversation{Key: "c"}}
	if seen, err := viewer.Show(t.Context(), held); err != nil || seen.Revision != 1 {
		t.Errorf("Show: revision %d, %v", seen.Revision, err)
	}
	if err := viewer.Leave(t.Context(), held.Conversation); err != nil {
		t.Errorf("Leave: %v", err)
	}
	after, err := viewer.Load(t.Context(), id, 0)
	if err != nil || !after.Equal(before) {
		t.Errorf("the list changed: %+v, %v", after, err)
	}
	holders, err := viewer.CursorsOn(t.Context(), before)
	if err != nil || len(holders) != 1 || holders[0].Conversation != "c" || !holders[0].Until.IsZero() {
		t.Errorf("holders: %+v, %v", holders, err)
	}
}
