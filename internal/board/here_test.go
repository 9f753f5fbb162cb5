package board_test

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A session that several servers served in turn ends at all of them; one process of a chat that
// ends, or leaves, ends nothing of another.
func TestASessionEndsEverywhere(t *testing.T) {
	store := memorytest.New()
	one, other := newBoard(t, store), newBoard(t, store)
	session := board.Conversation{Key: "session:s", Lasts: 30 * time.Minute}
	process := board.Conversation{Key: todo.ChatKey("c"), Chat: "c"}
	for _, c := range []struct {
		who  board.Conversation
		want todo.State
	}{{session, todo.LeftOpen}, {process, todo.Working}} {
		var list todo.Snapshot
		for _, b := range []*board.Board{one, other} {
			list = apply(t, b, board.Write{Target: board.Target{Conversation: c.who, Append: true}, Change: add("A")}).After
		}
		checkErr(t, one.As("").Leave(t.Context(), c.who))
		states, err := one.As("").States(t.Context(), list)
		checkErr(t, err)
		if got := states[list.List.ID].State; got != c.want {
			t.Errorf("%s: left at one server it is %s, want %s", c.who.Key, got, c.want)
		}
	}
}
