package todo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

func person() todo.Writer { return todo.Writer{Client: "panel", Person: true} }

func title(text string) todo.Edit { return todo.Edit{Do: todo.EditRename, Text: text} }

func checkErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A person gives a list a title, which stays when its agent writes; an agent is
// not told, since its items are the same.
func TestRename(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A p:B").After.List.ID
	out, err := a.lists().Edit(context.Background(), list, title(" Ship\nit "), person())
	checkErr(t, err)
	if got := out.After.Title(); got != "Ship it" || !out.Changed {
		t.Errorf("title %q, changed %v", got, out.Changed)
	}
	next := a.writes("c:A i:B")
	if got := next.After.Title(); got != "Ship it" || len(next.Unseen) > 0 {
		t.Errorf("after a write: title %q, unseen %v", got, next.Unseen)
	}
	for _, bad := range []string{strings.Repeat("x", todo.MaxTitle+1), "a\x00b", "a\xff"} {
		var refused *todo.InputError
		if _, err := a.lists().Edit(context.Background(), list, title(bad), person()); !errors.As(err, &refused) {
			t.Errorf("title %.10q: %v", bad, err)
		}
	}
	out, err = a.lists().Edit(context.Background(), list, title(""), person())
	checkErr(t, err)
	if got := out.After.Title(); got != "A" {
		t.Errorf("without a given title: %q", got)
	}
}

// A title and an archived state do not depend on each other, and a change of the
// items brings a list back to the board.
func TestArchiveAndBack(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A p:B").After.List.ID
	apply := func(out todo.Outcome, err error) todo.Snapshot {
		t.Helper()
		checkErr(t, err)
		return out.After
	}
	ctx := context.Background()
	apply(a.lists().Archive(ctx, list, true, person()))
	if s := apply(a.lists().Edit(ctx, list, title("T"), person())); !s.Archived {
		t.Error("a new title brought the list back")
	}
	if s := apply(a.lists().Archive(ctx, list, false, person())); s.Archived {
		t.Error("the list is still archived")
	}
	apply(a.lists().Archive(ctx, list, true, person()))
	if s := a.writes("c:A i:B").After; s.Archived || s.GivenTitle != "T" {
		t.Errorf("after the agent wrote: archived %v, title %q", s.Archived, s.GivenTitle)
	}
}

// Nothing finds a deleted list, and its agent begins another one. It can be
// brought back with its history.
func TestDeleteAndBack(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	first := a.writes("p:A p:B").After
	ctx, lists := context.Background(), a.lists()
	watcher := lists.Watch(nil)
	defer watcher.Close()
	_, err := lists.Delete(ctx, first.List.ID, true, person())
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
	_, err = lists.Delete(ctx, first.List.ID, false, person())
	checkErr(t, err)
	if s, err := lists.Load(ctx, first.List.ID, 0); err != nil || show(s) != show(first) || s.Revision != 3 {
		t.Errorf("brought back: revision %d of %q, %v", s.Revision, show(s), err)
	}
	if _, err := d.board("p9").As("somebody").Delete(ctx, first.List.ID, true, person()); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("34: by another principal: %v", err)
	}
}

// With a list those of its sub-agents are deleted, and come back; not once its
// conversation holds another list, whose they are then.
func TestDeleteWithSubAgents(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	main := a.writes("p:A p:B").After.List.ID
	out, err := a.lists().Apply(context.Background(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "a/agent:x"}, Agent: "x"},
		Begin: todo.List{ParentConversation: "a"}, Change: func(c *todo.Draft) error { c.Append("S"); return nil }})
	checkErr(t, err)
	remove := func(away bool, want string) {
		t.Helper()
		_, err := a.lists().Delete(context.Background(), main, away, person())
		checkErr(t, err)
		got := ""
		for _, id := range []string{main, out.After.List.ID} {
			s, err := d.store.Load(context.Background(), id, 0)
			checkErr(t, err)
			got += fmt.Sprintf(" %v/%d", s.Deleted, s.Revision)
		}
		if got != want {
			t.Errorf("deleted and revision of main and sub-agent's list:%s, want%s", got, want)
		}
	}
	remove(true, " true/2 true/2")
	remove(true, " true/2 true/2")
	remove(false, " false/3 false/3")
	remove(true, " true/4 true/4")
	a.writes("p:Another p:Plan")
	remove(false, " false/5 true/4")
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

// BAD-INPUT 65: a list that a person looked at is not abandoned.
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

// What a person blocked is not begun by an agent that has not seen it, whether it
// writes the whole list or the item; it is told. What it completed is completed.
func TestABlockIsNotUndoneUnseen(t *testing.T) {
	block := func(a chat, list string) {
		t.Helper()
		_, err := a.lists().Apply(context.Background(), todo.Write{Target: todo.Target{List: list}, Writer: person(),
			Change: func(c *todo.Draft) error { c.Block("1", "no key"); return nil }})
		checkErr(t, err)
	}
	begin := todo.Write{Target: todo.Target{Item: "1"}, Change: func(c *todo.Draft) error { c.SetStatus("1", todo.InProgress); return nil }}
	for name, write := range map[string]func(a chat) todo.Outcome{
		"whole list": func(a chat) todo.Outcome { return a.writes("i:A p:B") },
		"item": func(a chat) todo.Outcome {
			w := begin
			w.Conversation = a.who
			out, err := a.lists().Apply(context.Background(), w)
			checkErr(t, err)
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newDesk(t).hint("p1", "process:1")
			list := a.writes("p:A p:B").After.List.ID
			block(a, list)
			out := write(a)
			if item, _ := out.After.Item("1"); item.Status != todo.Blocked || item.Reason != "no key" {
				t.Errorf("unseen: %+v", item)
			}
			if len(out.Unseen) != 1 || out.By != todo.People {
				t.Errorf("the agent was told %+v by %q", out.Unseen, out.By)
			}
			if item, _ := write(a).After.Item("1"); item.Status != todo.InProgress {
				t.Errorf("seen: %+v", item)
			}
		})
	}
	a := newDesk(t).hint("p1", "process:1")
	block(a, a.writes("i:A p:B").After.List.ID)
	if item, _ := a.writes("c:A p:B").After.Item("1"); item.Status != todo.Completed {
		t.Errorf("completed: %+v", item)
	}
}
