//go:build e2e

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

// The lag of notices grows as long as a save's notice does not come back.
func TestNoticeLag(t *testing.T) {
	s := fresh(t)
	if lag := s.NoticeLag(); lag != 0 {
		t.Errorf("before any save: %v", lag)
	}
	must(storetest.Save(t.Context(), s, snapshot("a", 1)))(t)
	await(t, "the notice to come back", func() bool { return s.NoticeLag() == 0 })
	// A notice that was sent while nobody listened never comes: it is waited for no more
	// when this server listens again.
	s.notices.since.Store(time.Now().Add(-time.Hour).UnixNano())
	if s.NoticeLag() < time.Hour {
		t.Error("it is not waited for")
	}
	must(s.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`))(t)
	await(t, "the lag to end", func() bool { return s.NoticeLag() == 0 })
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
