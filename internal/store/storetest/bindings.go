package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"todo-mcp/internal/todo"
)

// holds returns the binding by which a conversation begins to hold a list; an
// empty list is the one that is saved. over is the list that it held.
func holds(conversation, list, over string) todo.Binding {
	return todo.Binding{Conversation: conversation, List: list, Seen: 1, Moves: true, Over: over}
}

func checkBindings(t *testing.T, what string, want []todo.Binding, got []todo.Binding, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(todo.Binding{}, "At", "Moved"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
	for _, b := range got {
		if age := time.Since(b.At); age < -time.Second || age > time.Minute {
			t.Errorf("%s: stored at %v", what, b.At)
		}
	}
}

// bindings tests that a save stores its bindings or neither, that a list begins
// only over the list that its conversation held, and what reads return.
func bindings(t *testing.T, s todo.Store) {
	of := func(conversation string, want ...todo.Binding) {
		t.Helper()
		got, err := s.Bindings(t.Context(), "", conversation)
		checkBindings(t, "bindings of "+conversation, want, got, err)
	}
	of("x")
	save := func(next todo.Snapshot, b ...todo.Binding) error {
		_, err := s.Save(t.Context(), next, b...)
		return err
	}
	if err := save(list("a", "w", 1), holds("x", "", "")); err != nil {
		t.Fatal(err)
	}
	a := todo.Binding{Conversation: "x", List: "a", Seen: 1}
	of("x", a)
	var conflict *todo.ConflictError
	if err := save(list("b", "w", 1), holds("x", "", "")); !errors.As(err, &conflict) || conflict.Current.List.ID != "a" {
		t.Errorf("a list begun over another one: %v", err)
	}
	of("x", a)
	if err := save(list("b", "w", 1), holds("x", "", "a"), todo.Binding{Conversation: "y", List: "a", Seen: 4, Process: "p", Moves: true}); err != nil {
		t.Fatal(err)
	}
	b := todo.Binding{Conversation: "x", List: "b", Seen: 1}
	of("x", b, a)
	// A save that fails stores no binding.
	if err := save(list("a", "w", 1), holds("z", "", "")); !errors.As(err, &conflict) {
		t.Errorf("an old revision: %v", err)
	}
	of("z")
	// Seen does not go back, a binding that does not move stays behind, and an
	// empty process does not replace one.
	if err := s.Bind(t.Context(), todo.Binding{Conversation: "x", List: "a", Seen: 3}, todo.Binding{Conversation: "y", List: "a", Seen: 2}); err != nil {
		t.Fatal(err)
	}
	a.Seen = 3
	of("x", b, a)
	y := todo.Binding{Conversation: "y", List: "a", Seen: 4, Process: "p"}
	of("y", y)
	holders := func(list string, want ...todo.Binding) {
		t.Helper()
		got, err := s.Holders(t.Context(), "", list)
		checkBindings(t, "holders of "+list, want, got, err)
	}
	holders("a", y)
	holders("b", b)
	holders("c")
	// A conversation may let go of its list, and take an earlier one again.
	if err := s.Bind(t.Context(), todo.Binding{Conversation: "x", Moves: true}); err != nil {
		t.Fatal(err)
	}
	of("x", todo.Binding{Conversation: "x"}, b, a)
	holders("b")
	if err := s.Bind(t.Context(), todo.Binding{Conversation: "x", List: "a", Moves: true}); err != nil {
		t.Fatal(err)
	}
	holders("a", a, y)
	holders("", a, y)
	// What an agent was only shown is not held.
	if err := s.Bind(t.Context(), todo.Binding{Conversation: "reader", List: "b", Seen: 1}); err != nil {
		t.Fatal(err)
	}
	of("reader", todo.Binding{Conversation: "reader", List: "b", Seen: 1})
	holders("b")
	if got, _ := s.Bindings(t.Context(), "", "reader"); len(got) != 1 || got[0].Moved != 0 {
		t.Errorf("a list only shown is held: %+v", got)
	}
	if err := save(list("d", "w", 1), holds("reader", "", "")); err != nil {
		t.Errorf("a first list after one was shown: %v", err)
	}
	// Principals are walled off from each other.
	if got, err := s.Bindings(t.Context(), "somebody", "x"); err != nil || len(got) > 0 {
		t.Errorf("another principal's bindings: %v, %v", got, err)
	}
	if got, err := s.Holders(t.Context(), "somebody", "a"); err != nil || len(got) > 0 {
		t.Errorf("another principal's holders: %v, %v", got, err)
	}
}

// parents tests that the parent of a sub-agent's list is the list that the main
// agent's conversation holds at the time of the read.
func parents(t *testing.T, s todo.Store) {
	sub := list("sub", "w", 1)
	sub.List.ParentConversation, sub.List.Parent = "main", "never stored"
	check := func(want string) {
		t.Helper()
		got, err := s.Load(t.Context(), "sub", 0)
		if err != nil || got.List.Parent != want {
			t.Errorf("parent %q, want %q, %v", got.List.Parent, want, err)
		}
		if want == "" {
			return
		}
		found, err := s.Find(t.Context(), todo.Query{Parent: want})
		if err != nil || len(found) != 1 || found[0].List.Parent != want {
			t.Errorf("sub-lists of %s: %v, %v", want, found, err)
		}
	}
	if saved := mustSave(t, s, sub); saved.List.Parent != "" {
		t.Errorf("saved with parent %q", saved.List.Parent)
	}
	check("")
	if _, err := s.Save(t.Context(), list("m1", "w", 1), holds("main", "", "")); err != nil {
		t.Fatal(err)
	}
	check("m1")
	if _, err := s.Save(t.Context(), list("m2", "w", 1), holds("main", "", "m1")); err != nil {
		t.Fatal(err)
	}
	check("m2")
	if found, err := s.Find(t.Context(), todo.Query{Parent: "m1"}); err != nil || len(found) > 0 {
		t.Errorf("sub-lists of the list held before: %v, %v", found, err)
	}
	sub.Revision = 2
	if saved := mustSave(t, s, sub); saved.List.Parent != "m2" {
		t.Errorf("saved again with parent %q", saved.List.Parent)
	}
	sub.Revision = 3
	back := holds("main", "m1", "m2")
	if saved, err := s.Save(t.Context(), sub, back); err != nil || saved.List.Parent != "m1" {
		t.Errorf("saved with a binding that moves the parent: %q, %v", saved.List.Parent, err)
	}
}

func hostCalls(t *testing.T, s todo.Store) {
	want := todo.HostCall{ID: "toolu_1", Session: "s", Agent: "a", Folder: "/w"}
	now := time.Now()
	if err := s.NoteHostCall(t.Context(), "", want, now); err != nil {
		t.Fatal(err)
	}
	if got, err := s.HostCall(t.Context(), "", "toolu_1"); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct{ principal, id string }{{"", "other"}, {"somebody", "toolu_1"}} {
		if got, err := s.HostCall(t.Context(), c.principal, c.id); err != nil || got != (todo.HostCall{}) {
			t.Errorf("%v: %+v, %v", c, got, err)
		}
	}
	if err := s.NoteHostCall(t.Context(), "", todo.HostCall{ID: "early"}, now.Add(-2*todo.HostCallAge)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.HostCall(t.Context(), "", "early"); err != nil || got != (todo.HostCall{}) {
		t.Errorf("after its age: %+v, %v", got, err)
	}
}

func alive(t *testing.T, s todo.Store) {
	if s.Alive("p") {
		t.Error("an unknown process is alive")
	}
	leave, err := s.Attend("p")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // asking does not end it
		if !s.Alive("p") || s.Alive("q") {
			t.Error("the process that attends is not the one that is alive")
		}
	}
	leave()
	if s.Alive("p") {
		t.Error("a process that left is alive")
	}
}
