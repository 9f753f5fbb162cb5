package account_test

import (
	"testing"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 106: lists of sub-agents that are each other's main lists, or their own, each
// stand for themselves, once.
func TestCircles(t *testing.T) {
	list := func(id, parent string) todo.Snapshot { return todo.Snapshot{List: todo.List{ID: id, Parent: parent}} }
	seen := make(map[string]int)
	for _, f := range account.Families([]todo.Snapshot{list("a", "b"), list("b", "a"), list("c", "c")}, nil) {
		for _, l := range f.Lists() {
			seen[l.List.ID]++
		}
	}
	if len(seen) != 3 || seen["a"] != 1 || seen["b"] != 1 || seen["c"] != 1 {
		t.Errorf("106: %v", seen)
	}
}
