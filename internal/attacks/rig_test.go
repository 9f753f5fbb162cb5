//go:build e2e && linux

// Package attacks attacks the program as a stranger or a slow client would, and
// measures what that costs: the most memory that the process had, and how long
// others waited. `make attacks` prints the table at full size; `make test` runs a
// short form, with the same bounds.
package attacks

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// process is a running program.
type process struct {
	*testing.T
	cmd *exec.Cmd
	url string // of a server
	log chan string
	// ended is closed when the process has ended; err is then how.
	ended chan struct{}
	err   error
}

// start starts the program. It may open as many files as descriptors says; 0 is
// any number.
func start(t *testing.T, descriptors int, program string, stdin io.Reader, stdout io.Writer, args ...string) *process {
	t.Helper()
	limit := "ulimit -n " + strconv.Itoa(descriptors) + "; "
	if descriptors == 0 {
		limit = ""
	}
	p := &process{T: t, log: make(chan string, 10_000), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), "sh", append([]string{"-c", limit + `exec "$@"`, "sh", program}, args...)...)
	p.cmd.Stdin, p.cmd.Stdout = stdin, stdout
	p.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	p.cmd.WaitDelay = time.Second // a pipe that nobody reads does not hold the end
	errors, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(errors)
		for lines.Scan() {
			p.log <- lines.Text()
		}
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.ended })
	return p
}

// serve starts a server on a store and returns when it listens.
func serve(t *testing.T, program, store string, descriptors int, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, descriptors, program, nil, w, append([]string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + store, "--log-level", "info"}, args...)...)
	w.Close()
	out := bufio.NewReader(r)
	for p.url == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal("the server does not listen:", err)
		}
		p.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, out); r.Close() }()
	return p
}

// peak returns the most memory that the process has had, in MB.
func (p *process) peak() int {
	p.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		p.Fatalf("no VmHWM in %s", status)
	}
	kB, _ := strconv.Atoi(string(m[1]))
	return kB * 1024 / 1_000_000
}

// cost returns the memory and the processor time that the process has used so
// far, and a time that the attack took.
func (p *process) cost(took time.Duration, what string) result {
	p.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	_, behindName, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behindName)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // on every Linux
	return result{memory: p.peak(), processor: time.Duration(user+system) * tick, time: took, what: what}
}

// terminate sends SIGTERM and returns how long the process takes to end.
func (p *process) terminate() time.Duration {
	p.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.Fatal(err)
	}
	return p.awaitEnd(began)
}

func (p *process) awaitEnd(began time.Time) time.Duration {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.Error("the process does not end")
	}
	return time.Since(began)
}

// awaitLog waits until the log has n lines with a text, and returns how long
// that took.
func (p *process) awaitLog(n int, text string) time.Duration {
	p.Helper()
	began, late := time.Now(), time.After(2*time.Minute)
	for seen := 0; seen < n; {
		select {
		case line := <-p.log:
			if strings.Contains(line, text) {
				seen++
			}
		case <-late:
			p.Errorf("%d of %d lines say %q", seen, n, text)
			return time.Since(began)
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
	conn, err := (&net.Dialer{Control: small}).DialContext(p.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		p.Fatal(err)
	}
	return conn
}

// get sends a GET request and returns when the first byte of its answer is there.
func (p *process) get(path string) {
	p.Helper()
	conn := p.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		p.Fatal(err)
	}
}

// read reads the answer to a GET request.
func (p *process) read(path string) (size int64) {
	p.Helper()
	res, err := http.Get(p.url + path)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	size, err = io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.Fatal(res.Status, err)
	}
	return size
}

// call calls create_todos in a session.
func (p *process) call(session, args string) {
	p.Helper()
	if _, _, answer := servertest.Post(p, p.url+"/mcp", servertest.Call(1, "create_todos", args), "Mcp-Session-Id", session); !strings.Contains(answer, `"isError":false`) && strings.Contains(answer, `"isError":true`) {
		p.Fatalf("%.300s", answer)
	}
}

// items returns the arguments of create_todos for n items of 4,000 characters.
func items(n int) string {
	item := `"` + strings.Repeat("x", todo.MaxText) + `"`
	return `{"items":[` + strings.Repeat(item+",", n-1) + item + `]}`
}

// mostItems is how many items of [todo.MaxText] characters a list may have.
const mostItems = todo.MaxSize / todo.MaxText

// largeList makes a store with lists as large as they may be, each of as many revisions
// as asked for, and returns its path and the id of the last one.
func largeList(t *testing.T, lists, revisions int) (path, id string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "todo.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	board := todo.NewBoard(store)
	defer func() { board.Close(); store.Close() }()
	text := string(bytes.Repeat([]byte("x"), todo.MaxText))
	for l := range lists {
		id = ""
		for n := range revisions {
			out, err := board.As("").Apply(context.Background(), todo.Write{
				Target: todo.Target{Conversation: todo.Conversation{Key: fmt.Sprint("c", l)}, List: id, Append: n == 0},
				Change: func(d *todo.Draft) error {
					if n > 0 {
						d.SetStatus(strconv.Itoa(n%mostItems+1), []todo.Status{todo.Pending, todo.InProgress}[n/mostItems%2^1])
						return nil
					}
					for range mostItems {
						d.Append(text)
					}
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			id = out.After.List.ID
		}
	}
	return path, id
}
