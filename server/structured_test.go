package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/clients"
	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// host is a measured client.
type host struct {
	name string
	sees clients.Sight
}

// hosts are the names that measured clients give in clientInfo, with what each
// shows its model (docs/spec/protocol.md, "Hosts").
var hosts = []host{
	{"claude-code", "structured instead of text"},
	{"codex-mcp-client", "structured instead of text"},
	{"copilot-cli", "text and structured"},
	{"github-copilot-developer", "text and structured"},
	{"gemini-cli-mcp-client", "text"},
	{"qwen-cli-mcp-client-todo", "text and structured"},
	{"kimi-code", "whole result"},
	{"@cline/core", "whole result"},
	{"kilo", "text"},
	{"opencode", "text"},
	{"continue-cli-client", "text"},
}

// answer is the result of a tools/call.
type answer struct {
	raw        string // the result as JSON
	Content    []struct{ Text string }
	Structured json.RawMessage            `json:"structuredContent"`
	Meta       map[string]json.RawMessage `json:"_meta"`
	IsError    bool
}

// seen returns what a client shows its model of a result.
func (a answer) seen(t *testing.T, sees clients.Sight) string {
	t.Helper()
	if len(a.Content) != 1 {
		t.Fatalf("V3: not one text: %s", a.raw)
	}
	return sees.Shown(a.Content[0].Text, string(a.Structured), a.raw)
}

// own returns the keys of a result's _meta that are todo-mcp's own. In the
// sessionless era mcp-go adds the server's name and version to them.
func (a answer) own() (keys []string) {
	for key := range a.Meta {
		if strings.HasPrefix(key, "todo-mcp/") {
			keys = append(keys, key)
		}
	}
	return keys
}

// eras are the protocol eras in which the tests call tools.
func eras() []string { return []string{servertest.Legacy, servertest.Modern} }

