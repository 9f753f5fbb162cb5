package run_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/cli/clitest"
	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// panelPage returns the panel's page, or "" when no process serves it.
func panelPage(addr string) string {
	res, err := http.Get("http://" + addr + "/")
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return string(data)
}

// startStdio starts a stdio server with --panel. send writes a message and
// waits for an answer; end closes the server's input and waits for its end.
func startStdio(t *testing.T, store, addr string) (send func(string), end func()) {
	t.Helper()
	in, w := io.Pipe()
	out, outW := io.Pipe()
	answers := make(chan []byte, 10)
	done := make(chan error, 1)
	go func() {
		done <- cli.Run(context.Background(), []string{"todo-mcp", "stdio", "--panel", "--addr", addr, "--store", "sqlite:" + store},
			cli.Env{Stdin: in, Stdout: outW, Stderr: io.Discard, Getenv: func(string) string { return "" }, Version: "v0"})
		outW.Close()
	}()
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := out.Read(buf)
			if err != nil {
				return
			}
			answers <- bytes.Clone(buf[:n])
		}
	}()
	send = func(m string) {
		io.WriteString(w, m+"\n")
		<-answers
	}
	return send, func() {
		w.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// stdio --panel: the first process to get the port serves the panel, with the
// lists of all clients. When it ends, another process serves the panel within
// two seconds.
func TestPanelTakeover(t *testing.T) {
	store, addr := filepath.Join(t.TempDir(), "todo.db"), freePort(t)
	send1, end1 := startStdio(t, store, addr)
	for panelPage(addr) == "" {
		// wait until the first process serves the panel
	}
	send2, end2 := startStdio(t, store, addr)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"SetTodoList","arguments":{"todos":[{"title":"TEXT","status":"pending"}]}}}`
	send1(strings.Replace(call, "TEXT", "From the first", 1))
	send2(strings.Replace(call, "TEXT", "From the second", 1))
	for !strings.Contains(panelPage(addr), "From the second") || !strings.Contains(panelPage(addr), "From the first") {
		// wait until the panel shows the lists of both clients
	}
	end1()
	ended := time.Now()
	for !strings.Contains(panelPage(addr), "From the first") {
		if time.Since(ended) > 10*time.Second {
			t.Fatal("no process took over the panel")
		}
	}
	t.Logf("taken over after %s", time.Since(ended))
	if took := time.Since(ended); took > 4*time.Second { // 2 s on an idle machine
		t.Errorf("taken over after %s", took)
	}
	end2()
}

// BAD-INPUT 84: stdio --panel says once that another program holds the port, and
// what to do about it. It says nothing when a todo-mcp serves the panel there.
func TestPanelPortTaken(t *testing.T) {
	start := func(addr string) (stderr clitest.Lines, end func()) {
		in, w := io.Pipe()
		stderr = make(clitest.Lines, 100)
		done := make(chan error, 1)
		go func() {
			done <- cli.Run(context.Background(), []string{"todo-mcp", "stdio", "--panel", "--addr", addr, "--store", "memory"},
				cli.Env{Stdin: in, Stdout: io.Discard, Stderr: stderr, Getenv: func(string) string { return "" }, Version: "v0"})
		}()
		return stderr, func() {
			w.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	asked := make(chan struct{}, 100)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer other.Close()
	addr := strings.TrimPrefix(other.URL, "http://")
	stderr, end := start(addr)
	select {
	case line := <-stderr:
		if !strings.Contains(line, addr) || !strings.Contains(line, "--addr") {
			t.Errorf("84: it says %q", line)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("84: it does not say that the port is taken")
	}
	for range 3 {
		<-asked // it tries again
	}
	end()
	if len(stderr) > 0 {
		t.Errorf("84: it says it again: %q", <-stderr)
	}

	askedOwn := make(chan struct{}, 100)
	board := todo.NewBoard(memory.New())
	defer board.Close()
	e, err := edge.New(edge.Config{Board: board})
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r)
		askedOwn <- struct{}{}
	}))
	defer own.Close()
	stderr, end = start(strings.TrimPrefix(own.URL, "http://"))
	for range 3 {
		<-askedOwn
	}
	end()
	select {
	case said := <-stderr:
		if said != "todo-mcp: the panel is at "+own.URL+"/\n" {
			t.Errorf("of another todo-mcp's panel it says %q", said)
		}
	default: // it has ended, and says no more
		t.Error("of another todo-mcp's panel it says nothing")
	}
	if len(stderr) > 0 {
		t.Errorf("84: of another todo-mcp it says %q", <-stderr)
	}
}

// demo --once prints the address of its panel and the result of every call, and
// ends after the plan.
func TestDemo(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	err := cli.Run(t.Context(), []string{"todo-mcp", "demo", "--once", "--pace", "1ms", "--addr", "127.0.0.1:0"},
		cli.Env{Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Version: "v0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Open http://127.0.0.1:", "0 completed, 0 in_progress, 5 pending", "(searcher)", "5 completed, 0 in_progress, 0 pending", "todo-mcp serve"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not print %q:\n%s", want, out.String())
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the demo took %s", took)
	}
}
