//go:build e2e && linux

// Package attacks attacks the program as a stranger or a slow client would, and measures what that
// costs: the most memory that the process had, and how long others waited. `make attacks` prints
// the table at full size; `make test` runs a short form, with the same bounds.
package attacks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// process is a running program.
type process struct {
	*testing.T
	*programtest.Process
	url string // of a server
}

// start starts the program. It may open as many files as descriptors says; 0 is any number.
func start(t *testing.T, descriptors int, program string, args ...string) *process {
	t.Helper()
	script := `exec "$@"`
	if descriptors > 0 {
		script = fmt.Sprintf("ulimit -n %d; ", descriptors) + script
	}
	p := servertest.Must(programtest.Start(t, "sh", t.TempDir(), nil, append([]string{"-c", script, "sh", "env", "TODO_LOG_LEVEL=info", program}, args...)...))(t)
	return &process{T: t, Process: p}
}

// serve starts a server on a store and returns when it listens.
func serve(t *testing.T, program, store string, descriptors int) *process {
	t.Helper()
	p := start(t, descriptors, program, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+store)
	var err error
	if p.url, err = p.URL(); err != nil {
		t.Fatal("the server does not listen:", err)
	}
	return p
}

// cost returns the memory and the processor time that the process has used so
// far, and a time that the attack took.
func (p *process) cost(took time.Duration, what string) result {
	p.Helper()
	peak, err1 := p.Memory("VmHWM")
	stat, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	servertest.Check(p.T, errors.Join(err1, err2))
	_, behindName, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behindName)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // on every Linux
	return result{memory: peak / 1_000_000, processor: time.Duration(user+system) * tick, time: took, what: what}
}

// end waits until the process ends by itself, after what is done to it, and returns
// how long that takes.
func (p *process) end(do func() error) time.Duration {
	p.Helper()
	began := time.Now()
	if err := errors.Join(do(), p.Wait(time.Minute)); err != nil {
		p.Error("the process does not end well:", err)
	}
	return time.Since(began)
}

// awaitLog waits until the log has n lines with a text, and returns how long that took.
func (p *process) awaitLog(n int, text string) time.Duration {
	p.Helper()
	began, look := time.Now(), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for seen := 0; seen < n; <-look.C {
		if seen = strings.Count(p.Log.String(), text); time.Since(began) > 2*time.Minute {
			p.Errorf("%d of %d lines say %q", seen, n, text)
			break
		}
	}
	return time.Since(began)
}

// send opens a connection and sends a text on it. Of what comes back the system
// takes some kB at most, until it is read.
func (p *process) send(text string) net.Conn {
	p.Helper()
	small := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}
	conn := servertest.Must((&net.Dialer{Control: small}).DialContext(p.Context(), "tcp", strings.TrimPrefix(p.url, "http://")))(p.T)
	p.Cleanup(func() { conn.Close() })
	servertest.Must(io.WriteString(conn, text))(p.T)
	return conn
}

// get sends a GET request and returns when the first byte of its answer is there.
func (p *process) get(path string) {
	p.Helper()
	conn := p.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	servertest.Must(conn.Read(make([]byte, 1)))(p.T)
}

// read reads the answer to a GET request.
func (p *process) read(path string) (size int64) {
	p.Helper()
	res := servertest.Must(http.Get(p.url + path))(p.T)
	defer res.Body.Close()
	size, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.Fatal(res.Status, err)
	}
	return size
}

// chat begins a session.
func (p *process) chat() *chattest.Chat {
	p.Helper()
	return chattest.OverHTTP(p.T, chattest.Session, "tester", p.url+"/mcp")
}

// mostItems is how many items of [todo.MaxText] characters a list may have.
const mostItems = todo.MaxSize / todo.MaxText

// longest is the text of such an item.
var longest = strings.Repeat("x", todo.MaxText)

// largeList makes a store with lists as large as they may be, each of as many revisions
// as asked for, and returns its path and the id of the last one.
func largeList(t *testing.T, lists, revisions int) (path, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	store := servertest.Must(sqlite.Open(path, board.Keep{}))(t)
	b := board.NewBoard(store)
	defer func() { b.Close(); store.Close() }()
	texts := slices.Repeat([]string{longest}, mostItems)
	for l := range lists {
		id = ""
		for n := range revisions {
			change := chattest.Adds(texts...)
			if n > 0 {
				change = chattest.Sets(strconv.Itoa(n%mostItems+1), []todo.Status{todo.Pending, todo.InProgress}[n/mostItems%2^1])
			}
			out, err := b.As("").Apply(context.Background(), board.Write{
				Target: board.Target{Conversation: board.Conversation{Key: fmt.Sprint("c", l)}, List: id, Append: n == 0}, Change: change})
			servertest.Check(t, err)
			id = out.After.List.ID
		}
	}
	return path, id
}
