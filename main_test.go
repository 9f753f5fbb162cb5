package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// directions is what each room may import of this module (ARCHITECTURE.md,
// "Rooms and directions"). A prefix ending in "/..." stands for what is below.
func directions() map[string][]string {
	model := "internal/todo"
	everything := []string{"server/...", "server", "tools", "prompts", model, "internal/store/...", "internal/store", "internal/render", "internal/watch", "internal/remote"}
	return map[string][]string{
		".":                        {"internal/cli"},
		"prompts":                  {},
		"tools":                    {model, "prompts"},
		"server":                   {"tools", "prompts", model, "internal/render", "server/card"},
		"server/jsonrpc":           {model},
		"server/card":              {"server/palette"},
		"server/palette":           {},
		"server/stdio":             {"server", "server/jsonrpc", "server/card", model},
		"server/mcphttp":           {"server", "server/jsonrpc", "server/card", "server/edge", model},
		"server/api":               {"server/edge", "server/sse", "internal/render", "tools", model},
		"server/panel":             {"server/palette", "server/edge", "server/sse", "internal/render", model},
		"server/servertest":        everything,
		"server/sse":               {model},
		"server/edge":              {model, "server/sse"},
		"server/web":               {"server", "server/mcphttp", "server/api", "server/panel", "server/edge", "server/sse", model},
		"internal/todo":            {},
		"internal/render":          {model},
		"internal/store":           {model, "internal/store/..."},
		"internal/store/memory":    {model},
		"internal/store/record":    {model},
		"internal/store/sqlite":    {model, "internal/store/record"},
		"internal/store/storetest": {model},
		"internal/remote":          {model, "internal/render"},
		"internal/watch":           {model, "internal/render", "internal/remote"},
		"internal/cmd/shots":       everything,
		"internal/cli":             everything,
	}
}

// Every room imports only what its row allows; the model only the standard
// library. Tests may import more.
func TestImportDirections(t *testing.T) {
	allowed := directions()
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "testdata" || e.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		room := filepath.ToSlash(filepath.Dir(path))
		may, known := allowed[room]
		if !known {
			t.Errorf("%s: room %s has no row in directions()", path, room)
			return nil
		}
		for _, imported := range imports(t, path) {
			if ours, ok := strings.CutPrefix(imported, "todo-mcp/"); ok && !within(ours, may) {
				t.Errorf("%s imports %s, which %s may not", path, imported, room)
			} else if room == "internal/todo" && (ok || strings.Contains(imported, ".")) {
				t.Errorf("%s imports %s: the model is standard library only", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func imports(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}

func within(imported string, may []string) bool {
	return slices.ContainsFunc(may, func(m string) bool {
		below, tree := strings.CutSuffix(m, "/...")
		return imported == m || tree && strings.HasPrefix(imported, below)
	})
}
