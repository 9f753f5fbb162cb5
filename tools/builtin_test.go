package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// A built-in tool is found by its host, where that is known, and else by its name.
func TestFindBuiltIn(t *testing.T) {
	for _, c := range []struct{ host, name, want string }{
		{"", "TodoWrite", "claude-code"}, {"cursor", "TodoWrite", "cursor"}, {"", "update_plan", "codex"},
		{"cursor", "update_plan", ""}, {"", "Bash", ""}, {"", "", ""},
	} {
		if b, ok := tools.FindBuiltIn(c.host, c.name); b.Host != c.want || ok != (c.want != "") {
			t.Errorf("%s of %q is of %q", c.name, c.host, b.Host)
		}
	}
}

// What a model may send to our tools in other shapes, it may send to a host's as well
// (V5); what the host refused changes nothing.
func TestBuiltInShapes(t *testing.T) {
	for _, c := range []struct{ tool, input, response, want string }{
		{"TodoWrite", `{"todos":"[{\"content\":\"A\",\"status\":\"pending\"}]"}`, ``, "A"},
		{"TodoWrite", `{"todos":{"content":"A","status":"pending","activeForm":null}}`, ``, "A"},
		{"update_plan", `{"explanation":"x","plan":[{"step":"A\nB","status":"pending"}]}`, `"Plan updated"`, "A B"},
		{"TaskCreate", `{"subject":"A"}`, `{"task":{"id":7}}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"completed"}`, `{"success":false,"error":"Task not found"}`, "no call"},
		{"TaskUpdate", `{"taskId":"7","subject":"A"}`, `{"success":true}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"deleted"}`, `{"success":true}`, ""},
		{"TaskList", `{}`, `{"tasks":[]}`, "no call"},
		{"TaskList", `{}`, `"No tasks"`, "no call"},
		{"TaskList", `{}`, `{"tasks":[{"id":"1","subject":"A","status":"completed"},{"id":"2","subject":"B","status":"pending","blockedBy":["1","3"]}]}`, "B"},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		call, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response))
		got := "no call"
		if call != nil {
			draft := todo.NewDraft(todo.Snapshot{}, time.Now())
			err = call.Change(draft)
			got = ""
			for _, i := range draft.Items() {
				got += i.Text
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%s %s %s: %q, %v", c.tool, c.input, c.response, got, err)
		}
	}
	for _, c := range []struct{ tool, input, response string }{
		{"TodoWrite", `{"todos":null}`, ``}, {"TodoWrite", `{`, ``}, {"TodoWrite", ``, ``}, {"TaskCreate", `{"subject":"A"}`, `{}`},
		{"TaskCreate", `{}`, `{"task":{"id":"1"}}`}, {"TaskUpdate", `{}`, `{"success":true}`}, {"TaskUpdate", `{"taskId":"1","addBlocks":["x"]}`, ``},
		{"TaskList", `{}`, `{"tasks":[` + strings.Repeat(`{"id":"1"},`, todo.MaxItems) + `{"id":"1"}]}`},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		if _, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response)); err == nil {
			t.Errorf("%s takes %.80s %.80s", c.tool, c.input, c.response)
		}
	}
}
