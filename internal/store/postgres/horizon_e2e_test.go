//go:build e2e

package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/board"
	"todo-mcp/internal/store/storetest"
)

// hold begins a transaction in a database that changes something and stays open.
func hold(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "BEGIN; "+statement); err != nil {
		t.Fatal(err)
	}
}

// Watchers are shown what is saved while a transaction of another program is open, in
// another database of the cluster or in this one: only who may still save holds them up.
func TestHorizon(t *testing.T) {
	address := newDatabase(t)
	s := open(t, address)
	t.Cleanup(func() { s.Close() })
	if _, err := s.pool.Exec(t.Context(), `CREATE TABLE theirs (n int)`); err != nil {
		t.Fatal(err)
	}
	hold(t, server(t).Address("postgres"), `SELECT pg_current_xact_id()`)
	hold(t, address, `INSERT INTO theirs VALUES (1)`)
	shown := func() (lists []string) {
		t.Helper()
		found, err := s.Find(t.Context(), board.Query{OldestFirst: true, AfterSeq: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found {
			lists = append(lists, l.List.ID)
		}
		return lists
	}
	save := func(list string) {
		t.Helper()
		saved, err := storetest.Save(t.Context(), s, snapshot(list, 1))
		if err != nil {
			t.Fatal(err)
		}
		if position, err := s.Position(t.Context()); err != nil || position < saved.Seq && len(shown()) > 0 {
			t.Errorf("position %d, %v, after a save of %d", position, err, saved.Seq)
		}
	}
	save("a")
	if lists := shown(); len(lists) != 1 {
		t.Errorf("shown beside transactions of others: %q", lists)
	}
	// A save that has its seq, and is not committed, holds up those after it.
	err := s.Update(t.Context(), board.Key{Conversation: "slow"}, func(tx board.Tx) error {
		if _, err := tx.Save(t.Context(), snapshot("slow", 1)); err != nil {
			return err
		}
		if _, err := storetest.Save(t.Context(), s, snapshot("b", 1)); err != nil {
			return err
		}
		if lists := shown(); len(lists) != 1 {
			t.Errorf("shown although one before it is not committed: %q", lists)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if lists := shown(); len(lists) != 3 {
		t.Errorf("shown in the end: %q", lists)
	}
}

// A setting that may lose a commit is told by its name.
func TestUnsafe(t *testing.T) {
	if setting, err := fresh(t).Unsafe(t.Context()); err != nil || strings.Contains(setting, "synchronous_commit") {
		t.Errorf("by default: %q, %v", setting, err)
	}
	address := newDatabase(t)
	s := open(t, address+"&options=-csynchronous_commit%3Doff")
	t.Cleanup(func() { s.Close() })
	if setting, err := s.Unsafe(t.Context()); err != nil || !strings.Contains(setting, "synchronous_commit = off") {
		t.Errorf("switched off: %q, %v", setting, err)
	}
}
