package panel

import (
	"fmt"
	"testing"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// A page learns from the board's version that two lists of one workspace have changed places,
// whichever they are.
func TestVersionsOfChangedPlaces(t *testing.T) {
	version := func(a, b string, ofA, ofB todo.State) string {
		var s groups
		for id, state := range map[string]todo.State{a: ofA, b: ofB} {
			main := todo.Snapshot{List: todo.List{ID: id, Workspace: "/src"}}
			s.Active = append(s.Active, account.Of(main, nil, map[string]todo.Standing{id: {State: state}}))
		}
		return s.version()
	}
	for n := range 1000 {
		a, b := fmt.Sprint("a", n), fmt.Sprint("b", n*7)
		before, after := version(a, b, todo.Working, todo.Waiting), version(a, b, todo.Waiting, todo.Working)
		if before == after || before != version(a, b, todo.Working, todo.Waiting) {
			t.Errorf("lists %s and %s: %s before, %s after", a, b, before, after)
		}
	}
}
