package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// beginOnce tests that, of many concurrent updates of a conversation without a list, only one begins its list: the
// other updates see that list. The updates are spread over stores on the same data.
func beginOnce(t *testing.T, stores ...board.Store) {
	const n = 16
	key := board.Key{Chat: "begins"}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ctx := context.Background()
			err := stores[i%len(stores)].Update(ctx, key, func(tx board.Tx) error {
				known, err := tx.Seen(ctx, key)
				if err != nil || len(known) > 0 {
					return err
				}
				id := fmt.Sprint("begun", i)
				if _, err := tx.Save(ctx, list(id, "begun", 1)); err != nil {
					return err
				}
				return tx.See(ctx, current(key.Chat, id))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	workspace := "begun"
	for _, s := range stores {
		found := checktest.Must(s.Find(t.Context(), board.Query{Workspace: &workspace}))(t)
		known := checktest.Must(s.Seen(t.Context(), key))(t)
		if len(found) != 1 || len(known) != 1 || known[0].List != found[0].List.ID {
			t.Errorf("%d lists began in one conversation, which holds %v", len(found), known)
		}
	}
}

// countByName tests that no count is lost when several chats count in a list that they find by its name. After five
// counts, the next count begins another list, which takes over the name. The chats use several stores on the same data.
func countByName(t *testing.T, stores ...board.Store) {
	const writers, each = 6, 10
	ctx := context.Background()
	var all sync.WaitGroup
	for w := range writers {
		key := board.Key{Principal: "p", Chat: fmt.Sprint("of a name", w)}
		all.Go(func() {
			for n := range each {
				err := stores[w%len(stores)].Update(ctx, key, func(tx board.Tx) error {
					id, err := tx.Named(ctx, "p", "counts")
					now := list(fmt.Sprint("counts", w, " ", n), "counts", 1)
					now.List.Principal, now.Items[0].Text = "p", "0"
					if err == nil && id != "" {
						var before todo.Snapshot
						if before, err = tx.Load(ctx, id, 0); before.Revision < 5 {
							before.Revision++
							now.List, now.Revision = before.List, before.Revision
						}
						now.Items[0].Text = before.Items[0].Text
					}
					if err != nil {
						return err
					}
					count, _ := strconv.Atoi(now.Items[0].Text)
					now.Items[0].Text = fmt.Sprint(count + 1)
					if _, err = tx.Save(ctx, now); err == nil && now.Revision == 1 {
						err = tx.SetName(ctx, "p", "counts", now.List.ID)
					}
					return errors.Join(err, tx.See(ctx, board.Seen{Key: key, List: now.List.ID, Revision: now.Revision, Current: true}))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	last := checktest.Must(stores[0].Load(ctx, checktest.Must(stores[0].Named(ctx, "p", "counts"))(t), 0))(t)
	checktest.Same(t, "the count", last.Items[0].Text, fmt.Sprint(writers*each))
}

// linearizable tests that concurrent updates of one list, by two keys and two stores on the same data, lose none of
// their increments, and that no writer reads an older revision after a newer one, in a transaction or not.
func linearizable(t *testing.T, a, b board.Store) {
	const writers, each = 8, 25
	counting := list("counted", "x", 1)
	counting.Items[0].Text = "0"
	mustSave(t, a, counting)
	var all sync.WaitGroup
	for w := range writers {
		s, key := []board.Store{a, b}[w%2], board.Key{Chat: fmt.Sprint("writer", w/4)} // four writers share a key
		all.Go(func() {
			ctx, seen := context.Background(), int64(0)
			read := func(from board.Reader) (todo.Snapshot, error) {
				now, err := from.Load(ctx, "counted", 0)
				if err == nil && now.Revision < seen {
					err = fmt.Errorf("read revision %d after %d", now.Revision, seen)
				}
				return now, err
			}
			for range each {
				now, err := read(s)
				if err != nil {
					t.Error(err)
					return
				}
				seen = now.Revision
				var saved todo.Snapshot
				err = s.Update(ctx, key, func(tx board.Tx) error {
					now, err := read(tx)
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(now.Items[0].Text)
					if err != nil {
						return err
					}
					now.Items = append([]todo.Item{}, now.Items...)
					now.Revision++
					now.LastID++
					now.Items[0].Text = fmt.Sprint(n + 1)
					saved, err = tx.Save(ctx, now)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
				seen = saved.Revision
			}
		})
	}
	all.Wait()
	for _, s := range []board.Store{a, b} {
		got, err := s.History(t.Context(), "counted", 0, 0)
		if err != nil || len(got) != 1+writers*each {
			t.Fatalf("%d revisions, %v", len(got), err)
		}
		for i, r := range got {
			if r.Revision != int64(i+1) || r.LastID != i+1 || r.Items[0].Text != fmt.Sprint(i) {
				t.Fatalf("revision %d counts %d and %s at place %d", r.Revision, r.LastID, r.Items[0].Text, i)
			}
		}
	}
}

// eitherOrder tests that concurrent updates of two lists, half of them in the opposite order, all succeed and are
// stored whole.
func eitherOrder(t *testing.T, s board.Store) {
	const writers, each = 12, 8
	mustSave(t, s, list("a", "x", 1))
	mustSave(t, s, list("b", "x", 1))
	var all sync.WaitGroup
	for w := range writers {
		ids := []string{"a", "b"}
		if w%2 == 1 {
			ids = []string{"b", "a"}
		}
		all.Go(func() {
			ctx := context.Background()
			for range each {
				err := s.Update(ctx, board.Key{Chat: fmt.Sprint(w)}, func(tx board.Tx) error {
					var revision int64
					for _, id := range ids {
						next, err := tx.Load(ctx, id, 0)
						if err != nil {
							return err
						}
						next.Revision++
						if revision != 0 && next.Revision != revision {
							t.Errorf("revision %d of one list beside %d of the other", revision, next.Revision)
						}
						revision = next.Revision
						if _, err := tx.Save(ctx, next); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, id := range []string{"a", "b"} {
		if got := checktest.Must(s.Load(t.Context(), id, 0))(t); got.Revision != 1+writers*each {
			t.Errorf("%s is at revision %d", id, got.Revision)
		}
	}
}

func cancelled(t *testing.T, s board.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkRefused(t, ctx, s, context.Canceled)
	// An update cancelled at any moment is stored completely or not at all. Its error
	// shows which, unless it wraps ErrUnknownOutcome.
	x := board.Key{Chat: "x"}
	update := func(ctx context.Context, n int64) error {
		return s.Update(ctx, x, func(tx board.Tx) error {
			for _, id := range []string{"b", "c"} {
				if _, err := saveIn(ctx, tx, list(id, "x", n)); err != nil {
					return err
				}
			}
			return tx.See(ctx, board.Seen{Key: x, List: "b", Revision: n, Current: true})
		})
	}
	for n := int64(1); n <= 20; {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		err := update(ctx, n)
		var now [2]todo.Snapshot
		for i, id := range []string{"b", "c"} {
			var loadErr error
			if now[i], loadErr = s.Load(t.Context(), id, 0); loadErr != nil && !errors.Is(loadErr, board.ErrNotFound) {
				t.Fatal(loadErr)
			}
		}
		seen := int64(0)
		if known := checktest.Must(s.Seen(t.Context(), x))(t); len(known) > 0 {
			seen = known[0].Revision
		}
		at := now[0].Revision
		if now[1].Revision != at || seen != at {
			t.Fatalf("update to revision %d returned %v: one list is at %d, the other at %d, seen is %d", n, err, at, now[1].Revision, seen)
		}
		if err == nil && at != n || err != nil && !errors.Is(err, board.ErrUnknownOutcome) && at != n-1 {
			t.Fatalf("update to revision %d returned %v, the store is at %d", n, err, at)
		}
		n = at + 1
		if err != nil {
			if err := update(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
}
