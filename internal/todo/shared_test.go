package todo_test

import (
	"context"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// bindCounter counts how often bindings are stored without a save.
type bindCounter struct {
	todo.Store
	binds int
}

func (c *bindCounter) Bind(ctx context.Context, bindings ...todo.Binding) error {
	c.binds++
	return c.Store.Bind(ctx, bindings...)
}

// With shared conversations, what an agent read at one board counts for its next
// write at another: it is told of nothing that it has read. A read that shows it
// nothing new stores nothing.
func TestSharedConversations(t *testing.T) {
	store := &bindCounter{Store: memory.New()}
	one, other := todo.NewBoard(store, todo.WithSharedConversations()), todo.NewBoard(store, todo.WithSharedConversations())
	defer one.Close()
	defer other.Close()
	first, err := one.As("").Apply(t.Context(), todo.Write{Target: target("a"), Change: add("A")})
	if err != nil {
		t.Fatal(err)
	}
	person := todo.Write{Target: todo.Target{List: first.After.List.ID}, Writer: todo.Writer{Person: true}, Change: add("by a person")}
	if _, err := one.As("").Apply(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if shown, err := one.As("").Show(t.Context(), target("a")); err != nil || len(shown.Items) != 2 {
			t.Fatalf("shown %v, %v", shown.Items, err)
		}
	}
	if store.binds != 1 {
		t.Errorf("%d times stored, want once", store.binds)
	}
	out, err := other.As("").Apply(t.Context(), todo.Write{Target: target("a"), Change: add("B")})
	if err != nil || len(out.Report.Unseen) > 0 {
		t.Errorf("told of %v, %v", out.Report.Unseen, err)
	}
}
