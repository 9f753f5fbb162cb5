package sqlite

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"todo-mcp/internal/todo"
)

// Of several processes that write one file in turn each makes a write once: that another
// one has written since is known before the function runs.
func TestEachWriteIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	var stores []*Store
	for range 3 {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	var ran atomic.Int64
	const writes = 60
	for n := range writes {
		err := stores[n%len(stores)].Update(t.Context(), todo.Key{Conversation: "c"}, func(tx todo.Tx) error {
			ran.Add(1)
			next := todo.Snapshot{List: todo.List{ID: "a"}}
			if n > 0 {
				var err error
				if next, err = tx.Load(t.Context(), "a", 0); err != nil {
					return err
				}
			}
			next.Revision++
			next.LastID++
			next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(next.LastID), Text: fmt.Sprint(n), Status: todo.Pending})
			_, err := tx.Save(t.Context(), next)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	newest, err := stores[0].Load(t.Context(), "a", 0)
	if err != nil || ran.Load() != writes || newest.Revision != writes || len(newest.Items) != writes {
		t.Errorf("%d writes ran %d times: revision %d with %d items, %v", writes, ran.Load(), newest.Revision, len(newest.Items), err)
	}
}
