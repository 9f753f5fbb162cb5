//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// trips counts what is sent to the database and waited for.
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
