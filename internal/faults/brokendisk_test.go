//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

type diskFault struct {
	name, tried string
	errno       syscall.Errno
	hits        func(operation) bool
	limit       uint64 // in place of errno and hits: no file may be written beyond this many bytes
	says        *regexp.Regexp
	// all is true if every write fails. A full disk still takes small writes if the log has room for them.
	all bool
}

// sharedMemory reports whether a file is the -shm file, memory that SQLite's processes share. The kernel may write this
// memory to the disk at any time, and reports no failure.
func sharedMemory(name string) bool { return strings.HasSuffix(name, "-shm") }

func diskFaults() []diskFault {
	full, failed := regexp.MustCompile(`full`), regexp.MustCompile(`disk I/O error`)
	return []diskFault{
		{name: "no space", tried: "disk full: no file grows, none is made", errno: syscall.ENOSPC, says: full,
			hits: func(op operation) bool { return op.kind == grows || op.kind == creates }},
		{name: "write error", tried: "every write of a file fails", errno: syscall.EIO, says: failed, all: true,
			hits: func(op operation) bool {
				return (op.kind == writes || op.kind == grows || op.kind == truncates) && !sharedMemory(op.name)
			}},
		{name: "sync error", tried: "every sync of a file fails, and drops what it was to write", errno: syscall.EIO, says: failed, all: true,
			hits: func(op operation) bool { return op.kind == syncs && !op.folder }},
		{name: "file size limit", tried: "no file may be written beyond 16 kB (RLIMIT_FSIZE)", limit: 16 << 10,
			says: regexp.MustCompile(`full|disk I/O error`)},
	}
}

// BAD-INPUT 50: A full disk, a failing sync, a store that fails or hangs, a file moved or deleted → Errors in bounded
// time, one log line each, not ready; reads go on, unless the file is gone. A write is applied, refused, or of unknown
// outcome
func TestDiskFails(t *testing.T) {
	why := canMount(t)
	for _, fault := range diskFaults() {
		if why != "" && fault.limit == 0 {
			notRun(t, fault.name, why)
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			total := row{Fault: fault.name, Tried: fault.tried}
			var refused, unknown int
			disks, times := size(1, 4), size(2, 10)
			for n := range disks {
				random := rand.New(rand.NewPCG(uint64(n), uint64(fault.errno)))
				got := failAgainAndAgain(t, fault, times, random)
				refused, unknown = refused+len(got.refused), unknown+len(got.unknown)
				if total.Acknowledged, total.Lost = total.Acknowledged+got.acks.Len(), total.Lost+got.lost; t.Failed() {
					t.Fatalf("disk %d", n)
				}
			}
			if refused+unknown < disks*times {
				t.Errorf("%d writes refused, %d unknown: the fault was hardly met", refused, unknown)
			}
			total.Times = fmt.Sprintf("%d faults, 3 processes", disks*times)
			total.Notes = fmt.Sprintf("%d refused: not applied; %d unknown: repeated, applied once; then they write again", refused, unknown)
			report.Add(t, total)
		})
	}
}

type brokenDisk struct {
	path string // the path of the store
	// fail begins or ends the fault for a fleet.
	fail func(on bool, f *fleet)
	// end ends the fleet, by a loss of power if the disk can simulate it, and returns the path of the store that
	// remains.
	end func(f *fleet) string
}

func (fault diskFault) disk(t *testing.T, random *rand.Rand) brokenDisk {
	t.Helper()
	if fault.limit > 0 {
		path := filepath.Join(t.TempDir(), "todos.db")
		return brokenDisk{path, func(on bool, f *fleet) {
			f.limitFiles(t, map[bool]uint64{true: fault.limit, false: unix.RLIM_INFINITY}[on])
		}, func(f *fleet) string { f.kill(); return path }}
	}
	m := checktest.Must(mount(t, newDisk()))(t)
	return brokenDisk{filepath.Join(m.dir, storePath), func(on bool, _ *fleet) {
		if m.setFault(nil); on {
			m.setFault(fault.after(random.IntN(40)))
		}
	}, func(f *fleet) string {
		defer m.unmount()
		m.cut()
		f.kill()
		dir := t.TempDir()
		checktest.Check(t, m.afterPowerLoss(luck{0, 4096, random}).root.copyTo(dir))
		return filepath.Join(dir, storePath)
	}}
}

func (f *fleet) limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	for _, p := range f.processes {
		limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) { // the process may have been killed
			t.Fatal(err)
		}
	}
}

