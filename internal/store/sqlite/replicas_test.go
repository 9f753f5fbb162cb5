package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 51: goroutines of several stores on one file that read one list, change
// what they read and save it lose nothing, and the cursors fit the revisions
// beside them, although some are refused after they have saved, panic, or are given up
// while they run. Each function runs once: that another store has written since is known
// before it runs.
func TestManyStoresOneList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	const stores, writers, each = 3, 4, 20
	key := todo.Key{Conversation: "shared"}
	refusal := errors.New("refused")
	var counted, ran atomic.Int64
	var all sync.WaitGroup
	for range stores {
		s := openWithCleanup(t, path)
		for w := range writers {
			all.Go(func() {
				write := func(ctx context.Context, end func() error) (err error) {
					defer func() {
						if recover() != nil {
							err = refusal
						}
					}()
					return s.Update(ctx, key, func(tx todo.Tx) error {
						ran.Add(1)
						now, err := tx.Load(ctx, "a", 0)
						if err != nil && !errors.Is(err, todo.ErrNotFound) {
							return err
						}
						known, err := tx.Cursors(ctx, key)
						if err != nil {
							return err
						}
						if now.Revision > 0 && (len(known) != 1 || known[0].Seen != now.Revision) {
							return fmt.Errorf("revision %d beside %+v", now.Revision, known)
						}
						if err := incrementIn(tx, "a"); err != nil {
							return err
						}
						if err := tx.SetCursor(ctx, todo.Cursor{Key: key, List: "a", Seen: now.Revision + 1, Current: true}); err != nil {
							return err
						}
						return end()
					})
				}
				for n := range each {
					ctx, cancel := context.WithCancel(context.Background())
					end := []func() error{
						func() error { return refusal },
						func() error { panic("on purpose") },
						func() error { cancel(); return nil },
						func() error { return nil },
					}[(n+w)%4]
					err := write(ctx, end)
					cancel()
					switch {
					case err == nil:
						counted.Add(1)
					case errors.Is(err, todo.ErrUnknownOutcome), !errors.Is(err, refusal) && !errors.Is(err, context.Canceled):
						t.Errorf("51: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	if n := int64(stores * writers * each); ran.Load() != n {
		t.Errorf("51: %d updates ran %d times", n, ran.Load())
	}
	s := openWithCleanup(t, path)
	revisions, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || int64(len(revisions)) != counted.Load() {
		t.Fatalf("51: %d revisions of %d updates, %v", len(revisions), counted.Load(), err)
	}
	for i, r := range revisions {
		if r.Revision != int64(i+1) || r.LastID != i+1 {
			t.Fatalf("51: revision %d counts %d at place %d", r.Revision, r.LastID, i)
		}
	}
	if known, err := s.Cursors(t.Context(), key); err != nil || len(known) != 1 || known[0].Seen != counted.Load() {
		t.Errorf("51: cursors %+v, %v", known, err)
	}
	checkIntegrity(t, path)
}
