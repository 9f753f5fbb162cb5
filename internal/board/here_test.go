package board_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// ends is a store whose processes live when the first question of a write is asked, and have
// ended at the next.
type ends struct {
	board.Store
	questions int
}

func (e *ends) Alive(string) bool { e.questions++; return e.questions == 1 }

// A whole-list write on a list with a name keeps all steps of another agent, or none: also if
// that agent ends while they are looked at.
func TestAWriteKeepsAllOfAnAgentThatEnds(t *testing.T) {
	store := memorytest.New()
	writes := func(on board.Store, session string, lines ...todo.Line) todo.Snapshot {
		who := board.Conversation{Key: todo.ChatKey(session), Chat: session, Name: "plan"}
		view := todo.CoreView()
		return apply(t, newBoard(t, on), board.Write{Target: board.Target{Conversation: who, Lines: lines, View: view},
			Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }}).After
	}
	writes(store, "one", todo.Line{Text: "A", Status: string(todo.Pending)})
	writes(store, "other", todo.Line{Text: "X", Status: string(todo.Pending)}, todo.Line{Text: "Y", Status: string(todo.InProgress)}, todo.Line{Text: "Z", Status: string(todo.Pending)})
	writes(store, "one", todo.Line{Text: "A", Status: string(todo.InProgress)}) // and is shown the others
	asked := &ends{Store: store}
	after := writes(asked, "one", todo.Line{Text: "A", Status: string(todo.Completed)})
	if len(after.Items) != 4 || asked.questions == 0 {
		t.Errorf("after %d questions the list has %d items, want all 4", asked.questions, len(after.Items))
	}
}
