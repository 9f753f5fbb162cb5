//go:build e2e && linux

// Package attacks attacks the program as a stranger or a slow client would, and measures the
// cost: the peak memory of the process, and how long other clients waited. `make attacks` prints
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
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

type process struct {
	*testing.T
	*programtest.Process
	url string // of a server
}

// serve starts a server on a store and returns when the server listens. descriptors limits the
// number of files that the server may open; 0 is no limit.
func serve(t *testing.T, program, store string, descriptors int) *process {
	t.Helper()
	script := `exec "$@"`
	if descriptors > 0 {
		script = fmt.Sprintf("ulimit -n %d; ", descriptors) + script
	}
	p := checktest.Must(programtest.Start(t, "sh", t.TempDir(), nil, "-c", script, "sh", "env", "TODO_LOG_LEVEL=info", program,
		"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+store))(t)
	return &process{T: t, Process: p, url: checktest.Must(p.URL())(t)}
}

// cost returns the peak memory and the processor time of the process so far, with
// the time that the attack took and a text that says what was timed.
func (p *process) cost(took time.Duration, what string) result {
	p.Helper()
	peak, err1 := p.Memory("VmHWM")
	stat, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	checktest.Check(p.T, errors.Join(err1, err2))
	_, behindName, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behindName)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // the unit of /proc/PID/stat on every Linux
	return result{memory: peak / 1_000_000, processor: time.Duration(user+system) * tick, time: took, what: what}
}

// send opens a connection and sends a text on it. The system buffers at most a
// few kB of an answer that is not read.
func (p *process) send(text string) net.Conn {
	p.Helper()
	small := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}
	conn := checktest.Must((&net.Dialer{Control: small}).DialContext(p.Context(), "tcp", strings.TrimPrefix(p.url, "http://")))(p.T)
	p.Cleanup(func() { conn.Close() })
	checktest.Must(io.WriteString(conn, text))(p.T)
	return conn
}

func (p *process) get(path string) {
	p.Helper()
	conn := p.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	checktest.Must(conn.Read(make([]byte, 1)))(p.T)
}

func (p *process) read(path string) (size int64) {
	p.Helper()
	res, err := http.Get(p.url + path)
	checktest.Check(p.T, err)
	defer res.Body.Close()
	size, err = io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.Fatal(res.Status, err)
	}
	return size
}

func (p *process) chat() *servertest.Chat {
	p.Helper()
	return servertest.OverHTTP(p.T, servertest.Session, "tester", p.url+"/mcp")
}

const mostItems = todo.MaxSize / todo.MaxText

var longest = strings.Repeat("x", todo.MaxText)

// largeList makes a store with a number of lists of the largest size, each with a number of
// revisions, and returns the path of the store and the id of the last list.
func largeList(t *testing.T, lists, revisions int) (path, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	b := board.NewBoard(store)
	defer func() { b.Close(); store.Close() }()
	texts := slices.Repeat([]string{longest}, mostItems)
	for l := range lists {
		id = ""
		for n := range revisions {
			change := servertest.Adds(texts...)
			if n > 0 {
				change = servertest.Sets(strconv.Itoa(n%mostItems+1), []todo.Status{todo.Pending, todo.InProgress}[n/mostItems%2^1])
			}
			out, err := b.As("").Apply(context.Background(), board.Write{
				Target: board.Target{Conversation: board.Conversation{Key: fmt.Sprint("c", l)}, List: id, Append: n == 0}, Change: change})
			checktest.Check(t, err)
			id = out.After.List.ID
		}
	}
	return path, id
}

type attack struct {
	row    int    // of docs/spec/bad-input.md
	what   string // the attack at full size
	before string // the effect on the program when the attack was found
	run    func(t *testing.T, program string, full bool) result
	// The bounds of the result, at full size and in the short form.
	memory int // MB
	time   time.Duration
}

type result struct {
	memory    int           // the peak of the process, in MB
	processor time.Duration // used by the process
	time      time.Duration // of the step in the field what; longer on a busy machine
	what      string        // what was timed
}

func attacks() []attack {
	return []attack{
		{59, "300 connections with bodies that never come, at 256 descriptors", "every client is stopped without end", silentBodies, 100, 20 * time.Second},
		{60, "one GET of the history of 204 revisions of 256 kB", "beyond 14 GB", history, 300, 15 * time.Second},
		{61, "150 unread answers of 4 MB", "965 MB for 55 s", unreadAnswers, 1000, 20 * time.Second},
		{63, "1,000 silent streams and one write of 256 kB", "2.7 GB, 5.6 s", silentStreams, 250, 5 * time.Second},
		{64, "800 subscriptions with URIs of 1 MB in one session", "1.5 GB", subscriptions, 150, 60 * time.Second},
		{150, "10,000 events of a hook with ids of 1 kB and folders of 4 kB", "177 MB on disk, outside every bound", hookEvents, 150, 5 * time.Minute},
	}
}