// failAgainAndAgain has three processes write to a disk that fails and recovers again and again. In some rounds all
// processes are killed while the disk fails. After the last round they lose power or are killed.
func failAgainAndAgain(t *testing.T, fault diskFault, times int, random *rand.Rand) *outcomes {
	t.Helper()
	d := fault.disk(t, random)
	f, out := newFleet(d.path), &outcomes{}
	f.start(t)
	defer f.kill()
	for n := range times {
		writeAll(t, f.clients, out, fault, 1+random.IntN(size(20, 60)))
		d.fail(true, f)
		writeAll(t, f.clients, out, fault, size(6, 12))
		for _, c := range f.clients {
			reads(t, c.writer.Name, c.Chat)
		}
		checktest.Must(export(t, f.store))(t) // by a fresh process
		if n == 0 && fault.all {
			checkReady(t, f.web.url, http.StatusServiceUnavailable)
		}
		killed := n%3 == 1 || n == times-1
		if killed {
			f.kill()
		}
		d.fail(false, f)
		if killed {
			f.start(t)
		}
		repeatUnknown(t, f.clients, out)
	}
	checkReady(t, f.web.url, http.StatusOK)
	out.check(t, d.end(f), true)
	return out
}

func (fault diskFault) after(operations int) func(operation) syscall.Errno {
	return func(op operation) syscall.Errno {
		if operations > 0 {
			operations--
			return 0
		}
		if fault.hits(op) {
			return fault.errno
		}
		return 0
	}
}

type faultClient struct {
	*servertest.Chat
	*writer
	pending []pendingWrite
}

type pendingWrite struct{ tool, args, write string }

// fleet is three processes on one store, each with a client: two on stdio, and one that serves HTTP. The first and the
// last client write the same list.
type fleet struct {
	store     string
	processes []*process
	web       *serving
	clients   []*faultClient
}

func newFleet(path string) *fleet {
	f := &fleet{store: "sqlite:" + path}
	for _, name := range []string{"w0", "w1", "h"} {
		f.clients = append(f.clients, &faultClient{writer: newWriter(name)})
	}
	return f
}

// start starts the processes, for the first time or again. The HTTP client keeps its session.
func (f *fleet) start(t *testing.T) {
	t.Helper()
	f.processes = nil
	for i := range 2 {
		a := checktest.Must(newAgent(t, "--store", f.store, "--list", fmt.Sprint("list-", i)))(t)
		f.clients[i].Chat = a.Chat
		f.processes = append(f.processes, a.process)
	}
	f.web = mustServe(t, "--store", f.store)
	f.processes = append(f.processes, f.web.process)
	if c := f.clients[2]; c.Chat != nil {
		c.Chat = c.At(f.web.endpoint("list-0"))
	} else {
		c.Chat = f.web.session(t, "list-0")
	}
}

func (f *fleet) kill() {
	for _, p := range f.processes {
		p.Kill()
	}
}

// slowest is how long a call may take, see docs/spec/architecture.md.
const slowest = 11 * time.Second

func writeAll(t *testing.T, clients []*faultClient, out *outcomes, fault diskFault, times int) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for range times {
				tool, args, write := c.Next()
				began := time.Now()
				a, err := c.InOperation(write).Try(tool, args)
				if took := time.Since(began); took > slowest {
					t.Errorf("%s: a write took %s", fault.name, took)
				}
				if err != nil {
					t.Errorf("%s: %v", fault.name, err)
					return
				}
				if out.sort(a, write) == isUnknown {
					c.pending = append(c.pending, pendingWrite{tool, args, write})
				}
				if a.Refused() != nil && !fault.says.MatchString(a.Refused().Error()) {
					t.Errorf("%s: the refusal does not say why: %v", fault.name, a.Refused())
				}
			}
		})
	}
	all.Wait()
}

// repeatUnknown repeats, after the fault, each write whose outcome is unknown. Then each client makes a new write. All
// these writes must succeed.
func repeatUnknown(t *testing.T, clients []*faultClient, out *outcomes) {
	t.Helper()
	for _, c := range clients {
		tool, args, write := c.Next()
		for _, w := range append(c.pending, pendingWrite{tool, args, write}) {
			a, err := c.InOperation(w.write).Try(w.tool, w.args)
			if err = errors.Join(err, a.Refused()); err != nil {
				t.Errorf("after the fault: %v", err)
				return
			}
			out.sort(a, w.write)
		}
		c.pending = nil
	}
}

func checkReady(t *testing.T, url string, want int) (said string) {
	t.Helper()
	programtest.Await(t, fmt.Sprint("/readyz answers ", want), func() bool {
		status, body := get(url + "/readyz")
		said = body
		return status == want
	})
	return said
}

// A store is in one of these states when it becomes read-only.
const (
	inUse  = "in use"     // a process has it open
	killed = "after kill" // no process has it open; a log is left
	closed = "closed"     // no process has it open, and there is no log
)

