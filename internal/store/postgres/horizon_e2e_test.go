//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// hold begins a transaction in a database that changes something and stays open.
func hold(t *testing.T, address, statement string) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), address))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	must(conn.Exec(t.Context(), "BEGIN; "+statement))(t)
}

// Who goes on from a Seq misses no chat and no list, whichever of both was given its Seq first
// and is committed last. All that is committed is read at once by who does not ask what is new.
// Transactions of other programs, in another database of the cluster or in this one, hold up
// nobody.
func TestHorizon(t *testing.T) {
	address := newDatabase(t)
	s := open(t, address)
	t.Cleanup(func() { s.Close() })
	ctx := t.Context()
	must(s.pool.Exec(ctx, `CREATE TABLE theirs (n int)`))(t)
	hold(t, server(t).Address("postgres"), `SELECT pg_current_xact_id()`)
	hold(t, address, `INSERT INTO theirs VALUES (1)`)
	saveChat := func(id string) func(board.Tx) error {
		return func(tx board.Tx) error { _, err := tx.SaveChat(ctx, todo.Chat{ID: id, Used: time.Now()}); return err }
	}
	saveList := func(id string) func(board.Tx) error {
		return func(tx board.Tx) error { _, err := tx.Save(ctx, snapshot(id, 1)); return err }
	}
	if err := s.Update(ctx, board.Key{}, saveList("first")); err != nil { // which finds its place, alone
		t.Fatal(err)
	}
	position := must(s.Position(ctx))(t)
	shown := func(after int64) string {
		lists, err1 := s.Find(ctx, board.Query{AfterSeq: after, OldestFirst: true})
		chats, err2 := s.Chats(ctx, board.ChatQuery{AfterSeq: after})
		check(t, errors.Join(err1, err2))
		return fmt.Sprint(len(lists), len(chats))
	}
	for n, c := range []struct {
		slow, quick  func(board.Tx) error
		before, then string
		both         string // what is new to who came while neither was committed
	}{
		{saveChat("slow"), saveList("quick"), "0 0", "1 1", "1 1"},
		{saveList("slow list"), saveChat("quick chat"), "1 1", "2 2", "1 1"},
		{saveChat("slow 2"), saveChat("quick 2"), "2 2", "2 4", "0 2"},
		{saveList("slow list 2"), saveList("quick list 2"), "2 4", "4 4", "2 0"},
	} {
		var meanwhile int64
		err := s.Update(ctx, board.Key{Chat: fmt.Sprint("slow", n)}, func(tx board.Tx) error {
			_, isRead := tx.Chats(ctx, board.ChatQuery{}) // so that it has a Seq, and is stored
			err := errors.Join(c.slow(tx), isRead, s.Update(ctx, board.Key{Chat: fmt.Sprint("quick", n)}, c.quick))
			if got := shown(position); got != c.before {
				t.Errorf("%d: shown although one before it is not committed: %s, want %s", n, got, c.before)
			}
			var err1 error
			meanwhile, err1 = s.Position(ctx)
			all, err2 := s.Chats(ctx, board.ChatQuery{})
			if len(all) != []int{0, 2, 3, 4}[n] {
				t.Errorf("%d: %d chats are read", n, len(all))
			}
			return errors.Join(err, err1, err2)
		})
		check(t, err)
		if got := shown(position); got != c.then {
			t.Errorf("%d: shown in the end: %s, want %s", n, got, c.then)
		}
		if got := shown(meanwhile); got != c.both {
			t.Errorf("%d: shown to who came meanwhile: %s, want %s", n, got, c.both)
		}
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
