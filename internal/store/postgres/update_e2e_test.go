//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type trips struct{ n atomic.Int64 }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// What a chat writes on its list is two round trips to the database: one that locks
// and reads, and one that stores and commits.
func TestRoundTrips(t *testing.T) {
	s := fresh(t, board.Keep{Revisions: 5, Lists: 100, Begun: 10, Abandoned: time.Hour})
	var c trips
	config := s.pool.Config()
	config.ConnConfig.Tracer = &c
	traced := must(pgxpool.NewWithConfig(t.Context(), config))(t)
	s.pool.Close()
	s.pool, s.Reader = traced, newReader(traced, &s.Health, s.call)
	audited := audit.Store(s, audit.ToWriter(io.Discard, slog.New(slog.DiscardHandler)), false) // which reads nothing either
	lists := board.NewBoard(audited).As("p")
	begin := board.Target{Conversation: board.Conversation{Key: "c"}}
	mirror := board.Target{Conversation: board.Conversation{Key: "c", Mirrors: true}}
	var list string
	for i, step := range []struct {
		what   string
		target func() board.Target
		by     todo.Writer
		want   int64
	}{
		{"a write that begins a list", func() board.Target { return begin }, todo.Writer{}, 5}, // it looks for another of its id and for room, and makes its process known
		{"a write", func() board.Target { return begin }, todo.Writer{}, 2},
		{"the next", func() board.Target { return begin }, todo.Writer{}, 2},
		{"one that mirrors its host's, and begins", func() board.Target { return mirror }, todo.Writer{}, 4},
		{"the next of it", func() board.Target { return mirror }, todo.Writer{}, 2},
		{"a person's", func() board.Target { return board.Target{List: list} }, todo.Writer{Person: true}, 2},
	} {
		lines := []todo.Line{{Text: "one", Status: "pending"}, {Text: fmt.Sprint("step ", i), Status: "pending"}}
		target := step.target()
		if !step.by.Person {
			target.Lines = lines
		}
		view := todo.View{Words: map[todo.Status]string{todo.Pending: "pending"}}
		c.n.Store(0)
		out, err := lists.Apply(t.Context(), board.Write{Target: target, Writer: step.by, Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }})
		if err != nil || !out.Changed {
			t.Fatal(step.what, out, err)
		}
		list = out.After.List.ID
		if got := c.n.Load(); got != step.want {
			t.Errorf("%s: %d round trips, want %d", step.what, got, step.want)
		}
	}
}

// Two conversations do not both take up a list that was free when they read who holds
// it.
func TestOnlyOneTakesUpAList(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	must(storetest.Save(ctx, s, snapshot("a", 1)))(t)
	done := make(chan error)
	for _, name := range []string{"x", "y"} {
		go func() {
			key := board.Key{Chat: name}
			done <- s.Update(ctx, key, func(tx board.Tx) error {
				on, err := tx.SeenOn(ctx, "", "a")
				time.Sleep(20 * time.Millisecond) // so that the other one reads it, too
				if err != nil || len(on) > 0 {
					return err
				}
				return tx.See(ctx, board.Seen{Key: key, List: "a", Current: true})
			})
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if on, err := s.SeenOn(ctx, "", "a"); err != nil || len(on) != 1 {
		t.Errorf("%+v, %v", on, err)
	}
}

// A list that was only found, and that another server changed before it is saved, is
// read again; also by a store that logs what it saves.
func TestFoundListsAreReadAgain(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	must(storetest.Save(ctx, s, snapshot("a", 1)))(t)
	logged := audit.Store(s, audit.ToWriter(io.Discard, slog.New(slog.DiscardHandler)), false)
	for _, st := range []board.Store{s, logged} {
		foundListsAreReadAgain(t, st)
	}
}

func foundListsAreReadAgain(t *testing.T, s board.Store) {
	t.Helper()
	ctx, tries := t.Context(), 0
	err := s.Update(ctx, board.Key{Chat: "x"}, func(tx board.Tx) error {
		tries++
		found, err := tx.Find(ctx, board.Query{})
		if err != nil {
			return err
		}
		if tries == 1 {
			if _, err := storetest.Save(ctx, s, snapshot("a", found[0].Revision+1)); err != nil {
				return err
			}
		}
		_, err = tx.Save(ctx, snapshot("a", found[0].Revision+1))
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

// Two chats that look at each other, as those of one list do, do not wait for each other. What a
// transaction read of another chat and then saves is that chat as it is: else it runs again.
func TestChatsLookAtEachOther(t *testing.T) {
	s := open(t, newDatabase(t), board.Keep{})
	defer s.Close()
	id := func(name string) string { return todo.ChatID("", "", name, false) }
	for _, name := range []string{"a", "b"} {
		must(storetest.SaveChat(t.Context(), s, todo.Chat{ID: id(name)}))(t)
	}
	var tries atomic.Int32
	var within, all sync.WaitGroup
	within.Add(2)
	for of, other := range map[string]string{"a": "b", "b": "a"} {
		all.Go(func() {
			err := s.Update(context.Background(), board.Key{Chat: id(of)}, func(tx board.Tx) error {
				if tries.Add(1) <= 2 {
					within.Done()
					within.Wait()
				}
				_, err := tx.Chat(context.Background(), id(other))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := tries.Load(); n != 2 {
		t.Errorf("two changes ran %d times", n)
	}
	tries.Store(0)
	err := s.Update(t.Context(), board.Key{Chat: id("a")}, func(tx board.Tx) error {
		b, err := tx.Chat(t.Context(), id("b"))
		if err == nil && tries.Add(1) == 1 {
			_, err = storetest.SaveChat(t.Context(), s, todo.Chat{ID: id("b"), Asks: "push?"})
		}
		if err == nil {
			b.Client = "client"
			_, err = tx.SaveChat(t.Context(), b)
		}
		return err
	})
	b, err2 := s.Chat(t.Context(), id("b"))
	if err := errors.Join(err, err2); err != nil || b.Asks != "push?" || b.Client != "client" || tries.Load() != 2 {
		t.Errorf("after %d tries: %+v, %v", tries.Load(), b, err)
	}
}

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

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Created: time.Now().UTC()}, Revision: revision, Items: []todo.Item{}, Updated: time.Now().UTC()}
}

// A process counts as alive on other servers until it leaves.
func TestAliveOnOtherServers(t *testing.T) {
	a, b := both(t)
	leave := must(a.Attend("p1"))(t)
	if !b.Alive("p1") || b.Alive("p2") {
		t.Error("not alive, or the other is")
	}
	must(b.pool.Exec(t.Context(), `UPDATE todo_mcp.processes SET until = now()`))(t)
	b.alive.known = map[string]seen{}
	if b.Alive("p1") {
		t.Error("alive after its row expired")
	}
	a.sayAlive(t.Context(), "p1")
	b.alive.known = map[string]seen{}
	if !b.Alive("p1") {
		t.Error("not alive although it said so again")
	}
	leave()
	b.alive.known = map[string]seen{}
	if b.Alive("p1") {
		t.Error("alive after it left")
	}
}
