package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

var update = flag.Bool("update", false, "rewrite golden files")

// V1, V2: tools/list on stdio returns exactly the golden files; each other transport and era returns the same, output
// schemas aside (V3). The number of tools is checked, since mcp-go lists none if it cannot marshal a schema. The golden
// files have the annotations by which hosts let a tool change a todo list without asking for permission (T9).
func TestPublishedTools(t *testing.T) {
	listed := make(map[servertest.Transport]map[string]json.RawMessage)
	servertest.Over(t, func(r *servertest.Rig) {
		a := r.Start(nil).Chat("somebody").Asks("tools/list", `{}`)
		_, listed[r.By] = servertest.Listed(t, a.Raw)
		if r.By == servertest.Sessionless && (!strings.Contains(a.Raw, `"cacheScope"`) || a.Result.ResultType == "") {
			t.Errorf("sessionless list: %.300s", a.Raw)
		}
	})
	if n := len(listed[servertest.Stdio]); n != len(tools.Names()) {
		t.Fatalf("tools/list has %d tools", n)
	}
	for name, raw := range listed[servertest.Stdio] {
		var pretty bytes.Buffer
		checktest.Check(t, json.Indent(&pretty, raw, "", "  "))
		pretty.WriteByte('\n')
		if name == "todowrite" {
			name = "opencode_todowrite" // TodoWrite.json and todowrite.json are one file to some systems
		}
		path := filepath.Join("..", "testdata", "tools", name+".json")
		if *update {
			checktest.Check(t, os.WriteFile(path, pretty.Bytes(), 0o644))
		}
		if diff := cmp.Diff(string(checktest.Must(os.ReadFile(path))(t)), pretty.String()); diff != "" {
			t.Errorf("%s changed (-want +got), run with -update if it should:\n%s", path, diff)
		}
	}
	for _, all := range listed {
		for name, raw := range all {
			var tool map[string]json.RawMessage
			checktest.Check(t, json.Unmarshal(raw, &tool))
			delete(tool, "outputSchema")
			all[name] = checktest.Must(json.Marshal(tool))(t)
		}
	}
	for by, all := range listed {
		if diff := cmp.Diff(listed[servertest.Stdio], all); diff != "" {
			t.Errorf("tools over %s differ from those on stdio (-stdio +%s)\n%s", by, by, diff)
		}
	}
}

// V3: in a session, "auto" lists the tools that a known client's models know best, and all tools to an inspector.
// Otherwise it lists TodoWrite. Tools that are not listed can be called too. Output schemas are listed only if every
// result has structured content. The first tool is marked to be loaded at once. The listing for an unknown client is at
// most an eighth of that of all tools.
func TestListed(t *testing.T) {
	list := func(r *servertest.Rig, client string, setting server.Structured, output bool, want string, publish ...string) (size int) {
		c := r.Start(func(c *server.Config) { c.Structured, c.Publish = setting, publish }).Chat(client)
		a := c.Asks("tools/list", `{}`)
		c.Calls("SetTodoList", `{}`) // also where it is not listed
		names, raw := servertest.Listed(t, a.Raw)
		if strings.Join(names, " ") != want {
			t.Fatalf("%s, %s: %s is listed %s, want %s", publish, r.By, client, names, want)
		}
		for name, tool := range raw {
			checktest.Has(t, name, string(tool), `"ui":{"resourceUri":`, `"anthropic/searchHint":"todo list, `)
			if strings.Contains(string(tool), `"outputSchema"`) != output || strings.Contains(string(tool), `"anthropic/alwaysLoad":true`) != (name == names[0]) {
				t.Errorf("V3: structured %q, to %s in %s: %s", setting, client, r.By, tool)
			}
		}
		return len(a.Raw)
	}
	servertest.Over(t, func(r *servertest.Rig) {
		inSession, all := !r.By.Modern(), strings.Join(tools.Names(), " ")
		for _, client := range []string{"claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "Visual Studio Code", "opencode", "kimi-cli", "kimi-code",
			"copilot-cli", "github-copilot-developer", "kilo", "@cline/core", "claude-ai", "continue", "somebody", ""} {
			known, want := clients.Find(client), "TodoWrite"
			if best := strings.Join(known.Tools, " "); best != "" && inSession {
				want = best
			}
			list(r, client, "", inSession && (known.Sees == "" || known.Sees == clients.SeesText), want, "auto")
		}
		if inSession {
			list(r, "inspector-client", "", true, all, "auto")
		}
		list(r, "claude-code", "", false, "SetTodoList update_todo", "update_todo", "SetTodoList")
		list(r, "claude-code", server.StructuredAlways, true, all, "all")
		list(r, "somebody", server.StructuredNever, false, all, "all")
		auto, whole := list(r, "somebody", "", inSession, "TodoWrite", "auto"), list(r, "somebody", "", inSession, all, "all")
		if auto > 2650 || whole < 8*auto {
			t.Errorf("tools/list to an unknown client: %d bytes, with all tools %d", auto, whole)
		}
	}, servertest.Stdio, servertest.StdioModern)
}

