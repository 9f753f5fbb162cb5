package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	read := func(want string, mode os.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != want {
			t.Fatalf("read %q (%v, %v), want %q", got, err, statErr, want)
		}
		if runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("mode %v, want %v", info.Mode(), mode)
		}
	}
	if err := atomicfile.Write(path, []byte("one"), nil); err != nil {
		t.Fatal(err)
	}
	read("one", 0o600)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("two"), func() error { read("one", 0o644); return nil }); err != nil {
		t.Fatal(err)
	}
	read("two", 0o644)
	no := errors.New("no")
	if err := atomicfile.Write(path, []byte("three"), func() error { return no }); !errors.Is(err, no) {
		t.Errorf("error %v, not what check returned", err)
	}
	read("two", 0o644)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (%v)", left, err)
	}
}
