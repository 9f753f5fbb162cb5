//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A store is in one of these states when it becomes read-only.
const (
	inUse  = "in use"     // a process has it open
	killed = "after kill" // none has; a log is left
	closed = "closed"     // none has, and there is no log
)

// readOnly returns the place of a new store, as whom processes run, and what makes the
// store read-only or writable again.
type readOnly func(t *testing.T) (path string, as *user, set func(on bool))

// BAD-INPUT 50: when the folder of a store, then its file, then all files become
// read-only, or the file system as a whole, as Linux makes it when it finds an error in
// it, reads go on, in the process that has it open and in a fresh one; a
// write is carried out (an open file stays writable) or refused with the reason.
// When the store is writable again, so it is for a process that had it open.
func TestReadOnly(t *testing.T) {
	for fault, ways := range map[string]map[string]readOnly{
		"read-only permissions": {
			"folder":    permissions{folder: 0o555, file: 0o600, beside: 0o600}.readOnly,
			"file":      permissions{folder: 0o700, file: 0o400, beside: 0o600}.readOnly,
			"all files": permissions{folder: 0o555, file: 0o400, beside: 0o400}.readOnly,
		},
		"read-only file system": {"file system": readOnlyFileSystem},
	} {
		if why := canMount(t); why != "" && fault == "read-only file system" {
			notRun(t, fault, why)
			continue
		}
		var total readOnlyRun
		for _, state := range []string{inUse, killed, closed} {
			for name, way := range ways {
				t.Run(state+"/"+name, func(t *testing.T) { total.run(t, way, state) })
			}
		}
		report.Add(t, row{Fault: fault, Tried: "store in use, after a kill, closed", Times: fmt.Sprintf("%d cases", total.cases),
			Acknowledged: total.acknowledged, Lost: total.lost,
			Notes: fmt.Sprintf("all reads answered; %d writes refused with the reason", total.refused)})
	}
}

func readOnlyFileSystem(t *testing.T) (path string, as *user, set func(on bool)) {
	m, err := mount(t, newDisk())
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(op operation) syscall.Errno {
		if op.kind == syncs {
			return 0
		}
		return syscall.EROFS
	}
	return filepath.Join(m.dir, storePath), nil, func(on bool) {
		if m.setFault(nil); on {
			m.setFault(refuse)
		}
	}
}

// readOnlyRun counts what was seen in all cases.
type readOnlyRun struct {
	cases, acknowledged, lost, refused int
}

// run brings a store into a state, makes it read-only and writable again, and checks
// what processes can do.
func (r *readOnlyRun) run(t *testing.T, way readOnly, state string) {
	t.Helper()
	path, as, readOnly := way(t)
	defer readOnly(false)
	dir := filepath.Dir(path)
	if as == nil {
		dir = t.TempDir()
	}
	store := "sqlite:" + path
	var acks journal
	open := func() *agent {
		t.Helper()
		a, err := newAgentAs(t, dir, as, "--store", store, "--list", "x")
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first, w := open(), newWriter("first")
	r.writes(t, w, first, &acks, true)
	switch state {
	case killed:
		first.Kill()
	case closed:
		first.In.Close()
		if err := first.Wait(slowest); err != nil {
			t.Fatal(err)
		}
	}

	readOnly(true)
	fresh := open()
	reads(t, "a fresh process", fresh)
	r.writes(t, newWriter("fresh"), fresh, &acks, false)
	reads(t, "a fresh process after its write", fresh)
	if state == inUse {
		r.writes(t, w, first, &acks, false)
		reads(t, "the process that has it open", first)
	}

	readOnly(false)
	if state == inUse {
		r.writes(t, w, first, &acks, true)
		first.Kill()
	}
	fresh.Kill()
	r.writes(t, newWriter("next"), open(), &acks, true)
	_, lost := checkStoreAs(t, dir, as, path, acks.Acks)
	r.cases, r.acknowledged, r.lost = r.cases+1, r.acknowledged+acks.Len(), r.lost+lost
}

// writes makes some writes. Those that are refused, if they may be, say why.
func (r *readOnlyRun) writes(t *testing.T, w *writer, a *agent, acks *journal, must bool) {
	t.Helper()
	for range 3 {
		done, err := w.write(a.Chat)
		switch {
		case err == nil:
			acks.Add(done)
		case must:
			t.Errorf("%s: %v", w.Name, err)
		case strings.Contains(err.Error(), "make its folder, the file and those beside it (-wal, -shm) readable and writable") ||
			strings.Contains(err.Error(), "read-only file system"):
			r.refused++
		default:
			t.Errorf("%s: the refusal does not say why: %v", w.Name, err)
		}
	}
}

func reads(t *testing.T, who string, a *agent) {
	t.Helper()
	got, err := a.Try("SetTodoList", `{}`)
	if err = errors.Join(err, got.Refused()); err != nil || len(got.Items()) == 0 {
		t.Errorf("%s reads %d items, %v", who, len(got.Items()), err)
	}
}

// permissions are the modes of a store's folder, its file and the files beside it.
type permissions struct{ folder, file, beside os.FileMode }

func (p permissions) readOnly(t *testing.T) (path string, as *user, set func(on bool)) {
	dir, as := folderOfAUser(t)
	path = filepath.Join(dir, "todos.db")
	return path, as, func(on bool) {
		if on {
			p.set(t, path)
		} else {
			permissions{folder: 0o700, file: 0o600, beside: 0o600}.set(t, path)
		}
	}
}

func (p permissions) set(t *testing.T, path string) {
	t.Helper()
	err := os.Chmod(path, p.file)
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, missing := os.Stat(path + suffix); missing == nil {
			err = errors.Join(err, os.Chmod(path+suffix, p.beside))
		}
	}
	if err = errors.Join(err, os.Chmod(filepath.Dir(path), p.folder)); err != nil {
		t.Fatal(err)
	}
}

// folderOfAUser returns a folder that belongs to a user whom permissions bind, which
// is the one who runs the tests, unless that is root.
func folderOfAUser(t *testing.T) (dir string, as *user) {
	t.Helper()
	dir = t.TempDir()
	if os.Getuid() != 0 {
		return dir, nil
	}
	const nobody = 65534
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody))
	if err != nil {
		t.Fatal(err)
	}
	return dir, &user{Uid: nobody, Gid: nobody}
}
