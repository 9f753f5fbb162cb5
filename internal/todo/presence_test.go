package todo_test

import (
	"context"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// expectLeft checks whether a list is left open.
func (d *desk) expectLeft(list string, want bool) {
	d.t.Helper()
	lists := d.board("viewer").As("")
	s, err := lists.Load(context.Background(), list, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	if got, err := lists.States(context.Background(), s); (got[list] == todo.LeftOpen) != want || err != nil {
		d.t.Errorf("%q is %q, %v", show(s), got[list], err)
	}
}

// An open list that its chat put away for another is left behind when a person brings
// it back, and no more when a conversation takes it up again. A settled one never is.
func TestAChatLeavesItsListBehind(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	first := a.writes("i:A p:B").After.List.ID
	d.expectLeft(first, false)
	second := a.writes("p:X p:Y").After
	d.expectLeft(first, false) // it is put away
	d.expectLeft(second.List.ID, false)
	if _, err := a.lists().Archive(context.Background(), first, false, todo.Writer{Person: true}); err != nil {
		t.Fatal(err)
	}
	d.expectLeft(first, true)
	b := d.proof("b")
	left, err := b.lists().Load(context.Background(), first, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.resumes(left)
	d.expectLeft(first, false)
	b.resumes(second)
	d.expectLeft(first, true)
	a.writes("c:X c:Y")
	d.proof("b").writes("p:New")
	d.expectLeft(second.List.ID, false)
}

// A list is left behind when the process that served its chat ends, and no more
// when the chat goes on in another process.
func TestAProcessLeavesItsListBehind(t *testing.T) {
	d := newDesk(t)
	a, proof := d.hint("p2", "chat:x"), d.proof("session:a")
	list, kept := a.writes("i:A p:B").After.List.ID, proof.writes("p:A").After.List.ID
	d.stop("p2")
	d.expectLeft(list, true)
	d.hint("p3", "chat:x").writes("c:A i:B")
	d.expectLeft(list, false)
	d.stop("p1")
	d.expectLeft(kept, true)
}

// A chat over HTTP is there for a while after its last call, and for as long as it
// has a stream; not when it has said that it ends.
func TestASessionLeavesItsListBehind(t *testing.T) {
	d := newDesk(t)
	a := d.proof("session:a")
	a.who.Lasts = time.Hour
	list := a.writes("i:A p:B").After.List.ID
	at := func(minutes int) { d.now = d.now.Add(time.Duration(minutes) * time.Minute) }
	at(59)
	d.expectLeft(list, false)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.lists().Stay(context.Background(), a.who))
	at(59)
	d.expectLeft(list, false)
	at(1)
	d.expectLeft(list, true)
	a.writes("c:A i:B")
	d.expectLeft(list, false)
	must(a.lists().Leave(context.Background(), a.who))
	d.expectLeft(list, true)
	if got := a.writes("c:A c:B").After.List.ID; got != list {
		t.Errorf("when it came back it wrote %q, not its list %q", got, list)
	}
}

// Where several chats share a key, one that writes its own list does not leave
// that of another behind; a list that rests does, and all do that are left by
// their process.
func TestASharedKeyLeavesWhatRests(t *testing.T) {
	d := newDesk(t)
	a := d.shared("p1")
	first, second := a.writes("p:A p:B").After.List.ID, a.writes("p:X p:Y").After.List.ID
	d.expectLeft(first, false)
	d.expectLeft(second, false)
	d.now = d.now.Add(todo.SharedRest + time.Second)
	d.expectLeft(first, true)
	d.expectLeft(second, false)
	a.writes("c:A p:B")
	d.expectLeft(first, false)
	d.expectLeft(second, true)
	a.writes("c:X p:Y")
	d.stop("p1")
	d.expectLeft(first, true)
	d.expectLeft(second, true)
}

// The agent that runs commands is there for a while after the last one, although the
// process of that has ended.
func TestADetachedConversationLeavesItsListBehind(t *testing.T) {
	d := newDesk(t)
	a := d.proof("dir:/w")
	a.who.Lasts, a.who.Detached = time.Hour, true
	list := a.writes("i:A p:B").After.List.ID
	d.stop("p1")
	d.now = d.now.Add(59 * time.Minute)
	d.expectLeft(list, false)
	d.now = d.now.Add(time.Minute)
	d.expectLeft(list, true)
}

// A named list is left behind when all that write it have ended.
func TestANamedListIsLeftBehindByAll(t *testing.T) {
	d := newDesk(t)
	first, second := d.hint("p1", "process:1@name:release"), d.hint("p2", "process:2@name:release")
	first.who.Name, second.who.Name = "release", "release"
	first.writes("p:C p:D")
	list := second.writes("i:C p:D").After.List.ID
	d.stop("p2")
	d.expectLeft(list, false)
	d.stop("p1")
	d.expectLeft(list, true)
}
