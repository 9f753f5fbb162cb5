package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// hosts are the names that measured clients give in clientInfo.
var hosts = []string{"claude-code", "codex-mcp-client", "copilot-cli", "github-copilot-developer", "gemini-cli-mcp-client",
	"qwen-cli-mcp-client-todo", "kimi-code", "@cline/core", "kilo", "opencode", "continue-cli-client"}

func seen(t *testing.T, a servertest.Answer, sees clients.Sight) string {
	t.Helper()
	if len(a.Result.Content) != 1 {
		t.Fatalf("V3: not one text: %s", a.Raw)
	}
	var whole struct{ Result json.RawMessage }
	checktest.Check(t, json.Unmarshal([]byte(a.Raw), &whole))
	return sees.Shown(a.Text(), string(a.Result.Structured), string(whole.Result))
}

func overEras(t *testing.T, client string, edit func(*server.Config), run func(r *servertest.Rig, c *servertest.Chat)) {
	t.Helper()
	t.Run(client, func(t *testing.T) {
		servertest.Over(t, func(r *servertest.Rig) { run(r, r.Start(edit).Chat(client)) }, servertest.Stdio, servertest.StdioModern)
	})
}

// tokens estimates a text's tokens as the tools' budgets do: one for each four characters.
func tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

// V3: the model of each known client sees at most 30 tokens of the result of a ten-item write; docs/cost.md has the
// figures. For clients that show the whole result, such as Cline, only the era with sessions counts: a sessionless
// result has 25 tokens of the protocol's own, and Cline does not speak that protocol.
func TestTokensSeen(t *testing.T) {
	const plan = "c:Read the specification c:Design the storage layer c:Write the schema migration i:Implement the save path " +
		"p:Handle revision conflicts p:Add the watcher interface p:Write the conformance suite p:Measure group commit speed " +
		"p:Document the promises made p:Review the whole change"
	for _, host := range hosts {
		sees := clients.Find(host).Sees
		for _, tool := range []string{"TodoWrite", "write_todos", "SetTodoList"} {
			overEras(t, host, nil, func(r *servertest.Rig, c *servertest.Chat) {
				if r.By.Modern() && sees == clients.SeesWholeResult {
					return
				}
				seen := seen(r.T, c.Does(tool, servertest.Arguments(tool, plan)), sees)
				if n := tokens(seen); n > 30 {
					r.Errorf("V3: %s: the model of %s sees %d tokens: %s", tool, host, n, seen)
				}
			})
		}
	}
}

// V3: a result with a list names it in _meta. A client whose model is shown structured content gets the display in
// _meta instead. A client whose model is shown the whole result gets no _meta.
func TestResultMeta(t *testing.T) {
	for _, c := range []struct {
		client                    string
		setting                   server.Structured
		structured, display, list bool
	}{
		{"somebody", "", true, false, true},
		{"gemini-cli-mcp-client", server.StructuredAuto, true, false, true},
		{"claude-code", server.StructuredAuto, false, true, true},
		{"codex-mcp-client", "", false, true, true},
		{"kimi-code", "", false, false, false},
		{"@cline/core", "", false, false, false},
		{"claude-code", server.StructuredAlways, true, false, true},
		{"@cline/core", server.StructuredAlways, true, false, false},
		{"somebody", server.StructuredNever, false, true, true},
	} {
		edit := func(config *server.Config) { config.Structured = c.setting }
		overEras(t, c.client, edit, func(r *servertest.Rig, chat *servertest.Chat) {
			if a := chat.Calls("SetTodoList", `{"list_id":"none"}`).Fails(); strings.Contains(a.Raw, `"todo-mcp/`) || (a.Result.Structured != nil) != c.structured {
				r.Errorf("a failed call: %s", a.Raw)
			}
			if a := chat.Does("SetTodoList", `{}`); a.Result.Meta["todo-mcp/list"] != nil {
				r.Errorf("a read without a list: %s", a.Raw)
			}
			for i, step := range []struct{ tool, args, counts string }{
				{"TodoWrite", servertest.Arguments("TodoWrite", "i:A"), `{"completed":0,"in_progress":1,"pending":0}`},
				{"create_todos", servertest.Steps("B"), `{"completed":0,"failed":0,"pending":1,"running":1}`},
				{"SetTodoList", servertest.Arguments("SetTodoList", "c:A p:B"), `{"done":1,"in_progress":0,"pending":1}`},
			} {
				a := chat.Does(step.tool, step.args)
				var list struct {
					ID       string
					Revision int64
					Counts   json.RawMessage
				}
				if raw := a.Result.Meta["todo-mcp/list"]; (raw != nil) != c.list || raw != nil && json.Unmarshal(raw, &list) != nil {
					r.Fatalf("%s: %s", step.tool, a.Raw)
				}
				if c.list && (len(list.ID) != 26 || list.Revision != int64(i+1) || string(list.Counts) != step.counts) {
					r.Errorf("%s: todo-mcp/list: %+v", step.tool, list)
				}
				var display []struct {
					Type  string
					Items []struct{ Title string }
				}
				if raw := a.Result.Meta["todo-mcp/display"]; (raw != nil) != c.display || raw != nil && json.Unmarshal(raw, &display) != nil {
					r.Fatalf("%s: %s", step.tool, a.Raw)
				}
				if c.display && (len(display) != 1 || display[0].Type != "todo" || !strings.Contains(display[0].Items[0].Title, "A")) {
					r.Errorf("%s: todo-mcp/display: %+v", step.tool, display)
				}
				if (a.Result.Structured != nil) != c.structured || c.structured && c.list && a.List() != list.ID {
					r.Errorf("%s: structured content: %s", step.tool, a.Raw)
				}
			}
		})
	}
}

// V3, K1, K3, P3: the model of every known client sees the plan of create_todos, the list that SetTodoList reads, the
// user's changes, dropped items, errors, and the note that nothing changed.
func TestModelSeesWhatItMust(t *testing.T) {
	for _, host := range hosts {
		named := func(c *server.Config) { c.List = "one" }
		overEras(t, host, named, func(r *servertest.Rig, c *servertest.Chat) {
			see := func(tool, args string, want ...string) {
				r.Helper()
				seen := seen(r.T, c.Calls(tool, args), clients.Find(host).Sees)
				for _, part := range want {
					raw, _ := json.Marshal(part)
					if !strings.Contains(seen, part) && !strings.Contains(seen, strings.Trim(string(raw), `"`)) {
						r.Errorf("%s: the model does not see %q:\n%s", tool, part, seen)
					}
				}
			}
			see("create_todos", servertest.Steps("A", "B"), "Plan:", "[ ] #1 A", "[ ] #2 B")
			see("update_todo", `{"id":"1","status":"running"}`, "[>] #1 A")
			see("update_todo", `{"id":"9","status":"running"}`, "Error: there is no step with id")
			see("SetTodoList", `{}`, "- [in_progress] A", "- [pending] B")
			r.Edit(r.Newest(), todo.Edit{Do: todo.EditAdd, Text: "Theirs"})
			see("TodoWrite", servertest.Arguments("TodoWrite", "p:B"), "The user changed the list: added", "Theirs", "Dropped while open:")
			see("SetTodoList", servertest.Arguments("SetTodoList", "p:B p:Theirs"), "(no change)")
			see("TodoWrite", servertest.Arguments("TodoWrite", "p:"), "Error: Validation failed", "todos[0].content: Must not be blank")
		})
	}
}
