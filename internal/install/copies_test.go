package install_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/install"
)

// BAD-INPUT 167: `uninstall` of a file with a mark, without a last line end, or changed since → As
// it was, to the byte, without copy or empty folder. A copy that differs stays, and is named
func TestUninstallLeavesNothing(t *testing.T) {
	for client, before := range map[string]string{
		"gemini": "\ufeff{\"a\": 1}\r\n", "cursor": `{"mcpServers": {"k": {"command": "k"}}}`, "codex": "model = \"x\"\n[tui]\nnotifications = true",
	} {
		r := withFile(t, client, before)
		r.install(install.Options{})
		r.expectCopy(r.file(), before)
		r.uninstall(install.Options{})
		if entries, err := os.ReadDir(filepath.Dir(r.file())); err != nil || len(entries) != 1 || r.read(r.file()) != before {
			t.Errorf("%s: %q and %v (%v)", client, r.read(r.file()), entries, err)
		}
	}
	r := withFile(t, "cursor", `{"a": 1}`)
	r.install(install.Options{})
	r.write(r.file(), `{"b": 2, "mcpServers": {"todo": {"command": "todo-mcp"}}}`)
	change, err := r.Uninstall(r.m, install.Options{})
	if _, wrong := change.Write(); err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	if copies := change.Copies(); len(copies) != 1 || copies[0] != r.file()+".todo-mcp.bak" {
		t.Errorf("copies: %v", copies)
	}
}
