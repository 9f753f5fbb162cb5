package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowedImports returns, for each package of this module, the packages of this module that it may
// import (docs/spec/architecture.md). A path that ends in "/..." also allows all packages below it.
func allowedImports() map[string][]string {
	model, board := "internal/todo", "internal/board"
	everything := []string{"server/...", "server", "tools", "prompts", model, board, "internal/store/...", "internal/store", "internal/account", "internal/render", "internal/watch", "internal/remote", "internal/audit", "internal/install", "internal/hook", "internal/notify", "internal/clients"}
	return map[string][]string{
		".":                        {"internal/cli"},
		"prompts":                  {},
		"tools":                    {model, board, "prompts", "internal/render"},
		"server":                   {"tools", "prompts", model, board, "internal/clients", "internal/render", "server/card", "server/jsonrpc", "server/subscriptions"},
		"server/subscriptions":     {model, board},
		"server/jsonrpc":           {model},
		"server/card":              {},
		"server/stdio":             {"server", "server/jsonrpc", "server/card", model},
		"server/mcphttp":           {"server", "server/signed", "server/jsonrpc", "server/card", "server/edge", "server/sse", model, board},
		"server/api":               {"internal/account", "server/edge", "server/sse", "internal/render", "tools", model, board},
		"server/panel":             {"internal/account", "server/card", "server/edge", "server/sse", "internal/render", model, board},
		"server/servertest":        append([]string{"internal/checktest", "internal/chattest"}, everything...),
		"server/sse":               {},
		"server/edge":              {model, board, "server/auth", "server/card", "server/signed", "server/sse"},
		"server/auth":              {model, board, "internal/atomicfile"},
		"server/signed":            {},
		"server/metrics":           {"server", "internal/store", board},
		"server/web":               {"server", "server/mcphttp", "server/api", "server/panel", "server/edge", "internal/hook", board},
		"internal/todo":            {},
		"internal/board":           {model, "internal/process"},
		"internal/process":         {},
		"internal/account":         {model},
		"internal/atomicfile":      {},
		"internal/install":         {"internal/atomicfile", "internal/clients", "internal/shell", "tools"},
		"internal/asutf8":          {},
		"internal/clients":         {},
		"internal/shell":           {},
		"internal/render":          {"internal/account", "internal/clients", "internal/shell", model},
		"internal/notify":          {"internal/account", "internal/clients", "internal/render", model, board},
		"internal/audit":           {model, board, "internal/render"},
		"internal/store":           {model, board, "internal/store/..."},
		"internal/store/record":    {model, board},
		"internal/store/sqlite":    {model, board, "internal/atomicfile", "internal/store/tables"},
		"internal/store/postgres":  {model, board, "internal/store/tables"},
		"internal/store/storetest": {"internal/checktest", model, board, "internal/store/record", "internal/store/tables"},
		"internal/store/tables":    {model, board, "internal/store/record"},
		"internal/hook":            {"tools", "prompts", "internal/atomicfile", "internal/process", "internal/clients", model, board},
		"internal/remote":          {"internal/account", model, board, "internal/render"},
		"internal/watch":           {"internal/account", model, board, "internal/render", "internal/remote"},
		"internal/cmd/shots":       everything,
		"internal/cmd/licenses":    {},
		"internal/cmd/man":         {"internal/cli"},
		"internal/cmd/release":     {"internal/cli"},
		"internal/cmd/page":        {},
		"internal/cmd/types":       {},
		"internal/cmd/ratchet":     {"internal/cli"},
		"internal/cmd/growth":      {model, board, "internal/store/..."},
		"internal/cmd/bench":       {"internal/cmd/page"},
		"internal/cmd/cost":        {"internal/clients", "internal/render", "internal/cmd/page", "tools"},
		"internal/chats":           {},
		"internal/faults":          {},
		"internal/windows":         {},
		"internal/cli":             {"internal/cli/...", "internal/install", "prompts"},
		"internal/cli/app":         {"internal/account", "internal/audit", "internal/hook", "internal/notify", "internal/render", "internal/store", model, board, "prompts", "server", "server/edge", "server/metrics", "tools"},
		"internal/cli/read":        {"internal/cli/app", "internal/account", "internal/render", model, board},
		"internal/cli/change":      {"internal/cli/app", "internal/render", model, board, "tools"},
		"internal/cli/storage":     {"internal/cli/app", "internal/render", "internal/store", model, board},
		"internal/cli/run":         append([]string{"internal/cli/app", "internal/cli/change", "internal/atomicfile", "internal/process"}, everything...),
		"internal/cli/setup":       append([]string{"internal/cli/app", "internal/cli/run"}, everything...),

		// only tests import these
		"internal/chattest":           {"internal/checktest", model},
		"internal/checktest":          {},
		"internal/programtest":        {"internal/cli/app", "internal/render"},
		"internal/replicas":           {},
		"internal/store/postgrestest": {},
	}
}

// From this module, a package imports only internal/asutf8 and its packages in allowedImports. From other modules,
// the model (internal/todo) and the account of lists (internal/account) import only Unicode's normal forms.
// The model is pure: it imports no context, os or sync. Tests may import more.
func TestImportDirections(t *testing.T) {
	table := allowedImports()
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
		pkg := filepath.ToSlash(filepath.Dir(path))
		allowed, known := table[pkg]
		if !known {
			t.Errorf("%s: package %s has no row in allowedImports", path, pkg)
			return nil
		}
		for _, imported := range imports(t, path) {
			if local, ok := strings.CutPrefix(imported, "github.com/todo-mcp/todo-mcp/"); ok && local != "internal/asutf8" && !matchesAny(local, allowed) {
				t.Errorf("%s imports %s, which package %s may not import", path, imported, pkg)
			} else if !ok && (pkg == "internal/todo" || pkg == "internal/account") && strings.Contains(imported, ".") && imported != "golang.org/x/text/unicode/norm" {
				t.Errorf("%s imports %s: the model and the account of lists may import only the standard library and Unicode's normal forms", path, imported)
			} else if pkg == "internal/todo" && slices.Contains([]string{"context", "os", "sync", "sync/atomic"}, imported) {
				t.Errorf("%s imports %s: the model is pure", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// go.mod has no replace directive: `go install` refuses a module with one.
func TestModuleCanBeInstalled(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil || regexp.MustCompile(`(?m)^\s*replace\b`).Match(mod) {
		t.Errorf("go.mod has a replace directive, %v", err)
	}
}

// imports returns the import paths of a Go file.
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

// matchesAny reports whether a package's path matches one of patterns, see allowedImports.
func matchesAny(imported string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "/...")
		return imported == pattern || below && strings.HasPrefix(imported, prefix+"/")
	})
}
