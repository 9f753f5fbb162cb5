package storetest

import (
	"errors"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// RunKeep tests that a store obeys the limits of board.Keep. open returns an empty store with the limits in keep; the
// suite closes the store.
func RunKeep(t *testing.T, open func(t testing.TB, keep board.Keep) board.Store) {
	start := func(t *testing.T, keep board.Keep) board.Store {
		s := open(t, keep)
		t.Cleanup(func() { s.Close() })
		return s
	}
	t.Run("revisions", func(t *testing.T) {
		s := start(t, board.Keep{Revisions: 3})
		for n := range int64(10) {
			mustSave(t, s, list("a", "x", n+1))
		}
		checkKept(t, s, 8, 10)
		if _, err := s.Load(t.Context(), "a", 7); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("a revision that is not kept: %v", err)
		}
		if got, err := s.Load(t.Context(), "a", 9); err != nil || got.Revision != 9 {
			t.Errorf("a kept revision: %d, %v", got.Revision, err)
		}
		if _, err := Save(t.Context(), s, list("a", "x", 4)); err == nil {
			t.Error("a revision that is not kept was saved again")
		}
	})
	t.Run("deleted lists", func(t *testing.T) { trash(t, start(t, board.Keep{})) })
	t.Run("BAD-INPUT 65 chats without a list", func(t *testing.T) { bareChats(t, start(t, board.Keep{})) })
	t.Run("newest keys", func(t *testing.T) { newestKeys(t, start(t, board.Keep{})) })
	runQuotas(t, start)
	t.Run("BAD-INPUT 65 lists", func(t *testing.T) {
		s := start(t, board.Keep{Lists: 2})
		mustSave(t, s, list("a", "x", 1))
		err := s.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error {
			if _, err := tx.Save(t.Context(), list("b", "y", 1)); err != nil {
				return err
			}
			_, err := tx.Save(t.Context(), list("c", "z", 1))
			return err
		})
		if !errors.Is(err, board.ErrTooManyLists) {
			t.Errorf("45: a second and a third list at once: %v", err)
		}
		mustSave(t, s, list("b", "y", 1))
		if _, err := Save(t.Context(), s, list("c", "z", 1)); !errors.Is(err, board.ErrTooManyLists) {
			t.Errorf("45: a third list: %v", err)
		}
		mustSave(t, s, list("a", "x", 2))
		foreign := list("d", "x", 1)
		foreign.List.Principal = "somebody"
		mustSave(t, s, foreign)
	})
}

func checkKept(t *testing.T, s board.Store, from, to int64) {
	t.Helper()
	got, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(got) == 0 || got[0].Revision != from || got[len(got)-1].Revision != to || int64(len(got)) != to-from+1 {
		t.Errorf("kept %d revisions, %v; want %d to %d", len(got), err, from, to)
	}
}
