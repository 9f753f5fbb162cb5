//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// most is how many subscriptions a session of these tests may have.
const most = 5

// subscribe subscribes a session to the nth list.
func subscribe(s *Store, session string, n int) error {
	return s.Subscribe(context.Background(), todo.Subscription{Session: session, URI: fmt.Sprint("todo://lists/", n)}, most)
}

// BAD-INPUT 64: a session has a limited number of subscriptions, whichever server
// they come to.
func TestSubscriptionsAreBounded(t *testing.T) {
	a, b := both(t)
	stores := []*Store{a, b}
	var refused atomic.Int64
	var all sync.WaitGroup
	for n := range 4 * most {
		all.Go(func() {
			switch err := subscribe(stores[n%2], "s", n); {
			case errors.Is(err, todo.ErrTooManySubscriptions):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if refused.Load() != 3*most {
		t.Errorf("64: %d of %d refused", refused.Load(), 4*most)
	}
	held, err := stores[0].SubscriptionsOf(t.Context(), []string{"s"})
	if err != nil || len(held) != most {
		t.Fatal(held, err)
	}
	if err := stores[1].Subscribe(t.Context(), held[0], most); err != nil {
		t.Errorf("the same again: %v", err)
	}
}

// BAD-INPUT 64: what a session ended is stored no more, nor what no stream asked for
// in a long time; a subscription of each conversation counts.
func TestEndedSubscriptionsGo(t *testing.T) {
	s := fresh(t)
	stored := func(session string) int {
		t.Helper()
		found, err := s.SubscriptionsOf(t.Context(), []string{session, "other"})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for n := range most {
		if err := subscribe(s, "s", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Unsubscribe(t.Context(), "s", "todo://lists/0"); err != nil || stored("s") != most-1 {
		t.Errorf("one ended: %d, %v", stored("s"), err)
	}
	if err := s.Unsubscribe(t.Context(), "s", ""); err != nil || stored("s") != 0 {
		t.Errorf("all ended: %d, %v", stored("s"), err)
	}
	for n := range 2 {
		sub := todo.Subscription{Session: "two", URI: "todo://list", Conversation: todo.Conversation{Key: fmt.Sprint("c", n)}}
		if err := s.Subscribe(t.Context(), sub, 2); err != nil || stored("two") != n+1 {
			t.Errorf("conversation %d: %d, %v", n, stored("two"), err)
		}
	}
	if _, err := s.pool.Exec(t.Context(), `UPDATE todo_mcp.subscriptions SET at = at - $1`, todo.CursorAge.Nanoseconds()+1); err != nil {
		t.Fatal(err)
	}
	if err := subscribe(s, "new", 0); err != nil || stored("new") != 1 || stored("two") != 0 {
		t.Errorf("%d new, %d old, %v", stored("new"), stored("two"), err)
	}
}

// A save hints nobody who watches subscriptions, nor the other way round, also at
// another server.
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
	await(t, "b to receive notices", func() bool {
		b.notices.lag.mu.Lock()
		defer b.notices.lag.mu.Unlock()
		return b.notices.lag.last > 0
	})
	saved, _ := b.notices.watchers[saves].Add()
	subscribed, _ := b.notices.watchers[sessions].Add()
	only := func(what string, hinted, other chan struct{}) {
		t.Helper()
		select {
		case <-hinted:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no hint", what)
		}
		if len(other) > 0 {
			t.Errorf("%s hints others", what)
		}
	}
	if _, err := storetest.Save(t.Context(), a, snapshot("a", 1)); err != nil {
		t.Fatal(err)
	}
	only("a save", saved, subscribed)
	if err := a.Subscribe(t.Context(), todo.Subscription{Session: "s", URI: "todo://lists"}, 1); err != nil {
		t.Fatal(err)
	}
	only("a subscription", subscribed, saved)
}

// Who watches subscriptions is hinted when a conversation comes to hold another list,
// and not for what else is written of the list that it holds, or shown to it.
func TestWhatMovesHints(t *testing.T) {
	s := fresh(t)
	s.notices.stop() // hints here do not need them, and listening would cause more
	hinted, _ := s.notices.watchers[sessions].Add()
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
