package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// missing is the id of no list.
const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"

// BAD-INPUT 34: by whatever message, another principal's list is answered like one
// that does not exist, is not changed, not held afterwards, and in no list of
// lists.
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
						a, err := c.Send(t.Context(), c.Message(1, m[0], strings.ReplaceAll(m[1], "LIST", list)))
						if err != nil {
							t.Fatal(err)
						}
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

// BAD-INPUT 34: on every route, another principal's list is answered exactly like one
// that does not exist, and streams are not sent it.
func TestForeignListLooksMissing(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		foreign := chattest.Foreign(t, r.Store)
		c := r.Connect()
		base := strings.TrimSuffix(c.URL, "/mcp")
		ask := func(method, path, list string) string {
			body := strings.NewReader(`{"do":"add","text":"A"}`)
			req, err := http.NewRequest(method, base+strings.ReplaceAll(path, "LIST", list), body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, _ := io.ReadAll(res.Body)
			return fmt.Sprint(res.StatusCode, strings.ReplaceAll(string(data), list, "LIST"))
		}
		for path, method := range map[string]string{
			"/api/lists/LIST": "GET", "/api/lists/LIST/history": "GET", "/api/workspace?list=LIST": "GET",
			"/lists/LIST": "GET", "/lists/LIST.md": "GET", "/lists/LIST.json": "GET", "/lists/LIST/edit": "POST",
		} {
			if got, want := ask(method, path, foreign), ask(method, path, missing); got != want {
				t.Errorf("34: %s: %s\nunknown: %s", path, got, want)
			}
		}
		if got := c.Get("/api/lists"); strings.TrimSpace(got) != "[]" {
			t.Errorf("34: listed: %s", got)
		}
		var streams []*servertest.Events
		for _, path := range []string{"/api/events?after=0", "/api/stream", "/panel/events?after=0"} {
			streams = append(streams, servertest.OpenStream(t, "GET", base+path, ""))
		}
		r.Write("somebody", todo.Write{Target: todo.Target{List: foreign}, Change: chattest.Adds("secret")})
		c.Writes("p:ours")
		for i, s := range streams {
			if data := s.Until("ours"); strings.Contains(data, "secret") || strings.Contains(data, foreign) {
				t.Errorf("34: stream %d sent %s", i, data)
			}
		}
	}, chattest.Session)
}
