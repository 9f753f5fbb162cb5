package board_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// largePlan is a plan of many steps, of which one half has another status than the other.
// No conversation writes it for a person.
type largePlan struct {
	who             board.Conversation
	of              string // what its texts say
	status, status2 string
}

// largeWrites are plans that are written one after the other.
var largeWrites = map[string][]largePlan{
	"a finished plan after a finished one": {
		{conversation("a"), "old", "completed", "completed"}, {conversation("a"), "new", "completed", "completed"}},
	"a plan of the shape of a finished one": {
		{board.Conversation{Key: "a", Hint: true, Lasts: 1}, "same", "completed", "pending"},
		{board.Conversation{Key: "b", Hint: true}, "same", "pending", "completed"}},
	"a plan in a named list that others wrote": {
		{board.Conversation{Key: "a", Name: "x"}, "old", "pending", "pending"},
		{board.Conversation{Key: "b", Name: "x"}, "new", "pending", "pending"}},
	"a plan merged with a person's": {
		{conversation("a"), "old", "pending", "pending"}, {board.Conversation{}, "theirs", "blocked", "pending"},
		{conversation("a"), "old", "pending", "completed"}},
}

// writeLarge writes plans of so many steps, from an empty store on.
func writeLarge(t *testing.T, plans []largePlan, steps int) {
	b := board.NewBoard(memory.New())
	defer b.Close()
	view, list := todo.CoreView(), ""
	for _, plan := range plans {
		lines := make([]todo.Line, steps)
		for n := range lines {
			lines[n] = todo.Line{Text: fmt.Sprintf("%s step %d: %s", plan.of, n, strings.Repeat("look at it ", 8)), Status: plan.status}
			if n%2 == 0 {
				lines[n].Status = plan.status2
			}
		}
		w := board.Write{Target: board.Target{Conversation: plan.who, Lines: lines, View: view},
			Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }}
		if plan.who.Key == "" {
			w.Target, w.Writer = board.Target{List: list}, person()
		}
		list = apply(t, b, w).After.List.ID
	}
}

// A plan of four times as many steps costs about four times as much: no line is compared
// with every item. A comparison of texts allocates, so allocations count them.
func TestLargeWrites(t *testing.T) {
	for name, plans := range largeWrites {
		small := testing.AllocsPerRun(1, func() { writeLarge(t, plans, 125) })
		large := testing.AllocsPerRun(1, func() { writeLarge(t, plans, 500) })
		if ratio := large / small; ratio > 5 {
			t.Errorf("%s: four times as many steps cost %.1f times as many allocations: %.0f and %.0f", name, ratio, small, large)
		}
	}
}
