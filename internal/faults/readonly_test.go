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

// BAD-INPUT 50: when the folder of a store, then its file, then all files become
// read-only, reads go on, in the process that has it open and in a fresh one; a
// write is carried out (an open file stays writable) or refused with the reason.
// When the store is writable again, so it is for a process that had it open.
func TestReadOnly(t *testing.T) {
	var total readOnlyRun
	for _, state := range []string{inUse, killed, closed} {
		for name, modes := range map[string]permissions{
			"folder":    {folder: 0o555, file: 0o600, beside: 0o600},
			"file":      {folder: 0o700, file: 0o400, beside: 0o600},
			"all files": {folder: 0o555, file: 0o400, beside: 0o400},
		} {
			t.Run(state+"/"+name, func(t *testing.T) {
				dir, as := folderOfAUser(t)
				path := filepath.Join(dir, "todos.db")
				total.run(t, dir, as, path, state, func(on bool) {
					if on {
						modes.set(t, path)
					} else {
						permissions{folder: 0o700, file: 0o600, beside: 0o600}.set(t, path)
					}
				})
			})
		}
	}
	report.Add(t, total.row("read-only permissions", "folder, file or all files; store in use, after a kill, closed"))
}

// BAD-INPUT 50: the same on a file system that becomes read-only as a whole, as
// Linux does when it finds an error in it.
func TestReadOnlyFileSystem(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "read-only file system", why)
		return
	}
	var total readOnlyRun
	for _, state := range []string{inUse, killed, closed} {
		t.Run(state, func(t *testing.T) {
			m, err := mount(t, newDisk())
			if err != nil {
				t.Fatal(err)
			}
			total.run(t, t.TempDir(), nil, filepath.Join(m.dir, storePath), state, func(on bool) {
				m.setFault(nil)
				if on {
					m.setFault(func(op operation) syscall.Errno {
						if op.kind == syncs {
							return 0
						}
						return syscall.EROFS
					})
				}
			})
			m.unmount()
		})
	}
	report.Add(t, total.row("read-only file system", "store in use, after a kill, closed"))
}

// readOnlyRun counts what was seen in all cases.
type readOnlyRun struct {
	cases, acknowledged, lost, refused int
}

func (r *readOnlyRun) row(fault, tried string) row {
	return row{Fault: fault, Tried: tried, Times: fmt.Sprintf("%d cases", r.cases), Acknowledged: r.acknowledged, Lost: r.lost,
		Notes: fmt.Sprintf("all reads answered; %d writes refused with the reason", r.refused)}
}

// run brings a store into a state, makes it read-only and writable again, and checks
// what processes can do.
func (r *readOnlyRun) run(t *testing.T, dir string, as *user, path, state string, readOnly func(on bool)) {
	t.Helper()
	defer readOnly(false)
	store := "sqlite:" + path
	var acks journal
	open := func() *agent {
		t.Helper()
		a, err := newAgent(t, dir, as, "--store", store, "--list", "x")
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
		done, _, err := w.write(a)
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
	got, err := a.call("SetTodoList", `{}`, "")
	if err = errors.Join(err, got.refused()); err != nil || len(got.items()) == 0 {
		t.Errorf("%s reads %d items, %v", who, len(got.items()), err)
	}
}

// permissions are those of a store's folder, its file and the files beside it.
type permissions struct{ folder, file, beside os.FileMode }

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
