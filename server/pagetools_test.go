package server_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/tools"
)

// listState returns the list in short that the answer to a call carries.
func listState(c *chattest.Chat, tool, args string) (state tools.ListState) {
	c.Helper()
	a := c.Does(tool, args)
	if err := json.Unmarshal(a.Result.Meta["todo-mcp/list"], &state); err != nil {
		c.Fatalf("%v: %s", err, a.Raw)
	}
	return state
}

// V3: the list in short has what the page shows beyond the display: the title,
// since when the current item is in progress, and where the panel shows the list,
// if one is known.
func TestListStateForThePage(t *testing.T) {
	for _, c := range []struct{ panel, own, want string }{
		{"", "", ""},
		{"http://127.0.0.1:8765/", "", "http://127.0.0.1:8765/lists/"},
		{"", "http://127.0.0.1:9", "http://127.0.0.1:9/lists/"},
	} {
		chattest.Over(t, func(r *chattest.Rig) {
			p := r.Start(func(config *server.Config) { config.Panel = c.panel })
			if c.own != "" {
				p.Server.Panel = c.own
			}
			chat := p.Chat("tester")
			before := time.Now()
			state := listState(chat, "TodoWrite", chattest.Arguments("TodoWrite", "c:A i:B p:C"))
			want := c.want
			if want != "" {
				want += state.ID
			}
			if state.Title != "A +2" || state.Current != "2" || state.Started.Before(before) || state.Started.After(time.Now()) || state.Panel != want || state.Written != 0 || state.Rests {
				t.Errorf("%+v, want panel %s", state, want)
			}
			if state := listState(chat, "TodoWrite", chattest.Arguments("TodoWrite", "c:A p:B p:C")); state.Current != "" || !state.Started.IsZero() || state.Title != "A +2" {
				t.Errorf("nothing in progress: %+v", state)
			}
		})
	}
}

// A list that only persons wrote, as after an import, has no revision by an agent.
func TestNoRevisionByAnAgent(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		l := r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "x"}},
			Writer: todo.Writer{Person: true}, Change: chattest.Adds("A")})
		if state := listState(r.Connect(), "todo_list_view", fmt.Sprintf(`{"list_id":%q}`, l.List.ID)); state.Written != 0 || state.Revision != 1 {
			t.Errorf("%+v", state)
		}
	})
}
