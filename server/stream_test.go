package server_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
)

// data reads the data of the next event.
func (e *events) data() string {
	e.t.Helper()
	return strings.TrimPrefix(strings.TrimSpace(e.expect("data: ")), "data: ")
}

// W2: a call is one start with the whole input, no delta, and at once the stop
// of the same index; a call that changes nothing shows too (V4); a sub-agent's
// carries its parent; another process's write shows as well.
func TestStream(t *testing.T) {
	store := memory.New()
	s := newServer(t, store, nil)
	web := newHTTP(t, s, nil)
	url := web.URL + "/mcp"
	id := session(t, url, "tester")
	stream := openStream(t, "GET", web.URL+"/api/stream", "")
	write := func(message string) {
		t.Helper()
		if _, _, body := post(t, url, message, "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
			t.Fatal(body)
		}
	}
	type event struct {
		Type  string
		Index int
		Block struct {
			Type, ID, Name string
			Message        string `json:"tool_content_message"`
			Parent         string `json:"parent_tool_use_id"`
			Input          struct{ Todos []map[string]string }
		} `json:"content_block"`
	}
	next := func(index int) event {
		t.Helper()
		var start, stop event
		raw := stream.data()
		if err := json.Unmarshal([]byte(raw), &start); err != nil || start.Type != "content_block_start" || start.Index != index ||
			start.Block.Type != "tool_use" || start.Block.Name != "write_todos" || start.Block.Message != "Update Todos" || start.Block.ID == "" {
			t.Fatalf("W2: start %d is %s, %v", index, raw, err)
		}
		raw = stream.data()
		if err := json.Unmarshal([]byte(raw), &stop); err != nil || stop.Type != "content_block_stop" || stop.Index != index {
			t.Fatalf("W2: stop %d is %s, %v", index, raw, err)
		}
		return start
	}
	write(callTool(1, "write_todos", todos("pending", "Lấy dữ liệu")))
	first := next(0)
	if got := first.Block.Input.Todos; len(got) != 1 || got[0]["content"] != "Lấy dữ liệu" || got[0]["activeForm"] == "" || got[0]["status"] != "pending" {
		t.Errorf("W2: input %v", got)
	}
	write(callTool(2, "write_todos", todos("pending", "Lấy dữ liệu")))
	if again := next(1); len(again.Block.Input.Todos) != 1 || again.Block.ID == first.Block.ID {
		t.Errorf("V4: a call without change shows as %+v", again)
	}
	write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_todos","arguments":` + todos("pending", "Sub") + `,"_meta":{"todo-mcp/agent":"helper"}}}`)
	if sub := next(2); sub.Block.Parent == "" || first.Block.Parent != "" {
		t.Errorf("W2: a sub-agent's call has parent %q, the main one %q", sub.Block.Parent, first.Block.Parent)
	}
	write(callTool(4, "create_todos", `{"items":["More"]}`))
	if got := next(3).Block.Input.Todos; len(got) != 2 || got[1]["content"] != "More" {
		t.Errorf("W2: another variant's write shows as %v", got)
	}
	other := newHTTP(t, newServer(t, store, nil), nil)
	post(t, other.URL+"/mcp", callTool(5, "TodoWrite", todos("completed", "Elsewhere")), "Mcp-Session-Id", session(t, other.URL+"/mcp", "other"))
	if got := next(4).Block.Input.Todos; len(got) != 1 || got[0]["content"] != "Elsewhere" {
		t.Errorf("W2: another process's write shows as %v", got)
	}
}

// W3: the history for a reload, in its three forms.
func TestWorkspace(t *testing.T) {
	web := newHTTP(t, newServer(t, nil, nil), nil)
	type answer struct {
		Workspace map[string]json.RawMessage
		Messages  json.RawMessage
		History   json.RawMessage
	}
	get := func() (a answer) {
		t.Helper()
		if status := getJSON(t, web.URL+"/api/workspace", &a); status != 200 {
			t.Fatal(status)
		}
		return a
	}
	if a := get(); string(a.Workspace["todos"]) != "null" || string(a.Messages) != "[]" || string(a.History) != "[]" {
		t.Errorf("W3: never a list: %s", a)
	}
	id := session(t, web.URL+"/mcp", "tester")
	write := func(args string) {
		post(t, web.URL+"/mcp", callTool(1, "write_todos", args), "Mcp-Session-Id", id)
	}
	write(todos("completed", "A"))
	a := get()
	const item = `[{"content":"A","activeForm":"A","status":"completed"}]`
	if string(a.Workspace["todos"]) != item {
		t.Errorf("W3: all completed: %s", a.Workspace["todos"])
	}
	var lists []map[string]any
	getJSON(t, web.URL+"/api/lists", &lists)
	block := `"type":"tool_use","id":"toolu_` + lists[0]["list"].(string) + `_1","name":"write_todos",`
	if want := `[{"role":"assistant","content":[{` + block + `"input":{"todos":` + item + `}}],"tool_calls":[]}]`; string(a.Messages) != want {
		t.Errorf("W3: messages\n%s\nwant\n%s", a.Messages, want)
	}
	if want := `[{"id":"session-history-1","type":"ai_answer","isStreaming":false,"blocks":[{` + block + `"tool_content_message":"Update Todos","input":{"todos":` + item + `}}]}]`; string(a.History) != want {
		t.Errorf("W3: history\n%s\nwant\n%s", a.History, want)
	}
	write(`{"todos":[]}`)
	if a := get(); string(a.Workspace["todos"]) != "[]" {
		t.Errorf("W3: cleared: %s", a.Workspace["todos"])
	}
}

