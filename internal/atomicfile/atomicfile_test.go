package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"todo-mcp/internal/atomicfile"
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

// What is private is so also in the place of what others could read, and goes through
// no link.
func TestWritePrivate(t *testing.T) {
	for name, place := range map[string]func(path, other string) error{
		"nothing": func(string, string) error { return nil },
		"a file":  func(path, _ string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)) },
		"a link":  func(path, other string) error { return os.Symlink(other, path) },
	} {
		dir := t.TempDir()
		path, other := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "other")
		err := errors.Join(os.WriteFile(other, []byte("other"), 0o600), os.Chmod(other, 0o644), place(path, other))
		if err == nil {
			err = atomicfile.WritePrivate(path, []byte("secret"))
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("in the place of %s it is %v (%v)", name, info.Mode(), err)
		}
		got, err := os.ReadFile(path)
		kept, keptErr := os.ReadFile(other)
		if err != nil || keptErr != nil || string(got) != "secret" || string(kept) != "other" {
			t.Errorf("in the place of %s it has %q (%v), and the other %q (%v)", name, got, err, kept, keptErr)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("the folder has %v (%v)", left, err)
		}
	}
}
