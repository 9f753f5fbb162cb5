package server_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// missing is the id of no list.
const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"

// BAD-INPUT 34: by whatever message; the list is not held afterwards, and in no list of lists.
func TestForeignListIsUnknownOverTheWire(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		foreign := chattest.Foreign(t, r.Store)
		for _, conn := range []*chattest.Chat{r.Connect(), open().Connect()} {
			for i, c := range []*chattest.Chat{conn, conn.Conversation("a"), conn.Conversation("a").Agent("x")} {
				for name, m := range map[string][2]string{
					"read":        {"tools/call", `{"name":"SetTodoList","arguments":{"list_id":"LIST"}}`},
					"write":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[{"content":"theirs","activeForm":"x","status":"completed"}]}}`},
					"clear":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[]}}`},
					"add":         {"tools/call", `{"name":"create_todos","arguments":{"list_id":"LIST","items":["A"]}}`},
					"one item":    {"tools/call", `{"name":"update_todo","arguments":{"list_id":"LIST","id":"1","status":"completed"}}`},
					"page":        {"tools/call", `{"name":"todo_list_view","arguments":{"list_id":"LIST"}}`},
					"tick":        {"tools/call", `{"name":"todo_list_tick","arguments":{"list_id":"LIST","item_id":"1","status":"completed","revision":1}}`},
					"resource":    {"resources/read", `{"uri":"todo://lists/LIST"}`},
					"resume":      {"prompts/get", `{"name":"resume","arguments":{"list":"LIST"}}`},
					"completion":  {"completion/complete", `{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"list","value":"LIST"}}`},
					"subscribing": {"resources/subscribe", `{"uri":"todo://lists/LIST"}`},
				} {
					ask := func(list string) string {
						a := servertest.Must(c.Send(t.Context(), c.Message(1, m[0], strings.ReplaceAll(m[1], "LIST", list))))(t)
						return strings.ReplaceAll(a.Raw, list, "LIST")
					}
					if got, want := ask(foreign), ask(missing); got != want {
						t.Errorf("34: %d %s: %s\nunknown: %s", i, name, got, want)
					}
				}
				if got := c.Resource("todo://lists"); strings.Contains(got, foreign) {
					t.Errorf("34: todo://lists: %s", got)
				}
				if got := c.Current(); got != "" {
					t.Errorf("34: the conversation holds %s", got)
				}
			}
		}
		if l := r.Load(foreign); l.Revision != 1 || chattest.Show(l.Items) != "p:theirs" {
			t.Errorf("34: the list is %s at revision %d", chattest.Show(l.Items), l.Revision)
		}
		r.Expect()
	})
}
