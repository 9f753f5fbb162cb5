package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

var root = filepath.Join("..", "..", "..")

// By their digests the pictures of the documents are not older than their sources.
func TestPicturesAreNew(t *testing.T) {
	was, err := os.ReadFile(filepath.Join(root, "docs", "images", digests))
	if err != nil {
		t.Error(err)
	}
	now, err := drawnFrom(root)
	checktest.Check(t, err)
	for line := range strings.Lines(now) {
		if picture, _, _ := strings.Cut(line, " "); !strings.Contains(string(was), line) {
			t.Errorf("docs/images/%s is older than what it shows: `make shots`", picture)
		}
	}
}

// The result of drawnFrom changes with a page's texts and styles, and not with its code.
func TestDrawnFrom(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"server/panel", "server/card", "internal/watch", "internal/cmd/shots"} {
		checktest.Check(t, os.MkdirAll(filepath.Join(folder, name), 0o755))
	}
	write := func(name, text string) (lines string) {
		t.Helper()
		err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)
		checktest.Check(t, err)
		if lines, err = drawnFrom(folder); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	write("server/card/palette.css", "a")
	before := write("server/panel/draw.go", "package panel\n\nimport \"fmt\"\n\nfunc draw() { fmt.Print(`Waits for you`) }\n")
	if now := write("server/panel/draw.go", "package panel\n\n// Words.\nconst waits = `Waits for you`\n"); now != before {
		t.Error("a change of code counts")
	}
	for name, text := range map[string]string{"server/panel/draw.go": "package panel\n\nconst waits = `Asks`\n", "server/panel/panel.css": "b", "server/card/palette.css": "c", "internal/watch/keys.go": "package watch\n\nconst key = `x`\n"} {
		now := write(name, text)
		if now == before {
			t.Errorf("a change of %s does not count", name)
		}
		before = now
	}
}
