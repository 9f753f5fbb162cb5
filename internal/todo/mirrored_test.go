package todo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// mirrors writes lines to the list that mirrors a chat's own.
func mirrors(t *testing.T, lists todo.Lists, lines ...string) todo.Snapshot {
	t.Helper()
	out, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "mirror:a", Client: "c", Workspace: "/w"}, Append: true},
		Begin: todo.List{Mirrored: true}, Change: add(lines...)})
	if err != nil {
		t.Fatal(err)
	}
	return out.After
}

// Only its own agent changes the items of a mirrored list: not a person, in any way,
// and not another agent by the list's id. What it has besides items anybody changes.
func TestMirroredListsAreReadOnly(t *testing.T) {
	b := todo.NewBoard(memory.New())
	defer b.Close()
	lists, ctx := b.As(""), t.Context()
	mirrors(t, lists, "one")
	list := mirrors(t, lists, "two")
	person := todo.Writer{Client: "panel", Person: true}
	edit := func(w todo.Writer, change todo.Change) error {
		_, err := lists.Apply(ctx, todo.Write{Target: todo.Target{List: list.List.ID}, Writer: w, Seen: list.Revision, Change: change})
		return err
	}
	for name, err := range map[string]error{
		"a person's edit":  edit(person, func(d *todo.Draft) error { d.SetStatus("1", todo.Completed); return nil }),
		"an agent's by id": edit(todo.Writer{}, add("three")),
		"clearing":         edit(person, func(d *todo.Draft) error { d.Restore(nil); return nil }),
		"an earlier revision": func() error {
			_, err := lists.Edit(ctx, list.List.ID, todo.Edit{Do: todo.EditRestore, Revision: 1}, person)
			return err
		}(),
	} {
		if !errors.Is(err, todo.ErrMirrored) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"a title": func() error { _, err := lists.Edit(ctx, list.List.ID, title("Title"), person); return err }(),
		"archive": func() error { _, err := lists.Archive(ctx, list.List.ID, true, person); return err }(),
		"delete":  func() error { _, err := lists.Delete(ctx, list.List.ID, true, person); return err }(),
		"back":    func() error { _, err := lists.Delete(ctx, list.List.ID, false, person); return err }(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := mirrors(t, lists, "three"); len(got.Items) != 3 || got.GivenTitle != "Title" || got.Archived {
		t.Errorf("the next write of its agent: %+v", got)
	}
}

// Who takes up a mirrored list writes a list of its own; the mirrored one stays as it
// is. Nobody continues it by writing the same.
func TestMirroredListsAreNotContinued(t *testing.T) {
	b := todo.NewBoard(memory.New())
	defer b.Close()
	lists, ctx := b.As(""), t.Context()
	list := mirrors(t, lists, "one", "two")
	for _, c := range []todo.Conversation{{Key: "resumed"}, {Key: "guessed", Hint: true, Client: "c", Workspace: "/w"}} {
		if !c.Hint {
			if err := lists.Hold(ctx, c, list); err != nil {
				t.Fatal(err)
			}
		}
		lines := []todo.Line{{Text: "one", Status: "completed"}, {Text: "two", Status: "pending"}}
		out, err := lists.Apply(ctx, todo.Write{Target: todo.Target{Conversation: c, Lines: lines},
			Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }})
		if err != nil || out.After.List.ID == list.List.ID || out.After.List.Mirrored || len(out.After.Items) != 2 {
			t.Errorf("%s: %+v, %v", c.Key, out.After, err)
		}
	}
	if now, err := lists.Load(ctx, list.List.ID, 0); err != nil || now.Revision != list.Revision {
		t.Errorf("the mirrored list: %+v, %v", now, err)
	}
}

// Put keeps the numbers of another program, in their order, and the next item has a
// number of its own.
func TestPut(t *testing.T) {
	d := todo.NewDraft(todo.Snapshot{}, time.Now())
	for _, id := range []string{"3", "1", "10", "3", "0", "-1", "01", "x", "", "1e3", "99999999999"} {
		d.Put(todo.CoreView(), todo.Line{ID: id, Text: "task " + id, Status: "in_progress"})
	}
	d.Append("next")
	var got []string
	for _, i := range d.Items() {
		got = append(got, i.ID+" "+i.Text)
	}
	if want := "1 task 1/3 task 3/10 task 10/11 next"; strings.Join(got, "/") != want {
		t.Errorf("%q, want %s", got, want)
	}
	if item, _ := d.Item("3"); item.Started.IsZero() {
		t.Errorf("no start: %+v", item)
	}
}

// An item waits for open items of the list alone.
func TestWaits(t *testing.T) {
	d := todo.NewDraft(todo.Snapshot{}, time.Now())
	d.Append("1", "2", "3", "4")
	d.SetStatus("4", todo.Completed)
	d.WaitFor("3", "1", "2", "2", "3", "4", "9")
	d.WaitFor("3", "1")
	d.WaitFor("9", "1")
	waits := func() string { i, _ := d.Item("3"); return strings.Join(i.Waits(), " ") }
	if waits() != "1 2" {
		t.Errorf("waits for %q", waits())
	}
	d.SetStatus("1", todo.Cancelled)
	d.EndWaits()
	if waits() != "2" {
		t.Errorf("waits for %q", waits())
	}
	d.Remove("2")
	d.EndWaits()
	if waits() != "" {
		t.Errorf("waits for %q", waits())
	}
}