// newCaller returns a function that calls tools as the client with a name, on a
// server of its own. A nil store means a new memory store.
func newCaller(t *testing.T, st todo.Store, era, client string, edit func(*server.Config)) func(tool, args string) answer {
	t.Helper()
	p := servertest.NewPipe(t, servertest.New(t, st, edit))
	if era == servertest.Legacy {
		go p.Send(servertest.Initialize(0, client))
		p.Read()
	}
	return func(tool, args string) answer {
		t.Helper()
		message := servertest.Call(1, tool, args)
		if era == servertest.Modern {
			message = strings.Replace(servertest.ModernCall(1, tool, args), `"name":"tester"`, fmt.Sprintf(`"name":%q`, client), 1)
		}
		go p.Send(message)
		var m struct{ Result json.RawMessage }
		got := p.Read().Raw
		if err := json.Unmarshal([]byte(got), &m); err != nil || m.Result == nil {
			t.Fatalf("%v: %s", err, got)
		}
		a := answer{raw: string(m.Result)}
		if err := json.Unmarshal(m.Result, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// tenItems returns the arguments of a write of ten items by each whole-list
// tool.
func tenItems() map[string]string {
	texts := []string{"Read the specification", "Design the storage layer", "Write the schema migration", "Implement the save path",
		"Handle revision conflicts", "Add the watcher interface", "Write the conformance suite", "Measure group commit speed",
		"Document the promises made", "Review the whole change"}
	var contents, titles []string
	for i, text := range texts {
		word, status := "pending", "pending"
		if i < 3 {
			word, status = "completed", "done"
		} else if i == 3 {
			word, status = "in_progress", "in_progress"
		}
		contents = append(contents, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":%q}`, text, "Doing: "+text, word))
		titles = append(titles, fmt.Sprintf(`{"title":%q,"status":%q}`, text, status))
	}
	whole := `{"todos":[` + strings.Join(contents, ",") + `]}`
	return map[string]string{"TodoWrite": whole, "write_todos": whole, "SetTodoList": `{"todos":[` + strings.Join(titles, ",") + `]}`}
}

func wholeListTools() []string { return []string{"TodoWrite", "write_todos", "SetTodoList"} }

// tokens estimates a number of tokens, as the budgets of the tools do.
func tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

// V3: what the model of each known client sees of a write of ten items is at
// most 30 tokens; docs/cost.md has the figures. Both eras count, but for cline: it
// shows the whole result, and does not speak the sessionless protocol, whose
// results have 25 tokens of the protocol's own.
func TestTokensSeen(t *testing.T) {
	for _, host := range hosts {
		for _, tool := range wholeListTools() {
			for _, era := range eras() {
				if era == servertest.Modern && host.sees == clients.SeesWholeResult {
					continue
				}
				seen := newCaller(t, nil, era, host.name, nil)(tool, tenItems()[tool]).seen(t, clients.Find(host.name).Sees)
				if n := tokens(seen); n > 30 {
					t.Errorf("V3: %s in %s: the model of %s sees %d tokens: %s", tool, era, host.name, n, seen)
				}
			}
		}
	}
}

// The table of clients says of each host what was measured, and each row that
// says something is the row of such a host.
func TestTableOfClients(t *testing.T) {
	for _, host := range hosts {
		if got := clients.Find(host.name).Sees; got != host.sees {
			t.Errorf("%s shows %q, want %q", host.name, got, host.sees)
		}
	}
	for _, name := range []string{"claude-ai", "kimi-cli", "@cline/cli", "Visual Studio Code", "somebody", ""} {
		if got := clients.Find(name).Sees; got != "" {
			t.Errorf("%s was not measured, but shows %q", name, got)
		}
	}
	for _, known := range clients.All() {
		measured := func(h host) bool { return clients.Find(h.name).Name == known.Name }
		if known.Sees != "" && !slices.ContainsFunc(hosts, measured) {
			t.Errorf("no host is %s", known.Title)
		}
	}
}

// V3: every result that has a list names it in _meta, whatever the client. One
// whose model is shown structured content gets the display there instead; one
// whose model is shown the whole result gets no _meta.
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
		for _, era := range eras() {
			call := newCaller(t, nil, era, c.client, func(config *server.Config) { config.Structured = c.setting })
			t.Run(strings.Join([]string{c.client, string(c.setting), era}, " "), func(t *testing.T) {
				if a := call("SetTodoList", `{"list_id":"none"}`); !a.IsError || len(a.own()) != 0 || (a.Structured != nil) != c.structured {
					t.Errorf("a failed call: %s", a.raw)
				}
				if a := call("SetTodoList", `{}`); a.Meta["todo-mcp/list"] != nil {
					t.Errorf("a read without a list: %s", a.raw)
				}
				for i, step := range []struct{ tool, args, counts string }{
					{"TodoWrite", `{"todos":[{"content":"A","activeForm":"Doing A","status":"in_progress"}]}`, `{"completed":0,"in_progress":1,"pending":0}`},
					{"create_todos", `{"items":["B"]}`, `{"completed":0,"running":1,"pending":1,"failed":0}`},
					{"SetTodoList", `{"todos":[{"title":"A","status":"done"},{"title":"B","status":"pending"}]}`, `{"done":1,"in_progress":0,"pending":1}`},
				} {
					tool, a := step.tool, call(step.tool, step.args)
					var list struct {
						ID       string
						Revision int64
						Counts   json.RawMessage
					}
					if raw := a.Meta["todo-mcp/list"]; (raw != nil) != c.list || raw != nil && json.Unmarshal(raw, &list) != nil {
						t.Fatalf("%s: %s", tool, a.raw)
					}
					if c.list && (len(list.ID) != 26 || list.Revision != int64(i+1) || string(list.Counts) != step.counts) {
						t.Errorf("%s: todo-mcp/list: %s", tool, a.Meta["todo-mcp/list"])
					}
					var display []struct {
						Type  string
						Items []struct{ Title string }
					}
					if raw := a.Meta["todo-mcp/display"]; (raw != nil) != c.display || raw != nil && json.Unmarshal(raw, &display) != nil {
						t.Fatalf("%s: %s", tool, a.raw)
					}
					if c.display && (len(display) != 1 || display[0].Type != "todo" || !strings.Contains(display[0].Items[0].Title, "A")) {
						t.Errorf("%s: todo-mcp/display: %s", tool, a.Meta["todo-mcp/display"])
					}
					if (a.Structured != nil) != c.structured {
						t.Errorf("%s: structured content: %s", tool, a.raw)
					}
					if c.structured && c.list && !strings.Contains(string(a.Structured), `"list":"`+list.ID+`"`) {
						t.Errorf("%s: another list in _meta: %s", tool, a.raw)
					}
				}
			})
		}
	}
}

// V3, K1, K3, P3: the model of every known client sees the plan of create_todos,
// the output of a SetTodoList that reads, what the user changed, what was
// dropped, that nothing changed, and errors.
func TestModelSeesWhatItMust(t *testing.T) {
	for _, host := range hosts {
		for _, era := range eras() {
			t.Run(host.name+" "+era, func(t *testing.T) {
				st := memory.New()
				call := newCaller(t, st, era, host.name, func(c *server.Config) { c.List = "one" })
				see := func(tool, args string, want ...string) {
					t.Helper()
					seen := call(tool, args).seen(t, host.sees)
					for _, part := range want {
						raw, _ := json.Marshal(part)
						quoted := strings.Trim(string(raw), `"`)
						if !strings.Contains(seen, part) && !strings.Contains(seen, quoted) {
							t.Errorf("%s: the model does not see %q:\n%s", tool, part, seen)
						}
					}
				}
				see("create_todos", `{"items":["A","B"]}`, "Plan:", "[ ] #1 A", "[ ] #2 B")
				see("update_todo", `{"id":"1","status":"running"}`, "[>] #1 A")
				see("update_todo", `{"id":"9","status":"running"}`, "Error: there is no step with id")
				see("SetTodoList", `{}`, "- [in_progress] A", "- [pending] B")
				editAsPerson(t, st)
				see("TodoWrite", servertest.Todos("pending", "B"), "The user changed the list: added", "Theirs", "Dropped while open:")
				see("SetTodoList", `{"todos":[{"title":"B","status":"pending"},{"title":"Theirs","status":"pending"}]}`, "(no change)")
				see("TodoWrite", `{"todos":[{"content":"","activeForm":"x","status":"pending"}]}`, "Error: Validation failed", "todos[0].content: Must not be blank")
			})
		}
	}
}

// editAsPerson adds an item to the one list of a store, as the panel does.
func editAsPerson(t *testing.T, st todo.Store) {
	t.Helper()
	b := todo.NewBoard(st)
	defer b.Close()
	if _, err := b.As("").Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "name:one", Name: "one"}},
		Writer: todo.Writer{Client: "panel", Person: true}, Change: func(d *todo.Draft) error { d.Append("Theirs"); return nil }}); err != nil {
		t.Fatal(err)
	}
}

