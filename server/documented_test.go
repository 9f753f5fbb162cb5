package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The documents have the tables of clients that the program has. -update rewrites them.
func TestDocumentedClients(t *testing.T) {
	checkTable(t, "variants.md", "listed", listedTable())
	checkTable(t, "variants.md", "clients", clientsTable())
	checkTable(t, "lists.md", "conversations", conversationsTable())
}

// checkTable checks what stands between two marks of a document.
func checkTable(t *testing.T, document, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->\n"
	path := filepath.Join("..", "docs", document)
	data := servertest.Must(os.ReadFile(path))(t)
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/%s has no %s…%s", document, begin, end)
	}
	if *update {
		servertest.Check(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if got != want {
		t.Errorf("the table %s in docs/%s is\n%s\nthe program's is\n%s\nrun with -update", mark, document, got, want)
	}
}

// conversationsTable returns in markdown by what clients' chats are told apart.
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

// grouped returns rows of a table: clients of which the same is said, and that; without those of
// which nothing is said.
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

// listedTable returns in markdown which tool each client is listed.
func listedTable() string {
	return "| client | tool |\n|---|---|\n" + grouped(func(c clients.Client) string {
		if len(c.Tools) == 0 {
			return ""
		}
		return "`" + strings.Join(c.Tools, "`, `") + "`"
	}) + "| all others, and each client over HTTP without a session | `TodoWrite` |\n"
}

// clientsTable returns in markdown which clients get structured content.
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
