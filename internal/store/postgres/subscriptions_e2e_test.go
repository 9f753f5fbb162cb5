//go:build e2e

package postgres

import (
	"fmt"
	"testing"
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
