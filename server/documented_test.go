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

// docs/variants.md says which client gets what, as the table of clients has it.
// -update rewrites it.
func TestDocumentedClients(t *testing.T) {
	const begin, end = "<!-- clients -->\n", "<!-- /clients -->\n"
	path := filepath.Join("..", "docs", "variants.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/variants.md has no %s…%s", begin, end)
	}
	want := clientsTable()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("the table of clients in docs/variants.md is\n%s\nthe program's is\n%s\nrun with -update", got, want)
	}
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
