package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/clients"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/tools"
)

// T7: a model can do what an error tells it, with the arguments that the listed schema
// allows.
func TestAdviceCanBeFollowed(t *testing.T) {
	const twoTasks = `{"tasks":[{"subject":"A"},{"subject":"B"}]}`
	for _, tc := range []struct{ before, tool, call, says, with, follow string }{
		{"TodoWrite p:A1 p:A2|TodoWrite p:B1 p:B2 p:B3", "TodoWrite", `{"todos":[]}`, "send its items as completed", "TodoWrite", "c:B1 c:B2 c:B3"},
		{"SetTodoList p:A1 p:A2|SetTodoList p:B1 p:B2", "SetTodoList", `{"todos":[]}`, "send its items as done", "SetTodoList", "c:B1 c:B2"},
		{"", "TodoWrite", "i:A i:B", "Keep one in_progress and set the others to pending", "TodoWrite", "i:A p:B"},
		{"", "manage_todo_list", `{"todoList":[{"id":1,"title":"A","status":"in-progress"},{"id":2,"title":"B","status":"in-progress"}]}`,
			"Keep one in-progress and set the others to not-started", "manage_todo_list",
			`{"todoList":[{"id":1,"title":"A","status":"in-progress"},{"id":2,"title":"B","status":"not-started"}]}`},
		{"TodoWrite c:A p:B", "update_todo", `{"id":"1","status":"running"}`, "add a new step with create_todos", "create_todos", `{"items":["A"]}`},
		{"", "TaskCreate", twoTasks, "call it once for each", "TaskCreate", `{"subject":"A","description":"All of it"}`},
		{"", "TaskCreate", `{"prompt":"Go","subagent_type":"x"}`, "send subject and description", "TaskCreate", `{"subject":"A","description":"All of it"}`},
		{"TaskCreate {\"subject\":\"A\"}", "manage_todo_list", `{"operation":"look"}`, "Expected 'write' | 'read'", "manage_todo_list", `{"operation":"read"}`},
	} {
		chattest.Over(t, func(r *chattest.Rig) {
			c := r.Start(func(c *server.Config) { c.Publish = []string{"all"} }).Chat("cursor")
			args := func(tool, text string) string {
				if strings.HasPrefix(text, "{") {
					return text
				}
				return chattest.Arguments(tool, text)
			}
			for before := range strings.SplitSeq(tc.before, "|") {
				if tool, text, ok := strings.Cut(before, " "); ok {
					c.Calls(tool, args(tool, text))
				}
			}
			c.Calls(tc.tool, args(tc.tool, tc.call)).Fails(tc.says)
			follow := args(tc.with, tc.follow)
			tool := tools.Find(allTools(t), tc.with)
			var schema jsonschema.Schema
			if err := json.Unmarshal(tool.InputSchema(), &schema); err != nil {
				t.Fatal(err)
			}
			compiled, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal([]byte(follow), &value); err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(value); err != nil {
				t.Errorf("%s: what it says cannot be sent: %v", tc.says, err)
			}
			if a := c.Calls(tc.with, follow); a.Result.IsError || a.Error != nil {
				t.Errorf("%s: %s %s: %s", tc.says, tc.with, follow, a.Raw)
			}
		}, chattest.Stdio)
	}
}

func allTools(t *testing.T) []*tools.Tool {
	t.Helper()
	list, err := tools.New(tools.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A call of a tool that is not there names those that are listed, in the language that is
// set (P3), and quotes what it was called.
func TestNoSuchTool(t *testing.T) {
	for language, want := range map[string]string{"en": `There is no tool \"no\\npe\". Call `, "vi": `Không có công cụ \"no\\npe\". Hãy gọi `} {
		texts, err := prompts.New("", language)
		if err != nil {
			t.Fatal(err)
		}
		chattest.Over(t, func(r *chattest.Rig) {
			c := r.Start(func(c *server.Config) { c.Texts, c.Publish = texts, []string{"SetTodoList", "update_todo"} }).Chat("somebody")
			for _, name := range []string{`no\npe`, "TodoWrite"} {
				a := c.Asks("tools/call", `{"name":"`+name+`","arguments":{}}`)
				if a.Error == nil || !strings.Contains(a.Raw, strings.Replace(want, `no\\npe`, strings.ReplaceAll(name, `\`, `\\`), 1)+"SetTodoList, update_todo") {
					t.Errorf("%s: %s", name, a.Raw)
				}
			}
		}, chattest.Stdio, chattest.StdioModern, chattest.Session)
	}
}

// A client to which names are one that differ in case and underscores alone is listed one of
// them, the one that its models know; of all fifteen tools three are one so.
func TestFoldedNames(t *testing.T) {
	folded := make(map[string][]string)
	for _, name := range tools.Names() {
		folded[todo.Fold(name)] = append(folded[todo.Fold(name)], name)
	}
	if same := folded["todowrite"]; len(folded) != 13 || !slices.Equal(same, []string{"TodoWrite", "todo_write", "todowrite"}) {
		t.Errorf("names that are one when they are folded: %v", folded)
	}
	chattest.Over(t, func(r *chattest.Rig) {
		for _, client := range clients.All() {
			c := r.Start(func(c *server.Config) { c.Publish = []string{"all"} }).Chat(client.Prefixes[0])
			names, _ := servertest.Listed(t, c.Asks("tools/list", `{}`).Raw)
			want := tools.Names()
			if client.FoldsNames {
				want = slices.DeleteFunc(want, func(name string) bool { return name == "TodoWrite" || name == "todowrite" })
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s is listed %v, want %v", client.Name, names, want)
			}
			c.Calls("TodoWrite", chattest.Arguments("TodoWrite", "p:A")).Says("1 pending") // all can be called
		}
	}, chattest.Stdio)
	if !clients.Named("qwen").FoldsNames {
		t.Error("Qwen Code takes TodoWrite for todo_write")
	}
}
