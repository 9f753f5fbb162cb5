package todo_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func TestMerge3(t *testing.T) {
	for _, c := range []struct{ name, base, theirs, mine, want string }{
		{"nobody else", "p#1:A p#2:B", "p#1:A p#2:B", "c#1:A p#9:N", "c#1:A p#10:N"},
		{"a repeat of what they added is an item of its own", "p#1:A", "p#1:A p#3:Same", "p#1:A p#9:Same i#9:Same", "p#1:A p#3:Same i#10:Same"},
		{"their addition stays, in its place", "p#1:A p#2:B", "p#1:A p#3:C p#2:B", "c#1:A i#2:B", "c#1:A p#3:C i#2:B"},
		{"their completion stays", "p#1:A p#2:B", "c#1:A p#2:B", "p#1:A i#2:B", "c#1:A i#2:B"},
		{"their completion stays although mine starts the item", "p#1:A", "c#1:A", "i#1:A", "c#1:A"},
		{"their removal stays", "p#1:A p#2:B", "p#2:B", "i#1:A p#2:B", "p#2:B"},
		{"their rewording stays", "p#1:A p#2:B", "p#1:A! p#2:B", "i#1:A p#2:B", "i#1:A! p#2:B"},
		{"both reword, mine wins", "p#1:A", "p#1:A1", "p#1:A2", "p#1:A2"},
		{"mine removes what they did not change", "p#1:A p#2:B", "p#1:A p#2:B p#3:C", "p#1:A", "p#1:A p#3:C"},
		{"mine does not remove what they changed", "p#1:A p#2:B", "p#1:A c#2:B", "p#1:A", "p#1:A c#2:B"},
		{"both add the same", "p#1:A", "p#1:A p#2:Same", "p#1:A i#9:same", "p#1:A i#2:same"},
		{"both settle differently, theirs wins", "i#1:A", "x#1:A", "c#1:A", "x#1:A"},
		{"they reopened, mine did not change it", "c#1:A", "p#1:A", "c#1:A", "p#1:A"},
		{"the order is that of mine", "p#1:A p#2:B p#3:C", "p#1:A p#2:B c#3:C", "p#3:C p#1:A p#2:B", "c#3:C p#1:A p#2:B"},
	} {
		base, theirs := chattest.ParsePlan(c.base), chattest.ParsePlan(c.theirs)
		mine := func(d *todo.Draft) error { d.Restore(chattest.ParsePlan(c.mine)); return nil }
		d := checktest.Must(todo.Step{Change: mine}.Draft(todo.Snapshot{Revision: 1, Items: base, LastID: 9}, todo.Snapshot{Revision: 2, Items: theirs, LastID: 9}))(t)
		checktest.Same(t, c.name, chattest.ShowPlanIDs(d.Items()), c.want)
	}
}
