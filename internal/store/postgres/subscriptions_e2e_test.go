//go:build e2e

package postgres

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"todo-mcp/internal/todo"
)

// Subscriptions are read a page at a time, and none is missed although those of one
// transaction have one Seq.
func TestSubscriptionsArePaged(t *testing.T) {
	s := open(t, newDatabase(t))
	defer s.Close()
	const transactions, each = 5, 3 * pageSize / 7
	for n := range transactions {
		if _, err := s.pool.Exec(t.Context(), `INSERT INTO todo_mcp.subscriptions
			SELECT 's' || $1::int, 'todo://lists/' || u, todo_mcp.seq(), false, '{}', 1 FROM generate_series(1, $2) AS u`, n, each); err != nil {
			t.Fatal(err)
		}
	}
	var after int64
	found := make(map[string]bool)
	for pages := 0; ; pages++ {
		page, err := s.SubscriptionsAfter(t.Context(), after)
		if err != nil || len(page) > pageSize+each {
			t.Fatal(len(page), err)
		}
		if len(page) == 0 {
			if pages < 2 || len(found) != transactions*each {
				t.Errorf("%d in %d pages", len(found), pages)
			}
			return
		}
		for _, one := range page {
			found[fmt.Sprint(one.Session, one.URI)] = true
		}
		after = page[len(page)-1].Seq
	}
}

// BAD-INPUT 64: a session has a limited number of subscriptions, whichever server
// they come to, and of ended ones that are kept for others. What is old goes.
func TestSubscriptionsAreBounded(t *testing.T) {
	url := newDatabase(t)
	a, b := open(t, url), open(t, url)
	defer a.Close()
	defer b.Close()
	const most = 5
	subscribe := func(s *Store, session string, n int) error {
		return s.Subscribe(t.Context(), todo.Subscription{Session: session, URI: fmt.Sprint("todo://lists/", n)}, most)
	}
	var refused atomic.Int64
	var all sync.WaitGroup
	for n := range 4 * most {
		all.Go(func() {
			switch err := subscribe([]*Store{a, b}[n%2], "s", n); {
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
	held, err := a.SubscriptionsOf(t.Context(), "s")
	if err != nil || len(held) != most {
		t.Fatal(held, err)
	}
	if err := b.Subscribe(t.Context(), held[0], most); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := a.Unsubscribe(t.Context(), "s", ""); err != nil {
		t.Fatal(err)
	}
	for n := range 10 * most {
		err1, err2 := subscribe(a, "s", n), a.Unsubscribe(t.Context(), "s", fmt.Sprint("todo://lists/", n))
		if err := errors.Join(err1, err2, a.Unsubscribe(t.Context(), "s", fmt.Sprint("never/", n))); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() (rows int) {
		t.Helper()
		if err := a.pool.QueryRow(t.Context(), `SELECT count(*) FROM todo_mcp.subscriptions`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if rows := stored(); rows > most+1 {
		t.Errorf("64: %d rows are kept of a session without subscriptions", rows)
	}
	if _, err := a.pool.Exec(t.Context(), `UPDATE todo_mcp.subscriptions SET at = at - $1`, endedAge.Nanoseconds()+1); err != nil {
		t.Fatal(err)
	}
	if err := subscribe(b, "another", 1); err != nil || stored() != 1 {
		t.Errorf("%d rows, %v", stored(), err)
	}
}