// Each attack stays within its bounds.
func TestAttacks(t *testing.T) {
	full := os.Getenv("TODO_ATTACKS") == "full"
	program := programtest.Build(t)
	table := "\n| row | attack | before | peak memory | processor | time | of what |\n|---|---|---|---|---|---|---|\n"
	for _, a := range attacks() {
		t.Run(fmt.Sprint(a.row, " ", a.what), func(t *testing.T) {
			if !full {
				t.Parallel() // most attacks only wait
			}
			got := a.run(t, program, full)
			if full {
				table += fmt.Sprintf("| %d | %s | %s | %d MB | %.1f s | %.1f s | %s |\n", a.row, a.what, a.before, got.memory, got.processor.Seconds(), got.time.Seconds(), got.what)
			}
			if got.memory > a.memory || got.time > a.time {
				t.Errorf("%d MB, %s, want at most %d MB, %s", got.memory, got.time, a.memory, a.time)
			}
		})
	}
	if full {
		t.Log(table)
	}
}

func choose(full bool, atFull, short int) int {
	if full {
		return atFull
	}
	return short
}

func silentBodies(t *testing.T, program string, full bool) result {
	p := serve(t, program, filepath.Join(t.TempDir(), "todo.db"), 256)
	for range 300 {
		p.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
	}
	began := time.Now()
	p.chat().Writes("p:A")
	return p.cost(time.Since(began), "until another client is answered")
}

func history(t *testing.T, program string, full bool) result {
	store, id := largeList(t, 1, choose(full, 204, 20))
	p := serve(t, program, store, 0)
	began := time.Now()
	for _, path := range []string{"/api/lists/" + id + "/history", "/api/workspace", "/lists/" + id} {
		if size := p.read(path); size > 32<<20 { // an answer may have one revision in three forms
			t.Errorf("%s: %d bytes", path, size)
		}
	}
	return p.cost(time.Since(began), "history, workspace and page together")
}

func hookEvents(t *testing.T, program string, full bool) result {
	store := filepath.Join(t.TempDir(), "todo.db")
	p := serve(t, program, store, 0)
	const event = `{"hook_event_name":"PreToolUse","tool_name":"mcp__todo__TodoWrite","tool_use_id":"%d%s","session_id":"%[1]d%[2]s","agent_id":"%[1]d%[2]s","agent_type":"%[2]s","cwd":"/%[3]s"}`
	ids, folder := strings.Repeat("x", 1000), strings.Repeat("f", 4000)
	began := time.Now()
	for n := range choose(full, 10_000, board.MaxKeys+200) {
		if status, _, answer := servertest.Post(t, p.url+"/hook", fmt.Sprintf(event, n, ids, folder)); status != http.StatusOK {
			t.Fatal(status, answer)
		}
	}
	took, size := time.Since(began), int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(store + suffix); err == nil {
			size += info.Size()
		}
	}
	if size > 30_000_000 {
		t.Errorf("150: %d bytes on the disk", size)
	}
	return p.cost(took, fmt.Sprintf("they leave %.1f MB", float64(size)/1e6))
}

func askUnread(t *testing.T, program string, n int) *process {
	store, _ := largeList(t, 16, 1)
	p := serve(t, program, store, 0)
	for range n {
		p.get("/api/lists")
	}
	return p
}

func unreadAnswers(t *testing.T, program string, full bool) result {
	n := choose(full, 150, 15)
	p := askUnread(t, program, n)
	began := time.Now()
	programtest.Await(t, "all are given up", func() bool { return strings.Count(p.Log.String(), "answer dropped") >= n })
	return p.cost(time.Since(began), "until all are given up")
}

func silentStreams(t *testing.T, program string, full bool) result {
	p := serve(t, program, filepath.Join(t.TempDir(), "todo.db"), 0)
	for range choose(full, 1000, 100) {
		p.get("/api/events")
	}
	reader := servertest.OpenStream(t, "GET", p.url+"/api/events", "")
	writer := p.chat()
	began := time.Now()
	writer.Adds(slices.Repeat([]string{longest}, mostItems-1)...)
	reader.Expect(`"revision":1`)
	took := time.Since(began)
	began = time.Now()
	writer.Adds("small")
	reader.Expect(`"revision":2`)
	return p.cost(max(took, time.Since(began)), "until a reader has the change")
}

func subscriptions(t *testing.T, program string, full bool) result {
	p := serve(t, program, filepath.Join(t.TempDir(), "todo.db"), 0)
	c := p.chat()
	long := strings.Repeat("x", 1_000_000)
	began := time.Now()
	for n := range choose(full, 800, 50) {
		if a := c.Asks("resources/subscribe", fmt.Sprintf(`{"uri":"todo://lists/%d%s"}`, n, long)); a.Error == nil {
			t.Fatalf("subscribed: %.300s", a.Raw)
		}
	}
	return p.cost(time.Since(began), "until all are refused")
}
