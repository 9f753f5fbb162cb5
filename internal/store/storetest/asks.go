package storetest

import (
	"errors"
	"testing"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// asks tests that what an agent asks is stored with the newest revision, as often as it
// changes, is read like it, and makes no revision.
func asks(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1))
	next := mustSave(t, s, list("a", "x", 2))
	other := mustSave(t, s, list("b", "x", 1))
	for _, question := range []string{"push?", "", "tag it?"} {
		next.Asks, next.Rests = question, question == ""
		next.Said++
		next = mustSave(t, s, next)
	}
	found, err := s.Find(t.Context(), board.Query{AfterSeq: other.Seq})
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "what changed", []todo.Snapshot{next}, found)
	loaded, err := s.Load(t.Context(), "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "the newest", next, loaded)
	short, err := s.Find(t.Context(), board.Query{Excerpt: true, Limit: 1})
	if err != nil || len(short) != 1 || short[0].Asks != "tag it?" || short[0].Seq != next.Seq {
		t.Errorf("excerpts %+v, %v", short, err)
	}
	kept, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(kept) != 2 || kept[1].Asks != "tag it?" || kept[0].Asks != "" {
		t.Errorf("history %+v, %v", kept, err)
	}
	stale := next
	stale.Revision--
	stale.Said++
	for _, wrong := range []todo.Snapshot{next, stale} {
		if _, err := Save(t.Context(), s, wrong); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("revision %d, said %d: %v", wrong.Revision, wrong.Said, err)
		}
	}
	third := mustSave(t, s, list("a", "x", 3))
	checkEqual(t, "the next revision", int64(3), third.Revision)
}
