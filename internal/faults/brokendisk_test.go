//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"todo-mcp/internal/todo"
)

// diskFault is a way in which a disk fails, and what a refusal of a write then says.
type diskFault struct {
	name, tried string
	errno       syscall.Errno
	hits        func(operation) bool
	says        *regexp.Regexp
	// all is whether no write succeeds. On a full disk the small ones still do for
	// which the log has room.
	all bool
}

// sharedMemory reports whether a file holds memory that SQLite's processes share.
// The kernel writes it back when it likes and tells nobody that it could not.
func sharedMemory(name string) bool { return strings.HasSuffix(name, "-shm") }

func diskFaults() []diskFault {
	return []diskFault{
		{"no space", "disk full: no file grows, none is made", syscall.ENOSPC,
			func(op operation) bool { return op.kind == grows || op.kind == creates }, regexp.MustCompile(`full`), false},
		{"write error", "every write of a file fails", syscall.EIO,
			func(op operation) bool {
				return (op.kind == writes || op.kind == grows || op.kind == truncates) && !sharedMemory(op.name)
			}, regexp.MustCompile(`disk I/O error`), true},
		{"sync error", "every sync of a file fails, and drops what it was to write", syscall.EIO,
			func(op operation) bool { return op.kind == syncs && !op.folder }, regexp.MustCompile(`disk I/O error`), true},
	}
}

// BAD-INPUT 50: while a disk is full or fails, writes are refused with the reason
// and change nothing, or say that their outcome is unknown; reads go on. When the
// fault ends, the same processes write again, and the repeat of a write with an
// unknown outcome is applied once. What was acknowledged survives a power loss.
func TestDiskFails(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "no space, write error, sync error", why)
		return
	}
	for _, fault := range diskFaults() {
		t.Run(fault.name, func(t *testing.T) {
			total := row{Fault: fault.name, Tried: fault.tried}
			var refused, unknown int
			disks, times := size(1, 4), size(3, 10)
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
			total.Notes = refusals(refused, unknown)
			report.Add(t, total)
		})
	}
}

func refusals(refused, unknown int) string {
	return fmt.Sprintf("%d refused: not applied; %d unknown: repeated, applied once; then they write again", refused, unknown)
}

// BAD-INPUT 50: the same where no file may be written beyond a limit of the system,
// which needs no file system of the test's own.
func TestFileSizeLimit(t *testing.T) {
	fault := diskFault{name: "file size limit", says: regexp.MustCompile(`full|disk I/O error`)}
	path := filepath.Join(t.TempDir(), "todos.db")
	f, out := newFleet(t, path), &outcomes{}
	f.start(t)
	defer f.kill()
	times := size(2, 10)
	for range times {
		writeAll(t, f.clients, out, fault, 10)
		f.limitFiles(t, 16<<10)
		writeAll(t, f.clients, out, fault, 10)
		checkReads(t, f.clients, path)
		f.limitFiles(t, unix.RLIM_INFINITY)
		repeatUnknown(t, f.clients, out)
	}
	f.kill()
	out.check(t, path)
	if len(out.refused)+len(out.unknown) < times {
		t.Errorf("%d writes refused, %d unknown: the limit was hardly met", len(out.refused), len(out.unknown))
	}
	report.Add(t, row{Fault: fault.name, Tried: "no file may be written beyond 16 kB (RLIMIT_FSIZE)", Times: fmt.Sprintf("%d faults, 3 processes", times),
		Acknowledged: out.acks.Len(), Lost: out.lost, Notes: refusals(len(out.refused), len(out.unknown))})
}

