package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 54: several replicas write to one list at the same time, each
// through its own board: a write that meets a conflict is repeated on the newer
// list, none is lost, and only one list begins.
func TestReplicasOneList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	const replicas, each = 4, 15
	var all sync.WaitGroup
	for r := range replicas {
		board := todo.NewBoard(openWithCleanup(t, path))
		defer board.Close()
		all.Go(func() {
			for n := range each {
				_, err := board.As("").Apply(context.Background(), todo.Write{Target: todo.Target{Append: true, Conversation: todo.Conversation{Key: fmt.Sprint("session:", r), Name: "shared"}},
					Change: func(d *todo.Draft) error { d.Append(fmt.Sprintf("%d of %d", n, r)); return nil }})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	lists, err := openWithCleanup(t, path).Find(t.Context(), todo.Query{})
	if err != nil || len(lists) != 1 || len(lists[0].Items) != replicas*each || lists[0].Revision != replicas*each {
		t.Fatalf("54: %d lists, %v", len(lists), err)
	}
	seen := map[string]bool{}
	for _, i := range lists[0].Items {
		if seen[i.ID] || seen[i.Text] {
			t.Fatalf("54: %s %q twice", i.ID, i.Text)
		}
		seen[i.ID], seen[i.Text] = true, true
	}
}
