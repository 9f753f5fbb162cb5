package todo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// Nothing finds a deleted list, and its agent begins another one. It can be
// brought back with its history.
func TestDeleteAndBack(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	first := a.writes("p:A p:B").After
	ctx, lists := context.Background(), a.lists()
	watcher := lists.Watch(nil)
	defer watcher.Close()
	_, err := lists.Edit(ctx, first.List.ID, todo.Edit{Do: todo.EditDelete}, person())
	checkErr(t, err)
	if got, err := watcher.Next(ctx); err != nil || len(got) != 1 || !got[0].Deleted {
		t.Errorf("a watcher received %+v, %v", got, err)
	}
	if _, err := lists.Load(ctx, first.List.ID, 0); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("load: %v", err)
	}
	if found, err := lists.Find(ctx, todo.Query{}); err != nil || len(found) != 0 {
		t.Errorf("found %d, %v", len(found), err)
	}
	if _, err := lists.Apply(ctx, todo.Write{Target: todo.Target{List: first.List.ID}, Change: add("C")}); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("a write to it by id: %v", err)
	}
	if next := a.writes("c:A i:B").After; next.List.ID == first.List.ID {
		t.Error("its agent wrote the deleted list")
	}
	_, err = lists.Edit(ctx, first.List.ID, todo.Edit{Do: todo.EditUndelete}, person())
	checkErr(t, err)
	if s, err := lists.Load(ctx, first.List.ID, 0); err != nil || show(s) != show(first) || s.Revision != 3 {
		t.Errorf("brought back: revision %d of %q, %v", s.Revision, show(s), err)
	}
	if _, err := d.board("p9").As("somebody").Edit(ctx, first.List.ID, todo.Edit{Do: todo.EditDelete}, person()); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("34: by another principal: %v", err)
	}
}

// What is purged is gone: only that it was deleted is left for watchers.
func TestPurge(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:Secret p:B").After.List.ID
	a.writes("c:Secret i:B")
	ctx, lists := context.Background(), a.lists()
	watcher := lists.Watch(nil)
	defer watcher.Close()
	if _, err := d.board("p9").As("somebody").Purge(ctx, todo.Writer{Person: true}, list); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("34: by another principal: %v", err)
	}
	if n, err := lists.Purge(ctx, todo.Writer{Person: true}, list); n != 1 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if got, err := watcher.Next(ctx); err != nil || len(got) != 1 || !got[0].Deleted || len(got[0].Items) > 0 || got[0].Title() != todo.Untitled {
		t.Errorf("a watcher received %+v, %v", got, err)
	}
	if got, err := d.store.History(ctx, list, 0, 0); err != nil || len(got) != 1 || got[0].Revision != 3 {
		t.Errorf("%d revisions are left, %v", len(got), err)
	}
	if next := a.writes("c:Secret i:B").After; next.List.ID == list || next.Revision != 1 {
		t.Error("its agent wrote the purged list")
	}
}

// More lists than one transaction removes are purged all the same.
func TestPurgeMany(t *testing.T) {
	d := newDesk(t)
	ids := []string{"unknown"}
	for n := range 120 {
		id := fmt.Sprint(n)
		if _, err := storetest.Save(t.Context(), d.store, todo.Snapshot{List: todo.List{ID: id}, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	lists := d.board("p1").Everyone()
	if n, err := lists.Purge(t.Context(), todo.Writer{}, ids...); n != 0 || !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("with an unknown one: %d, %v", n, err)
	}
	n, err := lists.Purge(t.Context(), todo.Writer{}, ids[1:]...)
	if left, _ := lists.Find(t.Context(), todo.Query{}); n != 120 || err != nil || len(left) > 0 {
		t.Errorf("purged %d, %v; %d are left", n, err, len(left))
	}
}

// BAD-INPUT 65: a list that a person looked at is not abandoned.
//
// BAD-INPUT 65: 20,000 lists in half a minute, so that `--max-lists` or `--max-size`
// is reached → Lists that are there go on, in the last tenth of `--max-size`; a list
// that begins takes the place of abandoned ones (one revision, older than an hour,
// shown to nobody but who began it); else the refusal names the setting and `todo-mcp
// prune`
func TestLookedAtListsStay(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A").After
	a.lists().Look(t.Context(), list)
	a.writes("p:X p:Y")
	on, err := d.store.CursorsOn(context.Background(), "", list.List.ID)
	if err != nil || len(on) != 2 {
		t.Errorf("65: cursors %+v, %v", on, err)
	}
}
