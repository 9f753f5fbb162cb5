package server_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

// T7: a model can follow the advice of an error with the arguments that the listed schema allows.
func TestAdviceCanBeFollowed(t *testing.T) {
	plan := func(n int) string { return strings.Repeat("p:x ", n-1) + "p:x" }
	steps := func(n, length int) string {
		return servertest.Steps(slices.Repeat([]string{strings.Repeat("x", length)}, n)...)
	}
	const large, fewer = "write fewer items, or shorter ones", "A list holds at most 1000 items, this would make 1001"
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
		{"", "TodoWrite", `{"todos":[{"content":"A","activeForm":"A","status":"pending"}],"list_id":"none"}`, "Leave list_id out", "TodoWrite", "p:A"},
		{"", "TodoWrite", plan(51), "Must have at most 50 items", "TodoWrite", plan(50)},
		{"create_todos " + steps(999, 1), "create_todos", `{"items":["A","B"]}`, fewer, "create_todos", `{"items":["A"]}`},
		{"", "create_todos", steps(100, 3000), large, "create_todos", steps(50, 3000)},
		{"", "create_todos", steps(100, 3000), large, "create_todos", steps(100, 300)},
	} {
		servertest.Over(t, func(r *servertest.Rig) {
			c := r.Start(func(c *server.Config) { c.Publish = []string{"all"} }).Chat("cursor")
			args := func(tool, text string) string {
				if strings.HasPrefix(text, "{") {
					return text
				}
				return servertest.Arguments(tool, text)
			}
			for before := range strings.SplitSeq(tc.before, "|") {
				if tool, text, ok := strings.Cut(before, " "); ok {
					c.Calls(tool, args(tool, text))
				}
			}
			c.Calls(tc.tool, args(tc.tool, tc.call)).Fails(tc.says)
			follows(t, c, tc.says, tc.with, args(tc.with, tc.follow))
		}, servertest.Stdio)
	}
}

func follows(t *testing.T, c *servertest.Chat, told, name, args string) {
	t.Helper()
	var schema jsonschema.Schema
	checktest.Check(t, json.Unmarshal(tools.Find(tools.New(tools.Defaults()), name).InputSchema(), &schema))
	compiled := checktest.Must(schema.Resolve(nil))(t)
	var value any
	checktest.Check(t, json.Unmarshal([]byte(args), &value))
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%s: what it says cannot be sent: %v", told, err)
	}
	if a := c.Calls(name, args); a.Result.IsError || a.Error != nil {
		t.Errorf("%s: %s %.200s: %.500s", told, name, args, a.Raw)
	}
}

// T7: a model can also follow the advice of the board's refusals, and the advice about an earlier session's list.
func TestAdviceOfTheBoardCanBeFollowed(t *testing.T) {
	// The function told gives a chat the advice, and returns that chat.
	for says, tc := range map[string]struct {
		told    func(r *servertest.Rig, s *servertest.Server, c *servertest.Chat) *servertest.Chat
		follow  []string // calls, each a tool's name and arguments
		becomes string
	}{
		`take another, or "next"`: {func(_ *servertest.Rig, _ *servertest.Server, c *servertest.Chat) *servertest.Chat {
			ann, bob := c.Conversation("ann"), c.Conversation("bob")
			ann.Calls("create_todos", `{"items":["A","B","C"]}`)
			ann.Calls("TaskUpdate", `{"taskId":"1","owner":"ann","status":"in_progress"}`)
			bob.Resume(ann.Current())
			bob.Calls("TaskUpdate", `{"taskId":"1","owner":"bob","status":"in_progress"}`).Fails(`take another, or "next"`)
			return bob
		}, []string{`TaskUpdate {"taskId":"3","owner":"bob","status":"in_progress"}`, `TaskUpdate {"taskId":"next","owner":"bob","status":"in_progress"}`}, "i:A i:B i:C"},
		"Use a new id for a new call": {func(_ *servertest.Rig, _ *servertest.Server, c *servertest.Chat) *servertest.Chat {
			c.InOperation("1").Writes("p:A")
			c.InOperation("1").Calls("TodoWrite", servertest.Arguments("TodoWrite", "c:A")).Fails("Use a new id for a new call")
			return c.InOperation("2")
		}, []string{"TodoWrite " + servertest.Arguments("TodoWrite", "c:A")}, "c:A"},
		"Write a list of your own": {func(r *servertest.Rig, _ *servertest.Server, c *servertest.Chat) *servertest.Chat {
			c.Resume(r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "its host's", Mirrors: true}},
				Change: servertest.Adds("A")}).List.ID)
			c.Calls("update_todo", `{"id":"1","status":"running"}`).Fails("Write a list of your own").Lacks("list_id")
			return c
		}, []string{`create_todos {"items":["A"]}`}, "p:A"},
		"Go on with the list you have, if any, and tell the user": {func(_ *servertest.Rig, _ *servertest.Server, c *servertest.Chat) *servertest.Chat {
			c.Writes("i:A")
			c.Calls("TodoWrite", servertest.Arguments("TodoWrite", "i:B")).Fails("Go on with the list you have, if any, and tell the user")
			return c
		}, []string{"TodoWrite " + servertest.Arguments("TodoWrite", "p:A i:B")}, "p:A i:B"},
		"write what is open as your own list": {func(_ *servertest.Rig, s *servertest.Server, c *servertest.Chat) *servertest.Chat {
			before := c.Conversation("before")
			before.Writes("c:A i:B p:C")
			left := checktest.Must(s.Server.Board.As("").Load(t.Context(), before.Current(), 0))(t)
			for _, language := range prompts.Languages() {
				words := prompts.WordsIn(language)
				if told := tools.Reminder(words, left, words.Earlier, words.GoOnEarlier); strings.Contains(told, left.List.ID) || !strings.HasSuffix(told, "\n"+words.GoOnEarlier) {
					t.Errorf("%s: %s", language, told)
				}
			}
			return c.Conversation("after the chat was cleared")
		}, []string{"TodoWrite " + servertest.Arguments("TodoWrite", "i:B p:C")}, "i:B p:C"},
	} {
		servertest.Over(t, func(r *servertest.Rig) {
			r.Store = storetest.NewMemoryKeeping(board.Keep{Lists: 2})
			s := r.Start(func(c *server.Config) { c.Publish = []string{"all"} })
			if strings.HasPrefix(says, "Go on") {
				s.Chat("cursor").Conversation("another").Writes("p:X")
			}
			c := tc.told(r, s, s.Chat("cursor").Conversation("own"))
			for _, call := range tc.follow {
				tool, args, _ := strings.Cut(call, " ")
				follows(t, c, says, tool, args)
			}
			c.Shows(tc.becomes)
		}, servertest.Stdio)
	}
}

