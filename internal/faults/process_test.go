//go:build e2e && linux

package faults

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // a driver to check the file without todo-mcp

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &program, &report)) }

type row = programtest.Row

func size(short, whenLong int) int { return programtest.Size(short, whenLong) }

func notRun(t *testing.T, fault, why string) {
	t.Helper()
	report.Add(t, row{Fault: fault, Tried: programtest.NotRun + why})
}

type (
	process = programtest.Process
	user    = programtest.User
)

var common = []string{"--tools", "all", "--keep-revisions", "0"}

type agent struct {
	*servertest.Chat
	*process
}

func newAgent(t *testing.T, args ...string) (*agent, error) {
	return newAgentAs(t, t.TempDir(), nil, args...)
}

func newAgentAs(t *testing.T, dir string, as *user, args ...string) (*agent, error) {
	p, err := programtest.Start(t, program, dir, as, append(append([]string{"stdio"}, common...), args...)...)
	if err != nil {
		return nil, err
	}
	c, err := servertest.OnPipe(t, servertest.Stdio, "tester", p.In, p.Out)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, p.Log)
	}
	return &agent{c, p}, nil
}

type serving struct {
	*process
	url string
}

func newServing(t *testing.T, as *user, args ...string) (*serving, error) {
	args = append(append([]string{"serve", "--addr", "127.0.0.1:0"}, common...), args...)
	p, err := programtest.Start(t, program, t.TempDir(), as, args...)
	if err != nil {
		return nil, err
	}
	url, err := p.URL()
	return &serving{p, url}, err
}

func mustServe(t *testing.T, args ...string) *serving {
	t.Helper()
	return checktest.Must(newServing(t, nil, args...))(t)
}

func newVisitor(t *testing.T, store, list string) (*agent, error) {
	s, err := newServing(t, nil, "--store", store)
	if err != nil {
		return nil, err
	}
	c, err := servertest.TryHTTP(t, servertest.Session, "tester", s.endpoint(list))
	return &agent{c, s.process}, err
}

func (s *serving) endpoint(list string) string { return s.url + "/mcp?list=" + list }

func (s *serving) session(t *testing.T, list string) *servertest.Chat {
	t.Helper()
	return servertest.OverHTTP(t, servertest.Session, "tester", s.endpoint(list))
}

func try(c *servertest.Chat, tool, args string) (servertest.Answer, error) {
	a, err := c.Try(tool, args)
	return a, errors.Join(err, a.Refused())
}

type writer struct{ programtest.Writer }

func newWriter(name string) *writer { return &writer{programtest.Writer{Name: name}} }

func (w *writer) write(c *servertest.Chat) (acknowledged, error) {
	tool, args, write := w.Next()
	a, err := try(c.InOperation(write), tool, args)
	return acknowledged{List: a.List(), Revision: a.Revision(), Write: write}, err
}

type (
	acknowledged = programtest.Acknowledged
	journal      = programtest.Journal
	history      = programtest.History
)

type outcomes struct {
	acks journal

	mu      sync.Mutex
	refused []string // refused writes, which must not be in the store
	unknown []string // writes whose outcome was unknown
	lost    int
}

type outcome int

const (
	isAcknowledged outcome = iota
	isRefused
	isUnknown
)

func (o *outcomes) sort(a servertest.Answer, write string) outcome {
	err := a.Refused()
	if err == nil {
		o.acks.Add(acknowledged{List: a.List(), Revision: a.Revision(), Write: write})
		return isAcknowledged
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.Contains(err.Error(), board.ErrUnknownOutcome.Error()) {
		o.unknown = append(o.unknown, write)
		return isUnknown
	}
	o.refused = append(o.refused, write)
	return isRefused
}

func (o *outcomes) check(t *testing.T, path string, repeated bool) {
	t.Helper()
	var h history
	h, o.lost = checkStore(t, t.TempDir(), nil, path, o.acks.Acks)
	for _, write := range o.refused {
		if h.Made(write) != 0 {
			t.Errorf("the write %s was refused and is there", write)
		}
	}
	for _, write := range o.unknown {
		if n := h.Made(write); n != 1 && repeated {
			t.Errorf("the write %s was unknown and repeated, and is there %d times", write, n)
		}
	}
}

func export(t *testing.T, store string) (history, error) {
	t.Helper()
	return programtest.Export(program, t.TempDir(), nil, store)
}

// checkStore checks the file at path after a fault, when no process has the file open. A new process, which runs in dir
// under a given account, must read every acknowledged write; no revision may be missing, no write may be stored in
// part, and the file must be whole. It returns the history and the number of lost writes. A missing file counts as an
// empty store.
func checkStore(t *testing.T, dir string, as *user, path string, acks []acknowledged) (history, int) {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) { // export refuses such a path
		h := history{}
		return h, h.Check(t, acks)
	}
	h, err := programtest.Export(program, dir, as, "sqlite:"+path)
	if err != nil {
		t.Errorf("the store cannot be read any more: %v", err)
		return nil, len(acks)
	}
	checkIntegrity(t, path)
	return h, h.Check(t, acks)
}

// checkIntegrity checks a copy of the file, because SQLite maps a file into memory. If this process also served that
// file's file system, it might deadlock on a page that is read while Go stops the world.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		checktest.Check(t, errors.Join(err, os.WriteFile(at+suffix, data, 0o600)))
	}
	db := checktest.Must(sql.Open("sqlite", at))(t)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
}
