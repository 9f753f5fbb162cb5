package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

// BAD-INPUT 85: Work of others in the binary → LICENSES has their licence texts
func TestLicensesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	want, err := collect(t.Context(), root)
	checktest.Check(t, err)
	got, err := read(filepath.Join(root, "LICENSES"))
	if err != nil {
		t.Fatal(err, "(run `make licenses`)")
	}
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("LICENSES/%s is missing or stale: run `make licenses`", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("LICENSES/%s is of nothing that the binary contains: run `make licenses`", name)
	}
	for _, module := range []string{"modernc.org/sqlite", "golang.org/x/text", "go"} {
		if len(want[module+"/LICENSE.txt"]) == 0 {
			t.Errorf("there is no licence of %s", module)
		}
	}
}

func read(folder string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(root, name)
		return err
	})
	return files, err
}
