package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

// asNobody makes this test's thread act as the user nobody, if the test runs as root; otherwise it does nothing.
func asNobody(t *testing.T, home string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	for dir := home; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		checktest.Check(t, os.Chmod(dir, 0o755))
	}
	err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	checktest.Check(t, err)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	checktest.Check(t, errors.Join(syscall.Setfsgid(nobody), syscall.Setfsuid(nobody)))
	t.Cleanup(func() { _, _ = syscall.Setfsuid(0), syscall.Setfsgid(0) })
}

// BAD-INPUT 95: A client's file: missing, a link, a pipe, over 300 MB, unreadable, protected, or
// changed since read; a relative `HOME` → The file is replaced whole, with mode and owner, after a
// private copy, or [left](../clients.md); `HOME` is refused
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
			r := newRig(t, "gemini").sample()
			path, before := r.file(), r.files()
			asNobody(t, r.m.Home)
			checktest.Check(t, errors.Join(os.Chmod(path, c.file), os.Chmod(filepath.Dir(path), c.folder)))
			change, err := r.Install(r.m, install.Options{})
			if err == nil {
				err = change.Write()
			}
			checktest.Fails(t, "error", err, "permission denied: `install --print` shows", path)
			checktest.Check(t, errors.Join(os.Chmod(filepath.Dir(path), 0o700), os.Chmod(path, 0o600)))
			r.expectFiles(before)
		})
	}
}

// A file that root changes still belongs to its owner.
func TestOwnerStays(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root may change a file's owner
	}
	r := newRig(t, "gemini").sample()
	checktest.Check(t, os.Chown(r.file(), 1234, 5678))
	r.install(install.Options{})
	info := checktest.Must(os.Stat(r.file()))(t)
	if of := info.Sys().(*syscall.Stat_t); of.Uid != 1234 || of.Gid != 5678 {
		t.Errorf("it belongs to %d:%d", of.Uid, of.Gid)
	}
}
