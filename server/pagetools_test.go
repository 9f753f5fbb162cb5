package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A list that only persons wrote, as after an import, has no revision by an agent.
func TestNoRevisionByAnAgent(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		l := r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "x"}},
			Writer: todo.Writer{Person: true}, Change: chattest.Adds("A")})
		a := r.Connect().Does("todo_list_view", fmt.Sprintf(`{"list_id":%q}`, l.List.ID))
		if said := string(a.Result.Meta["todo-mcp/list"]); !strings.Contains(said, `"revision":1`) || strings.Contains(said, `"written"`) {
			t.Error(said)
		}
	})
}
