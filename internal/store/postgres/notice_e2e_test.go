//go:build e2e

package postgres

import (
	"testing"
	"time"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// A save hints nobody who watches which lists are current, also at another server.
func TestNoticesHaveATopic(t *testing.T) {
	a, b := both(t)
	await(t, "both to listen", func() (ok bool) {
		const listening = `SELECT count(*) = 2 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle' AND datname = current_database()`
		if err := a.pool.QueryRow(t.Context(), listening).Scan(&ok); err != nil {
			t.Fatal(err)
		}
		return ok
	})
	if _, err := storetest.Save(t.Context(), b, snapshot("b", 1)); err != nil {
		t.Fatal(err)
	}
	await(t, "b to receive notices", func() bool { return b.NoticeLag() == 0 })
	saved, _ := b.notices.watchers[saves].Add()
	moved, _ := b.notices.watchers[currents].Add()
	if _, err := storetest.Save(t.Context(), a, snapshot("a", 1)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-saved:
	case <-time.After(20 * time.Second):
		t.Fatal("a save: no hint")
	}
	if len(moved) > 0 {
		t.Error("a save hints others")
	}
}

// Who watches current lists is hinted when a conversation comes to hold another list,
// and not for what else is written of the list that it holds, or shown to it.
func TestWhatMovesHints(t *testing.T) {
	s := fresh(t)
	s.notices.stop() // hints here do not need them, and listening would cause more
	hinted, _ := s.notices.watchers[currents].Add()
	for _, step := range []struct {
		what   string
		save   todo.Snapshot
		cursor todo.Cursor
		hints  int
	}{
		{"began", snapshot("a", 1), todo.Cursor{List: "a", Current: true}, 1},
		{"written again", snapshot("a", 2), todo.Cursor{List: "a", Current: true}, 0},
		{"shown another", snapshot("b", 1), todo.Cursor{List: "b"}, 0},
		{"held the other", snapshot("b", 2), todo.Cursor{List: "b", Current: true}, 1},
		{"back", snapshot("a", 3), todo.Cursor{List: "a", Current: true}, 1},
	} {
		step.cursor.Key = todo.Key{Principal: "p", Conversation: "c"}
		if _, err := storetest.Save(t.Context(), s, step.save, step.cursor); err != nil {
			t.Fatal(err)
		}
		if len(hinted) != step.hints {
			t.Errorf("%s: %d hints", step.what, len(hinted))
		}
		for len(hinted) > 0 {
			<-hinted
		}
	}
}
