package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"todo-mcp/internal/install"
)

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

// asNobody makes this test's thread one of a user who may not do everything; it does
// nothing if it is one already.
func asNobody(t *testing.T, home string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	for dir := home; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := errors.Join(syscall.Setfsgid(nobody), syscall.Setfsuid(nobody)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Setfsuid(0), syscall.Setfsgid(0) })
}

// BAD-INPUT 95: a file that may not be read, or may not be written, and a folder in
// which nothing may be made: the error says so, and nothing is changed.
func TestProtected(t *testing.T) {
	for _, c := range []struct {
		name         string
		file, folder os.FileMode
	}{
		{"unreadable", 0, 0o700},
		{"read-only", 0o400, 0o700},
		{"in a read-only folder", 0o600, 0o500},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, client := newMachine(t), find(t, "gemini")
			path, before := sample(t, m, client)
			asNobody(t, m.Home)
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Dir(path), c.folder); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
			change, err := client.Install(m, install.Options{})
			if err == nil {
				_, err = change.Write()
			}
			if err == nil || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), path) {
				t.Error(err)
			}
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if names := entries(t, filepath.Dir(path)); len(names) != 1 || read(t, path) != before {
				t.Errorf("there are %q", names)
			}
		})
	}
}

// BAD-INPUT 95: a file whose reading fails is left as it is.
func TestUnreadableDevice(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	path := file(t, m, c)
	write(t, filepath.Join(filepath.Dir(path), "other"), "")
	if err := os.Symlink("/proc/self/mem", path); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(m, install.Options{}); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Error(err)
	}
}

// Who changes another's file with the rights of root leaves it to its owner.
func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		return // nobody else may give files away
	}
	m, c := newMachine(t), find(t, "gemini")
	path, _ := sample(t, m, c)
	if err := os.Chown(path, 1234, 5678); err != nil {
		t.Fatal(err)
	}
	change, err := c.Install(m, install.Options{})
	apply(t, change, err)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if of := info.Sys().(*syscall.Stat_t); of.Uid != 1234 || of.Gid != 5678 {
		t.Errorf("it belongs to %d:%d", of.Uid, of.Gid)
	}
}