type readOnly func(t *testing.T) (path string, as *user, set func(on bool))

// BAD-INPUT 50: when a store's files, its folder or its file system become read-only, reads go on; a write is carried
// out (an open file stays writable) or refused with the reason.
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
		r := readOnlyRun{row: row{Fault: fault, Tried: "store in use, after a kill, closed", Times: fmt.Sprintf("%d cases", 3*len(ways))}}
		for _, state := range []string{inUse, killed, closed} {
			for name, way := range ways {
				t.Run(state+"/"+name, func(t *testing.T) { r.run(t, way, state) })
			}
		}
		r.Notes = fmt.Sprintf("all reads answered; %d writes refused with the reason", r.refused)
		report.Add(t, r.row)
	}
}

func readOnlyFileSystem(t *testing.T) (path string, as *user, set func(on bool)) {
	m := checktest.Must(mount(t, newDisk()))(t)
	return filepath.Join(m.dir, storePath), nil, func(on bool) {
		m.setFault(func(op operation) syscall.Errno {
			if !on || op.kind == syncs {
				return 0
			}
			return syscall.EROFS
		})
	}
}

type readOnlyRun struct {
	row
	refused int
}

func (r *readOnlyRun) run(t *testing.T, way readOnly, state string) {
	t.Helper()
	path, as, readOnly := way(t)
	defer readOnly(false)
	dir := filepath.Dir(path)
	if as == nil {
		dir = t.TempDir()
	}
	var acks journal
	open := func() *agent {
		t.Helper()
		return checktest.Must(newAgentAs(t, dir, as, "--store", "sqlite:"+path, "--list", "x"))(t)
	}
	first, w := open(), newWriter("first")
	r.writes(t, w, first, &acks, true)
	switch state {
	case killed:
		first.Kill()
	case closed:
		first.In.Close()
		checktest.Check(t, first.Wait(slowest))
	}

	readOnly(true)
	fresh := open()
	reads(t, "a fresh process", fresh.Chat)
	r.writes(t, newWriter("fresh"), fresh, &acks, false)
	reads(t, "a fresh process after its write", fresh.Chat)
	if state == inUse {
		r.writes(t, w, first, &acks, false)
		reads(t, "the process that has it open", first.Chat)
	}

	readOnly(false)
	if state == inUse {
		r.writes(t, w, first, &acks, true)
		first.Kill()
	}
	fresh.Kill()
	r.writes(t, newWriter("next"), open(), &acks, true)
	_, lost := checkStore(t, dir, as, path, acks.Acks)
	r.Acknowledged, r.Lost = r.Acknowledged+acks.Len(), r.Lost+lost
}

func (r *readOnlyRun) writes(t *testing.T, w *writer, a *agent, acks *journal, must bool) {
	t.Helper()
	why := regexp.MustCompile(`make its folder, the file and those beside it \(-wal, -shm\) readable and writable|read-only file system`)
	for range 3 {
		done, err := w.write(a.Chat)
		switch {
		case err == nil:
			acks.Add(done)
		case must || !why.MatchString(err.Error()):
			t.Errorf("%s, has to: %t: %v", w.Name, must, err)
		default:
			r.refused++
		}
	}
}

func reads(t *testing.T, who string, c *servertest.Chat) {
	t.Helper()
	if got, err := try(c, "SetTodoList", `{}`); err != nil || len(got.Items()) == 0 {
		t.Errorf("%s reads %d items, %v", who, len(got.Items()), err)
	}
}

type permissions struct{ folder, file, beside os.FileMode }

func (p permissions) readOnly(t *testing.T) (path string, as *user, set func(on bool)) {
	dir, as := folderOfAUser(t)
	path = filepath.Join(dir, "todos.db")
	return path, as, func(on bool) {
		modes := permissions{folder: 0o700, file: 0o600, beside: 0o600}
		if on {
			modes = p
		}
		err := os.Chmod(path, modes.file)
		for _, suffix := range []string{"-wal", "-shm"} {
			if missing := os.Chmod(path+suffix, modes.beside); !errors.Is(missing, os.ErrNotExist) {
				err = errors.Join(err, missing)
			}
		}
		checktest.Check(t, errors.Join(err, os.Chmod(dir, modes.folder)))
	}
}

// folderOfAUser returns a folder whose owner is bound by file permissions: the user nobody if root runs the tests, else
// the user who runs them, returned as nil.
func folderOfAUser(t *testing.T) (dir string, as *user) {
	t.Helper()
	dir = t.TempDir()
	if os.Getuid() != 0 {
		return dir, nil
	}
	const nobody = 65534
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody))
	checktest.Check(t, err)
	return dir, &user{Uid: nobody, Gid: nobody}
}
