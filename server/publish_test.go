package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/tools"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file below testdata, which -update rewrites.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	path = filepath.Join("..", "testdata", path)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s changed (-want +got), run with -update if it should:\n%s", path, diff)
	}
}

// V1, V2: tools/list returns exactly the golden files, over both transports and
// in both eras; in the sessionless era without output schemas (V3). mcp-go
// returns an empty list when it cannot marshal a schema.
func TestPublishedTools(t *testing.T) {
	s := servertest.New(t, nil, nil)
	p := servertest.NewPipe(t, s)
	go p.Send(servertest.Initialize(1, "somebody"), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	p.Read()
	_, tools1 := servertest.Listed(t, p.Read().Raw)
	if len(tools1) != len(tools.Names()) {
		t.Fatalf("tools/list has %d tools", len(tools1))
	}
	for name, raw := range tools1 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		golden(t, filepath.Join("tools", name+".json"), pretty.Bytes())
	}
	web := servertest.Serve(t, s, nil)
	_, _, body := servertest.Post(t, web.URL+"/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+servertest.Meta+`}}`, servertest.ModernHeaders("tools/list", "")...)
	_, tools2 := servertest.Listed(t, body)
	for _, listed := range []map[string]json.RawMessage{tools1, tools2} {
		for name, raw := range listed {
			listed[name] = withoutOutput(t, raw)
		}
	}
	if diff := cmp.Diff(tools1, tools2); diff != "" {
		t.Errorf("the eras differ (-session +sessionless)\n%s", diff)
	}
	if !strings.Contains(body, `"cacheScope"`) || !strings.Contains(body, `"resultType"`) {
		t.Errorf("sessionless list: %.300s", body)
	}
}

// withoutOutput returns a tool as listed, without its output schema.
func withoutOutput(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var tool map[string]json.RawMessage
	if err := json.Unmarshal(raw, &tool); err != nil {
		t.Fatal(err)
	}
	delete(tool, "outputSchema")
	raw, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// "auto" lists TodoWrite to every client, known or not, in both eras. The others can
// be called all the same. What an unknown client's model has to read for it is a quarter of what
// all tools are.
func TestPublishAuto(t *testing.T) {
	for client, want := range map[string]string{
		"claude-code": "TodoWrite", "codex-mcp-client": "TodoWrite", "gemini-cli-mcp-client": "TodoWrite",
		"Visual Studio Code": "TodoWrite", "opencode": "TodoWrite", "kimi-cli": "TodoWrite", "kimi-code": "TodoWrite", "copilot-cli": "TodoWrite",
		"github-copilot-developer": "TodoWrite", "kilo": "TodoWrite", "@cline/core": "TodoWrite", "claude-ai": "TodoWrite", "somebody": "TodoWrite", "": "TodoWrite",
	} {
		p := servertest.NewPipe(t, servertest.New(t, nil, func(c *server.Config) { c.Publish = []string{"auto"} }))
		go p.Send(servertest.Initialize(1, client), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{`+servertest.Meta+`}}`, servertest.Call(4, "SetTodoList", `{}`))
		p.Read()
		names, _ := servertest.Listed(t, p.Read().Raw)
		if strings.Join(names, " ") != want {
			t.Errorf("%s is listed %v", client, names)
		}
		if names, _ := servertest.Listed(t, p.Read().Raw); strings.Join(names, " ") != "TodoWrite" {
			t.Errorf("sessionless: %v", names)
		}
		if a := p.Read(); a.Error != nil {
			t.Errorf("%s cannot call a tool that is not listed to it: %s", client, a.Raw)
		}
	}
	size := func(publish string) int {
		p := servertest.NewPipe(t, servertest.New(t, nil, func(c *server.Config) { c.Publish = []string{publish} }))
		go p.Send(servertest.Initialize(1, "somebody"), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		p.Read()
		return len(p.Read().Raw)
	}
	auto, all := size("auto"), size("all")
	t.Logf("tools/list to an unknown client: %d bytes, with all tools %d", auto, all)
	if auto > 2500 || all < 3*auto {
		t.Errorf("tools/list to an unknown client: %d bytes, with all tools %d", auto, all)
	}
	p := servertest.NewPipe(t, servertest.New(t, nil, func(c *server.Config) { c.Publish = []string{"SetTodoList", "update_todo"} }))
	go p.Send(servertest.Initialize(1, "claude-code"), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	p.Read()
	if names, _ := servertest.Listed(t, p.Read().Raw); len(names) != 2 {
		t.Errorf("--tools: %v", names)
	}
}

func TestCheckPublish(t *testing.T) {
	for _, names := range [][]string{{"auto"}, {"all"}, {"TodoWrite", "update_todo"}} {
		if err := server.CheckPublish(names); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
	for _, names := range [][]string{nil, {"todowrite"}, {"TodoWrite", "x"}} {
		if server.CheckPublish(names) == nil {
			t.Errorf("%v passed", names)
		}
	}
}