// limitFiles sets how large a file the processes may write.
func (f *fleet) limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	for _, p := range f.processes {
		limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// outcomes is what became of the writes on one disk.
type outcomes struct {
	acks journal

	mu      sync.Mutex
	refused []string // writes that were refused and so must not be there
	unknown []string // writes whose outcome was unknown, and that were repeated
	lost    int
}

// failAgainAndAgain has three processes write to a disk that fails so many times and
// recovers each time. Now and then they are killed while it fails, and started again
// when it does not. The last time the power goes soon after that, when what they
// were acknowledged stands behind what the disk lost.
func failAgainAndAgain(t *testing.T, fault diskFault, times int, random *rand.Rand) *outcomes {
	t.Helper()
	m, err := mount(t, newDisk())
	if err != nil {
		t.Fatal(err)
	}
	defer m.unmount()
	path := filepath.Join(m.dir, storePath)
	f := newFleet(t, path)
	f.start(t)
	defer f.kill()
	out := &outcomes{}
	for n := range times {
		writeAll(t, f.clients, out, fault, 1+random.IntN(size(20, 60)))
		m.setFault(fault.after(random.IntN(40)))
		writeAll(t, f.clients, out, fault, size(6, 12))
		checkReads(t, f.clients, path)
		if n == 0 && fault.all {
			checkReady(t, f.web, http.StatusServiceUnavailable)
		}
		killed := n%3 == 1 || n == times-1
		if killed {
			f.kill()
		}
		m.setFault(nil)
		if killed {
			f.start(t)
		}
		repeatUnknown(t, f.clients, out)
	}
	checkReady(t, f.web, http.StatusOK)
	m.cut()
	f.kill()
	dir := t.TempDir()
	if err := m.afterPowerLoss(luck{0, 4096, random}).copyTo(dir); err != nil {
		t.Fatal(err)
	}
	out.check(t, filepath.Join(dir, storePath))
	return out
}

// check checks what is in a store: what was acknowledged, nothing that was refused,
// and once what was repeated.
func (o *outcomes) check(t *testing.T, path string) {
	t.Helper()
	var h history
	h, o.lost = checkStore(t, path, o.acks.Acks)
	for _, write := range o.refused {
		if h.Made(write) != 0 {
			t.Errorf("the write %s was refused and is there", write)
		}
	}
	for _, write := range o.unknown {
		if n := h.Made(write); n != 1 {
			t.Errorf("the write %s was unknown and repeated, and is there %d times", write, n)
		}
	}
}

// after returns the fault as it begins after so many operations, so that it comes
// in the middle of a write too.
func (f diskFault) after(operations int) func(operation) syscall.Errno {
	return func(op operation) syscall.Errno {
		if operations > 0 {
			operations--
			return 0
		}
		if f.hits(op) {
			return f.errno
		}
		return 0
	}
}

// faultClient is a client whose writes may be refused.
type faultClient struct {
	client
	*writer
	pending []pendingWrite
}

// pendingWrite is a write whose outcome is unknown until it is repeated.
type pendingWrite struct{ tool, args, write string }

// fleet is two processes on stdio and one that serves HTTP on one store, each with
// a client. The first and the last client write the same list.
type fleet struct {
	store     string
	dirs      []string // the folders in which the processes run
	processes []*process
	web       *serving
	clients   []*faultClient
}

func newFleet(t *testing.T, path string) *fleet {
	f := &fleet{store: "sqlite:" + path}
	for _, name := range []string{"w0", "w1", "h"} {
		f.dirs = append(f.dirs, t.TempDir())
		f.clients = append(f.clients, &faultClient{writer: newWriter(name)})
	}
	return f
}

// start starts the processes, for the first time or again. The clients go on with
// the conversations that they have.
func (f *fleet) start(t *testing.T) {
	t.Helper()
	f.processes = nil
	for i := range 2 {
		a, err := newAgent(t, f.dirs[i], nil, "--store", f.store, "--list", fmt.Sprint("list-", i))
		if err != nil {
			t.Fatal(err)
		}
		f.clients[i].client = a
		f.processes = append(f.processes, a.process)
	}
	web, err := newServing(t, f.dirs[2], nil, "--store", f.store)
	if err != nil {
		t.Fatal(err)
	}
	f.web, f.processes = web, append(f.processes, web.process)
	if session, ok := f.clients[2].client.(*caller); ok {
		f.clients[2].client = session.through(web)
		return
	}
	session, err := web.session("list-0")
	if err != nil {
		t.Fatal(err)
	}
	f.clients[2].client = session
}

func (f *fleet) kill() {
	for _, p := range f.processes {
		p.Kill()
	}
}

// slowest is how long a call may take, see docs/spec/architecture.md.
const slowest = 11 * time.Second

// writeAll has all clients make so many writes at once, and sorts their outcomes.
func writeAll(t *testing.T, clients []*faultClient, out *outcomes, fault diskFault, times int) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for range times {
				tool, args, write := c.Next()
				began := time.Now()
				a, err := c.call(tool, args, inOperation(write))
				if took := time.Since(began); took > slowest {
					t.Errorf("%s: a write took %s", fault.name, took)
				}
				if err != nil {
					t.Errorf("%s: %v", fault.name, err)
					return
				}
				if c.sort(a, out, pendingWrite{tool, args, write}); a.refused() != nil && !fault.says.MatchString(a.refused().Error()) {
					t.Errorf("%s: the refusal does not say why: %v", fault.name, a.refused())
				}
			}
		})
	}
	all.Wait()
}

// inOperation returns the member of _meta that makes a write safe to repeat.
func inOperation(write string) string { return fmt.Sprintf(`"todo-mcp/operation":%q`, write) }

// sort puts a write where its answer says.
func (c *faultClient) sort(a answer, out *outcomes, w pendingWrite) {
	err := a.refused()
	if err == nil {
		out.acks.Add(acknowledged{List: a.list(), Revision: a.revision(), Write: w.write})
		return
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	if strings.Contains(err.Error(), todo.ErrUnknownOutcome.Error()) {
		c.pending = append(c.pending, w)
		out.unknown = append(out.unknown, w.write)
	} else {
		out.refused = append(out.refused, w.write)
	}
}

// repeatUnknown repeats the writes whose outcome is unknown, which are now carried
// out, and then makes one write with each client that must be carried out too.
func repeatUnknown(t *testing.T, clients []*faultClient, out *outcomes) {
	t.Helper()
	for _, c := range clients {
		tool, args, write := c.Next()
		for _, w := range append(c.pending, pendingWrite{tool, args, write}) {
			a, err := c.call(w.tool, w.args, inOperation(w.write))
			if err = errors.Join(err, a.refused()); err != nil {
				t.Errorf("after the fault: %v", err)
				return
			}
			out.acks.Add(acknowledged{List: a.list(), Revision: a.revision(), Write: w.write})
		}
		c.pending = nil
	}
}

// checkReads checks that all clients, and a fresh process, can read.
func checkReads(t *testing.T, clients []*faultClient, path string) {
	t.Helper()
	for _, c := range clients {
		if a, err := c.call("SetTodoList", `{}`, ""); err != nil || a.refused() != nil || len(a.items()) == 0 {
			t.Errorf("%s cannot read: %v %v", c.Name, err, a.refused())
		}
	}
	if _, err := export(t, path); err != nil {
		t.Errorf("a fresh process cannot read: %v", err)
	}
}

// checkReady checks what /readyz answers; its probe may be a second old.
func checkReady(t *testing.T, web *serving, want int) {
	t.Helper()
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	for began := time.Now(); ; <-ask.C {
		res, err := http.Get(web.url + "/readyz")
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode == want {
			return
		}
		if time.Since(began) > 5*time.Second {
			t.Errorf("/readyz answers %d in place of %d", res.StatusCode, want)
			return
		}
	}
}
