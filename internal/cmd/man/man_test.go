package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each command has a page with its flags, and two runs write the same pages.
func TestPages(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	first, second := t.TempDir(), t.TempDir()
	for _, folder := range []string{first, second} {
		if err := write(folder); err != nil {
			t.Fatal(err)
		}
	}
	for page, want := range map[string]string{
		"todo-mcp.1": "todo-mcp-serve(1)", "todo-mcp-serve.1": `--addr\fP=127.0.0.1:8765`, "todo-mcp-edit.1": "merged with what agents write",
	} {
		text, err := os.ReadFile(filepath.Join(first, page))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %s, %v", page, want, err)
		}
		again, err := os.ReadFile(filepath.Join(second, page))
		if err != nil || string(again) != string(text) {
			t.Errorf("%s differs the second time, %v", page, err)
		}
	}
}