// npm installs what a test needs from npm into a folder that is kept, and
// returns the folder. names are pinned: "react@19.3.1".
func npm(t *testing.T, folder string, names ...string) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "todo-mcp-test", folder)
	stamp := filepath.Join(dir, "installed")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == strings.Join(names, " ") {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund", "--prefix", dir}, names...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v (the test needs Node.js and npm; `make deps` installs them)\n%s", err, out)
	}
	if err := os.WriteFile(stamp, []byte(strings.Join(names, " ")), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// W2, W3, W4: the front-end functions of system 1, as its document prints them,
// run unmodified against the server in node.
func TestFrontEndFunctions(t *testing.T) {
	dir := npm(t, "frontend", "esbuild@0.28.2", "react@19.3.1", "react-dom@19.3.1")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "testdata", "frontend", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	source := strings.Replace(read("host.jsx"), "/* FUNCTIONS */", read("system1.jsx"), 1)
	source = strings.Replace(source, "/* RESTORE */", read("restore.js"), 1)
	entry, program := filepath.Join(t.TempDir(), "host.jsx"), filepath.Join(t.TempDir(), "host.mjs")
	if err := os.WriteFile(entry, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(filepath.Join(dir, "node_modules", ".bin", "esbuild"), entry, "--bundle", "--platform=node", "--format=esm", "--jsx=automatic",
		"--log-level=error", "--banner:js=import {createRequire} from 'module'; const require = createRequire(import.meta.url);", "--outfile="+program)
	build.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v\n%s", err, out)
	}

	web := newHTTP(t, newServer(t, nil, nil), nil)
	id := session(t, web.URL+"/mcp", "tester")
	write := func(tool, args string) {
		t.Helper()
		if _, _, body := post(t, web.URL+"/mcp", callTool(1, tool, args), "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
			t.Fatal(body)
		}
	}
	write("write_todos", todos("pending", "Before"))
	var lists []map[string]any
	getJSON(t, web.URL+"/api/lists", &lists)

	host := exec.Command("node", program, web.URL, lists[0]["list"].(string), "2")
	host.Stderr = os.Stderr
	pipe, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(pipe)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the front end said %q", out.Text())
	}
	write("write_todos", `{"todos":[{"content":"Lấy dữ liệu giá HPG","activeForm":"Đang lấy dữ liệu giá HPG","status":"completed"},{"content":"Phân tích <b>","activeForm":"Đang phân tích","status":"in_progress"},{"content":"Viết báo cáo","activeForm":"Đang viết báo cáo","status":"pending"}]}`)
	write("TodoWrite", todos("completed", "A"))
	var got []string
	for out.Scan() {
		got = append(got, out.Text())
	}
	if err := host.Wait(); err != nil || len(got) != 3 {
		t.Fatalf("the front end drew %d states: %v, %v", len(got), got, err)
	}
	for i, want := range []string{
		`<ul><li class=\"line-through text-gray-400\"><span class=\"text-green-500\">✓</span><span>Lấy dữ liệu giá HPG</span></li>` +
			`<li class=\"font-medium text-gray-800\"><span class=\"w-2 h-2 rounded-full bg-blue-500\"></span><span>Đang phân tích</span></li>` +
			`<li class=\"text-gray-600\"><span class=\"w-2 h-2 rounded-full border border-gray-400\"></span><span>Viết báo cáo</span></li></ul>`,
		`<span>A</span>`,
		`"todos":[{"content":"A","activeForm":"A","status":"completed"}]`,
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("state %d: %s", i, got[i])
		}
	}
}
