package run_test

import (
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
	"todo-mcp/server/servertest"
)

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

// startStdio starts a stdio server with --panel. write writes a list and waits for the answer; end
// closes the server's input and waits for its end.
func startStdio(t *testing.T, store, addr string) (write func(text string), log clitest.Lines, end func()) {
	t.Helper()
	in, w := io.Pipe()
	out, outW := io.Pipe()
	log = make(clitest.Lines, 100)
	done := make(chan error, 1)
	go func() {
		done <- cli.Run(context.Background(), []string{"todo-mcp", "stdio", "--panel", "--addr", addr, "--store", store},
			cli.Env{Stdin: in, Stdout: outW, Stderr: log, Getenv: func(string) string { return "" }, Version: "v0"})
		outW.Close()
	}()
	write = func(text string) {
		io.WriteString(w, servertest.Call(1, "TodoWrite", servertest.Todos("pending", text))+"\n")
		out.Read(make([]byte, 64<<10))
	}
	return write, log, func() {
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	store, addr := "sqlite:"+filepath.Join(t.TempDir(), "todo.db"), l.Addr().String()
	write1, _, end1 := startStdio(t, store, addr)
	for panelPage(addr) == "" {
		// wait until the first process serves the panel
	}
	write2, _, end2 := startStdio(t, store, addr)
	write1("From the first")
	write2("From the second")
	for page := ""; !strings.Contains(page, "From the second") || !strings.Contains(page, "From the first"); {
		page = panelPage(addr) // until the panel shows the lists of both clients
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
//
// BAD-INPUT 84: `--panel`, and another program holds its port → One warning that names
// the address and `--addr`; none if a todo-mcp serves there. It goes on trying
func TestPanelPortTaken(t *testing.T) {
	board := todo.NewBoard(memory.New())
	defer board.Close()
	own, err := edge.New(edge.Config{Board: board})
	if err != nil {
		t.Fatal(err)
	}
	for _, handler := range []http.Handler{own, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})} {
		asked := make(chan struct{}, 100)
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r)
			asked <- struct{}{}
		}))
		_, log, end := startStdio(t, "memory", strings.TrimPrefix(other.URL, "http://"))
		for range 5 {
			<-asked // it tries again
		}
		end()
		other.Close()
		if len(log) != 1 {
			t.Fatalf("84: it says %d things", len(log))
		}
		said, isOwn := <-log, handler == http.Handler(own)
		if isOwn && said != "todo-mcp: the panel is at "+other.URL+"/\n" {
			t.Errorf("of another todo-mcp's panel it says %q", said)
		}
		if !isOwn && (!strings.Contains(said, strings.TrimPrefix(other.URL, "http://")) || !strings.Contains(said, "--addr")) {
			t.Errorf("84: it says %q", said)
		}
	}
}

// demo --once prints the address of its panel and the result of every call, and
// ends after the plan. Settings for who signs in are for other servers.
func TestDemo(t *testing.T) {
	began := time.Now()
	call := clitest.Call{Env: map[string]string{"TODO_TOKENS": "tokens", "TODO_ISSUER": "https://id.example.com", "TODO_AUDIENCE": "todo", "TODO_LIST": "named"}}
	printed, err := call.Run(t.Context(), "demo", "--once", "--pace", "1ms", "--addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Open http://127.0.0.1:", "0 completed, 0 in_progress, 5 pending", "(searcher)", "5 completed, 0 in_progress, 0 pending", "todo-mcp serve"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the demo does not print %q:\n%s", want, printed)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the demo took %s", took)
	}
}
