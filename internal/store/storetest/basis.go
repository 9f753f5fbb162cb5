package storetest

import (
	"errors"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// basis tests that what a store answers from its memory is what it has stored, also
// after what removes something, and that a save that is based on it succeeds.
func basis(t *testing.T, s todo.Store) {
	for n := int64(1); n <= 4; n++ {
		b := holds("x", "a", "")
		b.Seen = n
		mustSaveOn(t, s, list("a", "w", n), b)
		checkMemory(t, s)
	}
	if err := s.Bind(t.Context(), todo.Binding{Conversation: "y", List: "a", Seen: 3, Process: "p"}, todo.Binding{Conversation: "x", Moves: true, Over: "a"}); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, s)
	sub := list("sub", "w", 1)
	sub.List.ParentConversation = "x"
	mustSaveOn(t, s, sub, holds("z", "", ""))
	mustSaveOn(t, s, list("a", "w", 5), holds("x", "a", "")) // the parent of sub has changed
	checkMemory(t, s)
	if _, err := s.Purge(t.Context(), todo.Writer{Person: true}, time.Now(), "a"); err != nil {
		t.Fatal(err)
	}
	checkMemory(t, s)
}

// mustSaveOn saves what is based on the store's memory of a list and of the
// conversations.
func mustSaveOn(t *testing.T, s todo.Store, next todo.Snapshot, bindings ...todo.Binding) {
	t.Helper()
	ctx := todo.WithBasis(t.Context(), &todo.Basis{})
	if _, err := s.Load(ctx, next.List.ID, 0); err != nil && !errors.Is(err, todo.ErrNotFound) {
		t.Fatal(err)
	}
	for _, b := range bindings {
		if _, err := s.Bindings(ctx, b.Principal, b.Conversation); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Save(ctx, next, bindings...); err != nil {
		t.Fatalf("save %s revision %d on a basis: %v", next.List.ID, next.Revision, err)
	}
}

// checkMemory compares the store's memory with what it has stored.
func checkMemory(t *testing.T, s todo.Store) {
	t.Helper()
	ctx := todo.WithBasis(t.Context(), &todo.Basis{})
	for _, id := range []string{"a", "sub"} {
		stored, storedErr := s.Load(t.Context(), id, 0)
		known, knownErr := s.Load(ctx, id, 0)
		if !errors.Is(knownErr, storedErr) && (knownErr == nil) != (storedErr == nil) {
			t.Errorf("%s in memory: %v, stored %v", id, knownErr, storedErr)
		}
		checkEqual(t, id+" in memory", stored, known)
	}
	for _, conversation := range []string{"x", "y", "z"} {
		stored, err := s.Bindings(t.Context(), "", conversation)
		if err != nil {
			t.Fatal(err)
		}
		known, err := s.Bindings(ctx, "", conversation)
		checkBindings(t, "bindings of "+conversation+" in memory", stored, known, err)
		for i := range min(len(stored), len(known)) {
			checkEqual(t, "binding of "+conversation, stored[i], known[i])
		}
	}
}