// V3: tools are listed with output schemas only where every result has
// structured content. The first tool listed is to be loaded at once: for Claude
// Code that is TodoWrite, in both eras.
func TestListedFor(t *testing.T) {
	for _, c := range []struct {
		client          string
		setting         server.Structured
		publish         []string
		session, modern bool // whether output schemas are listed
		first           string
	}{
		{"claude-code", "", []string{"auto"}, false, false, "TodoWrite"},
		{"codex-mcp-client", "", []string{"all"}, false, false, "TodoWrite"},
		{"@cline/core", "", []string{"all"}, false, false, "TodoWrite"},
		{"kilo", "", []string{"auto"}, true, false, "TodoWrite"},
		{"somebody", "", []string{"auto"}, true, false, "TodoWrite"},
		{"somebody", server.StructuredNever, []string{"all"}, false, false, "TodoWrite"},
		{"claude-code", server.StructuredAlways, []string{"all"}, true, true, "TodoWrite"},
		{"claude-code", "", []string{"update_todo", "SetTodoList"}, false, false, "SetTodoList"},
	} {
		s := servertest.New(t, nil, func(config *server.Config) { config.Structured, config.Publish = c.setting, c.publish })
		p := servertest.NewPipe(t, s)
		modern := `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + strings.Replace(servertest.Meta, `"tester"`, `"`+c.client+`"`, 1) + `}}`
		go p.Send(servertest.Initialize(1, c.client), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, modern, `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
		p.Read()
		for i, output := range []bool{c.session, c.modern, c.session} {
			names, raw := servertest.Listed(t, p.Read().Raw)
			if len(names) == 0 || names[0] != c.first {
				t.Fatalf("%s %v: listed %v, want %s first", c.client, c.publish, names, c.first)
			}
			for name, tool := range raw {
				if strings.Contains(string(tool), `"outputSchema"`) != output {
					t.Errorf("V3: %s, structured %q, list %d: %s has an output schema: %v", c.client, c.setting, i, name, !output)
				}
				if strings.Contains(string(tool), `"anthropic/alwaysLoad":true`) != (name == c.first) || !strings.Contains(string(tool), `"ui":{"resourceUri":`) {
					t.Errorf("%s, list %d: the _meta of %s: %.200s", c.client, i, name, tool)
				}
			}
		}
	}
}
