package run_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
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
func startStdio(t *testing.T, store, addr string) (write func(text string), log programtest.Lines, end func()) {
	t.Helper()
	in, w := io.Pipe()
	out, outW := io.Pipe()
	log = make(programtest.Lines, 100)
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
		checktest.Check(t, <-done)
	}
}

// stdio --panel: the first process to get the port serves the panel, with the
// lists of all clients. When it ends, another process serves the panel within
// two seconds.
func TestPanelTakeover(t *testing.T) {
	t.Parallel() // most of it waits
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
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
		if time.Since(ended) > time.Minute { // 2 s on an idle machine
			t.Fatal("no process took over the panel")
		}
	}
	end2()
}

// BAD-INPUT 84: `--panel`, and another program holds its port → One warning that names the address
// and `--addr`, none if it is a todo-mcp; it goes on trying
func TestPanelPortTaken(t *testing.T) {
	t.Parallel() // it tries again each second
	b := board.NewBoard(memory.New())
	defer b.Close()
	own := checktest.Must(edge.New(edge.Config{Board: b}))(t)
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

// demo opens the browser and begins when the page is open; then seven lists are at work,
// one of which waits, until it is ended. Settings for who signs in are for other servers.
func TestDemo(t *testing.T) {
	out, log := make(programtest.Lines, 100), make(programtest.Lines, 100)
	ctx, end := context.WithCancel(t.Context())
	variables := map[string]string{"TODO_TOKENS": "tokens", "TODO_ISSUER": "https://id.example.com", "TODO_LIST": "named"}
	env := cli.Env{Stdout: out, Stderr: log, Version: "v0", Getenv: func(name string) string { return variables[name] }}
	ended := make(chan error, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"todo-mcp", "demo", "--pace", "1ms", "--addr", "127.0.0.1:0"}, env)
	}()
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(out.Await("Ctrl-C"))
	checktest.Has(t, "without a browser it says", log.Await("browser"), "open "+url+"/ yourself")
	if _, lists := programtest.Get(t, url+"/api/lists"); lists != "[]\n" {
		t.Errorf("it has begun: %s", lists)
	}
	stream := servertest.OpenStream(t, "GET", url+"/api/events", "")
	for range 300 {
		stream.Expect("event: list:update") // every plan is done more than once
	}
	for lists := ""; strings.Count(lists, `"list":`) != 9 || strings.Count(lists, `"parent":`) != 2 || !strings.Contains(lists, "Needs your yes"); {
		_, lists = programtest.Get(t, url+"/api/lists") // between two plans of an agent there are fewer
	}
	end()
	checktest.Check(t, <-ended)
}
