//go:build hosts && linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

// Claude Code accepts the repository as a marketplace, and installs its plugin from npm, in the release's version.
func TestPluginFromMarketplace(t *testing.T) {
	r := newRelease(t).mustMake(t)
	repository := checktest.Must(filepath.Abs(r.root))(t)
	claude, err := filepath.Glob(filepath.Join(repository, "testdata", "npm-hosts", "node_modules", "@anthropic-ai", "claude-code-*", "claude"))
	if err != nil || len(claude) != 1 {
		t.Fatalf("there are %v (%v): run `make hosts`", claude, err)
	}
	c := newComputer(t, newRegistry(t, r).url)
	for _, step := range []struct{ args, want string }{
		{"validate --strict " + repository, "Validation passed"},
		{"marketplace add " + repository, "added marketplace: todo-mcp"},
		{"install todo-mcp@todo-mcp", "installed plugin: todo-mcp@todo-mcp"},
		{"list", "Version: 1.2.3"},
	} {
		if out, log, code := c.run(append([]string{claude[0], "plugin"}, strings.Fields(step.args)...)...); code != 0 || !strings.Contains(out, step.want) {
			t.Errorf("%s: %d: %s%s", step.args, code, out, log)
		}
	}
}

// Codex accepts the repository as a marketplace, and installs its plugin from npm, in the release's version and with
// its server. Gemini CLI finds the extension valid, and installs it.
func TestPluginsOfOthers(t *testing.T) {
	r := newRelease(t).mustMake(t)
	repository := checktest.Must(filepath.Abs(r.root))(t)
	c := newComputer(t, newRegistry(t, r).url)
	gemini := filepath.Join(r.dist, "share", "gemini")
	for _, step := range []struct{ args, want string }{
		{"codex plugin marketplace add " + repository, "Added marketplace `todo-mcp`"},
		{"codex plugin add todo-mcp@todo-mcp --json", `"version": "1.2.3"`},
		{"codex mcp list", "todo-mcp"},
		{"gemini extensions validate " + gemini, "successfully validated"},
		{"gemini extensions install --consent " + gemini, "installed successfully"},
		{"gemini extensions list", "todo-mcp (1.2.3)"},
	} {
		// Gemini CLI asks whether the folder is trusted
		command := "yes | " + filepath.Join(repository, "testdata", "npm-hosts", "node_modules", ".bin", step.args)
		if out, log, code := c.run("sh", "-c", command); code != 0 || !strings.Contains(out+log, step.want) {
			t.Errorf("%s: %d: %s%s", step.args, code, out, log)
		}
	}
}
