package run_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// What a host's hook tells the server on stdio by the tool of which no model knows is done as
// what it tells a process.
//
// BAD-INPUT 129: A call of `todo_hook` that is no event or too long; texts that a host did not
// fill in → Refused; as if not told. Only stdio has the tool
func TestHookTool(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todo.db")
	write := `{"todos":[{"content":"Read","activeForm":"Reading","status":"in_progress"}]}`
	event := func(name string, more map[string]any) map[string]any {
		e := map[string]any{"hook_event_name": name, "session_id": "s", "cwd": "/w", "agent_id": "", "agent_type": "${agent_type}"}
		for key, value := range more {
			e[key] = value
		}
		return e
	}
	calls := []struct {
		arguments any
		want      string // in the text of the answer
		isError   bool
	}{
		{event("PostToolUse", map[string]any{"tool_name": "TodoWrite", "tool_input": "{"}), "PostToolUse TodoWrite", true},
		{event("PostToolUse", map[string]any{"tool_name": "TodoWrite", "tool_input": `{"todos":[{"content":"Secret","status":"odd"}]}`}), "todos[0].status", true},
		{map[string]any{}, "no session_id", true},
		{map[string]any{"session_id": []int{5}}, "not JSON of the shape", true},
		{event("PostToolUse", map[string]any{"session_id": strings.Repeat("x", 2000)}), "longer than", true},
		{event("Unheard", nil), "{}", false},
		{event("PostToolUse", map[string]any{"tool_name": "TodoWrite", "tool_input": write, "tool_response": "{}"}), "{}", false},
		{event("PostToolUse", map[string]any{"tool_name": "TodoWrite", "tool_input": json.RawMessage(write)}), "{}", false},
		{event("Stop", map[string]any{"stop_hook_active": "false", "background_tasks": "[]"}), "{}", false},
		{event("Stop", map[string]any{"stop_hook_active": "true", "finish": "true"}), "{}", false},
		{event("Stop", map[string]any{"stop_hook_active": "false", "finish": "true"}), `{"decision":"block","reason":"`, false},
	}
	in := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}
{"jsonrpc":"2.0","id":"t","method":"tools/list"}
`
	for n, c := range calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			t.Fatal(err)
		}
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"todo_hook","arguments":%s}}`+"\n", n, arguments)
	}
	out, err := programtest.Call{In: strings.NewReader(in)}.Run(t.Context(), "stdio", "--store", store)
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for line := range strings.Lines(out) {
		var a struct {
			ID     any
			Result struct {
				Tools   []struct{ Name string }
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.ID == "t" && (len(a.Result.Tools) != 1 || a.Result.Tools[0].Name != "TodoWrite") {
			t.Errorf("listed: %s", line)
		}
		n, isCall := a.ID.(float64)
		if !isCall {
			continue
		}
		answered++
		if c := calls[int(n)]; len(a.Result.Content) != 1 || a.Result.IsError != c.isError || !strings.Contains(a.Result.Content[0].Text, c.want) || strings.Contains(line, "Secret") {
			t.Errorf("%v is answered %s, want %s", c.arguments, line, c.want)
		}
	}
	if answered != len(calls) {
		t.Errorf("%d of %d calls are answered", answered, len(calls))
	}
	if lists := programtest.Succeeds(t, "lists", "--json", "--store", store); strings.Count(lists, `"list": `) != 1 || !strings.Contains(lists, `"revision": 1`) {
		t.Errorf("the lists are %s", lists)
	}
	// The chat is there as long as the host that started the server, which is a part of this process.
	st, err := sqlite.Open(strings.TrimPrefix(store, "sqlite:"), board.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	chats, err := st.Chats(t.Context(), board.ChatQuery{})
	if isHosts := func(h todo.Here) bool { return h.Process == todo.HostProcess+process.Host() }; err != nil || len(chats) != 1 || !slices.ContainsFunc(chats[0].Here[:], isHosts) {
		t.Errorf("the chats are %+v, %v", chats, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	// Over HTTP a host posts its events itself: no file that one names is read.
	s := programtest.Serve(t, "--store", "memory")
	_, _, answer := servertest.Post(t, s.URL+"/mcp", servertest.ModernCall(1, "todo_hook", `{}`), servertest.ModernHeaders("tools/call", "todo_hook")...)
	if !strings.Contains(answer, "todo_hook") || !strings.Contains(answer, `"error"`) {
		t.Errorf("over HTTP: %s", answer)
	}
}