// T7, P3, V1: no text for models, in any language, names an argument that no listed schema has. One exception: the
// refusal of an unknown list_id asks models to leave list_id out.
func TestAdviceNamesWhatSchemasHave(t *testing.T) {
	known := map[string]bool{}
	for _, tool := range tools.New(tools.Defaults()) {
		for _, name := range regexp.MustCompile(`"[A-Za-z_]+"`).FindAllString(string(tool.InputSchema()), -1) {
			known[strings.Trim(name, `"`)] = true
		}
		known[tool.Name] = true
	}
	for _, language := range prompts.Languages() {
		words := prompts.WordsIn(language)
		sentences := map[string]string{}
		for field, text := range reflect.ValueOf(*words).Fields() {
			sentences[field.Name] = text.String()
		}
		texts := checktest.Must(prompts.New("", language))(t)
		for _, name := range []string{"instructions", "plan", "resume"} {
			sentences[name] = texts.Text(name)
		}
		options := tools.Defaults()
		options.Texts = texts
		for _, tool := range tools.New(options) {
			sentences[tool.Name] = tool.Description
		}
		for name, text := range sentences {
			for _, field := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b|\b[a-z]+[A-Z][A-Za-z]+\b`).FindAllString(text, -1) {
				if !known[field] && (name != "NoList" || field != "list_id") {
					t.Errorf("%s in %s names %s, which no listed schema has", name, language, field)
				}
			}
		}
	}
}

// The answer to a call of an unknown tool names the listed tools, in the configured language (P3), and quotes the
// called name.
func TestNoSuchTool(t *testing.T) {
	for language, want := range map[string]string{"en": `There is no tool \"no\\npe\". Call `, "vi": `Không có công cụ \"no\\npe\". Hãy gọi `} {
		texts := checktest.Must(prompts.New("", language))(t)
		servertest.Over(t, func(r *servertest.Rig) {
			c := r.Start(func(c *server.Config) { c.Texts, c.Publish = texts, []string{"SetTodoList", "update_todo"} }).Chat("somebody")
			for _, name := range []string{`no\npe`, "TodoWrite"} {
				a := c.Asks("tools/call", `{"name":"`+name+`","arguments":{}}`)
				if a.Error == nil || !strings.Contains(a.Raw, strings.Replace(want, `no\\npe`, strings.ReplaceAll(name, `\`, `\\`), 1)+"SetTodoList, update_todo") {
					t.Errorf("%s: %s", name, a.Raw)
				}
			}
		}, servertest.Stdio, servertest.StdioModern, servertest.Session)
	}
}

// TodoWrite, todo_write and todowrite are one name to a client that ignores case and underscores. To such a client
// tools/list has only the one that its models know. No other tools have names that are alike.
func TestFoldedNames(t *testing.T) {
	folded := make(map[string][]string)
	for _, name := range tools.Names() {
		folded[todo.Fold(name)] = append(folded[todo.Fold(name)], name)
	}
	if same := folded["todowrite"]; len(folded) != len(tools.Names())-2 || !slices.Equal(same, []string{"TodoWrite", "todo_write", "todowrite"}) {
		t.Errorf("names that are one when they are folded: %v", folded)
	}
	servertest.Over(t, func(r *servertest.Rig) {
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
			c.Calls("TodoWrite", servertest.Arguments("TodoWrite", "p:A")).Says("1 pending") // even if unlisted
		}
	}, servertest.Stdio)
	if !clients.Find("qwen").FoldsNames {
		t.Error("Qwen Code takes TodoWrite for todo_write")
	}
}
