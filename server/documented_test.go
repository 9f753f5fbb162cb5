package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/render"
	"todo-mcp/server"
)

// The tables of clients in the documents are those of the program. -update rewrites
// them.
func TestDocumentedClients(t *testing.T) {
	checkTable(t, "variants.md", "clients", clientsTable())
	checkTable(t, "lists.md", "conversations", conversationsTable())
}

// checkTable checks what stands between two marks of a document.
func checkTable(t *testing.T, document, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->\n"
	path := filepath.Join("..", "docs", document)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/%s has no %s…%s", document, begin, end)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the table %s in docs/%s is\n%s\nthe program's is\n%s\nrun with -update", mark, document, got, want)
	}
}

// conversationsTable returns in markdown by what each client's chats are told apart.
func conversationsTable() string {
	text := "| client | certain by | without that, over stdio | known by |\n|---|---|---|---|\n"
	seen := make(map[string]bool)
	for _, c := range server.Conversations() {
		name := render.Client(c.Prefix)
		if seen[name] {
			continue
		}
		seen[name] = true
		certain, stdio, known := "its session over HTTP", "its process, from the first write on", "what programs of its kind do"
		switch {
		case c.ChatID != "":
			certain = "`" + c.ChatID + "` in each call"
		case c.SessionPerCall:
			certain = "–: a session is a call"
		case c.Shares:
			certain = "–"
		}
		if c.Variable != "" {
			stdio = "`" + c.Variable + "`, from the first write on"
		}
		if c.Shares {
			stdio = "what it writes: chats share a process"
		}
		if c.Evidence != "" {
			known = c.Evidence
		}
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", name, certain, stdio, known)
	}
	return text + "| any other | its session over HTTP | its process, from the first write on | what programs on an SDK do |\n"
}

// clientsTable returns the table of clients in markdown, those that get the same
// in one row.
func clientsTable() string {
	type gets struct {
		tool       string
		structured bool
	}
	var order []gets
	names := make(map[gets][]string)
	for _, c := range server.ClientTable() {
		key, name := gets{c.Tool, c.Structured}, render.Client(c.Prefix)
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
		if !slices.Contains(names[key], name) {
			names[key] = append(names[key], name)
		}
	}
	text := "| client | is listed | its results |\n|---|---|---|\n"
	for _, key := range order {
		text += clientsRow(strings.Join(names[key], ", "), key.tool, key.structured)
	}
	return text + clientsRow("any other", server.BestTool("somebody"), true)
}

func clientsRow(names, tool string, structured bool) string {
	result := "text alone: its model would be shown structured content too"
	if structured {
		result = "text, and structured content for the host"
	}
	return fmt.Sprintf("| %s | `%s` | %s |\n", names, tool, result)
}

// Every known client has a name that people know it by.
func TestClientsHaveNames(t *testing.T) {
	for _, c := range server.ClientTable() {
		if name := render.Client(c.Prefix); name == c.Prefix && name != "opencode" {
			t.Errorf("%s has no name in render.Client", c.Prefix)
		}
	}
}