// The first answer to a client has, for people, the panel's icon in at most 1,000 bytes, a description of the server
// and the panel's address. tools/list does not repeat the icon. The first 150 characters of the instructions, all that
// some models see, name the tool that is listed to the client.
func TestAboutTheServer(t *testing.T) {
	panel := checktest.Must(os.ReadFile(filepath.Join("panel", "page.html")))(t)
	servertest.Over(t, func(r *servertest.Rig) {
		c := r.Start(func(c *server.Config) { c.Panel, c.Publish = "http://127.0.0.1:8765/", []string{"auto"} }).Chat("somebody")
		first, tool := "server/discover", "TodoWrite"
		if !r.By.Modern() {
			first, tool = "initialize", clients.Find("codex-mcp-client").Tools[0]
		}
		said := c.Asks(first, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"codex-mcp-client","version":"1"}}`).Raw
		_, instructions, _ := strings.Cut(said, `"instructions":"`)
		if !strings.Contains(instructions[:min(len(instructions), 150)], tool) || strings.Contains(said, "{{") {
			t.Errorf("%s does not name %s at once: %.200s", first, tool, instructions)
		}
		checktest.Has(t, first, said, `"websiteUrl":"http://127.0.0.1:8765/"`, `"description":"Keeps`, `"mimeType":"image/svg+xml"`, `"title":"Todo lists"`)
		icon := regexp.MustCompile(`"src":"([^"]*)"`).FindStringSubmatch(said)
		if len(icon) == 0 || len(icon[1]) > 1000 || strings.Contains(icon[1], " ") ||
			!strings.Contains(string(panel), strings.ReplaceAll(icon[1], "%20", " ")) {
			t.Errorf("the icon is not the panel's, or no address: %q", icon)
		}
		if answer := c.Asks("tools/list", `{}`).Raw; strings.Contains(answer, "image/svg") {
			t.Errorf("a result repeats the icon: %s", answer)
		}
	}, servertest.Session, servertest.StdioModern)
}

func TestCheckPublish(t *testing.T) {
	for name, isGood := range map[string]bool{"auto": true, "all": true, "TodoWrite": true, "update_todo": true, "": false, "Todowrite": false, "x": false} {
		if err := server.CheckPublish(name); (err == nil) != isGood {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The tables of clients in docs/ equal the tables made from package clients. -update rewrites the files.
func TestDocumentedClients(t *testing.T) {
	checkTable(t, "variants.md", "listed", listedTable())
	checkTable(t, "variants.md", "clients", clientsTable())
	checkTable(t, "lists.md", "conversations", conversationsTable())
}

func checkTable(t *testing.T, document, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->\n"
	path := filepath.Join("..", "docs", document)
	data := checktest.Must(os.ReadFile(path))(t)
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/%s has no %s…%s", document, begin, end)
	}
	if *update {
		checktest.Check(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if got != want {
		t.Errorf("the table %s in docs/%s is\n%s\nthe program's is\n%s\nrun with -update", mark, document, got, want)
	}
}

func conversationsTable() string {
	return "| client | certain by | without that, over stdio | known by |\n|---|---|---|---|\n" + grouped(func(c clients.Client) string {
		certain, stdio, known := "its session over HTTP", "its process, from the first write on", "what programs of its kind do"
		switch {
		case c.ChatID != "":
			certain = "`" + c.ChatID + "` in each call"
		case c.SessionPerCall:
			certain = "–: a session is a call"
		case c.SharesConnection:
			certain = "–"
		}
		if c.Variable != "" {
			stdio = "`" + c.Variable + "`, from the first write on"
		}
		if c.ByHost {
			stdio += "; with hooks its host's process"
		}
		if c.SharesConnection {
			stdio = "what it writes: chats share a process"
		}
		if slices.Contains(strings.Fields("vscode antigravity zcode grok"), c.Name) {
			known = "its source"
		} else if slices.Contains(strings.Fields("claude-code gemini codex copilot opencode kilo qwen cline continue kimi"), c.Name) {
			known = "run"
		}
		return certain + " | " + stdio + " | " + known
	}) + "| any other | its session over HTTP | its process, from the first write on | what programs on an SDK do |\n"
}

// grouped calls say for each client. It returns a table with a row for each text: the clients with this text, then the
// text. Clients with an empty text are left out.
func grouped(say func(clients.Client) string) (rows string) {
	var order []string
	names := make(map[string][]string)
	for _, c := range clients.All() {
		said := say(c)
		if names[said] == nil {
			order = append(order, said)
		}
		names[said] = append(names[said], c.Title)
	}
	for _, said := range order {
		if said != "" {
			rows += "| " + strings.Join(names[said], ", ") + " | " + said + " |\n"
		}
	}
	return rows
}

func listedTable() string {
	return "| client | tool |\n|---|---|\n" + grouped(func(c clients.Client) string {
		if len(c.Tools) == 0 {
			return ""
		}
		return "`" + strings.Join(c.Tools, "`, `") + "`"
	}) + "| all others, and each client over HTTP without a session | `TodoWrite` |\n"
}

func clientsTable() string {
	names := make(map[bool][]string)
	for _, c := range clients.All() {
		sees := c.Sees != "" && c.Sees != clients.SeesText
		names[sees] = append(names[sees], c.Title)
	}
	return "| client | its results |\n|---|---|\n" +
		"| " + strings.Join(names[true], ", ") + " | text alone: its model would be shown structured content too |\n" +
		"| " + strings.Join(names[false], ", ") + ", any other | text, and structured content for the host |\n"
}
