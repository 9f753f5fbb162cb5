package run_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/server/auth"
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

// startStdio starts a stdio server with --panel. The function write writes a list and waits for the answer; the
// function end closes the server's input and waits until the server ends.
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

// stdio --panel: the first process to get the port serves the panel, with the lists of all clients. When that process
// ends, another process serves the panel within two seconds.
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
// and `--addr`, none for a todo-mcp; the server goes on trying
func TestPanelPortTaken(t *testing.T) {
	t.Parallel() // the server tries again each second
	b := board.NewBoard(storetest.NewMemory())
	defer b.Close()
	own := edge.New(edge.Config{Board: b})
	for _, handler := range []http.Handler{own, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})} {
		asked := make(chan struct{}, 100)
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r)
			asked <- struct{}{}
		}))
		_, log, end := startStdio(t, "memory", strings.TrimPrefix(other.URL, "http://"))
		for range 5 {
			<-asked // the server tries again
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

// demo opens the browser and begins when the page is open. Then nine lists are at work until demo ends: two belong to
// sub-agents, and one waits. demo ignores the settings for sign-in and lists.
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
		stream.Expect("event: list:update") // in 300 updates each plan is finished more than once
	}
	for lists := ""; strings.Count(lists, `"list":`) != 9 || strings.Count(lists, `"parent":`) != 2 || !strings.Contains(lists, "Needs your yes"); {
		_, lists = programtest.Get(t, url+"/api/lists") // an agent has no list between two plans
	}
	end()
	checktest.Check(t, <-ended)
}

// desk receives the notices for a person, at a URL with a secret topic.
type desk struct {
	*testing.T
	url  string
	told chan string // the bodies of notices
}

const topic = "t0p-s3cret"

func newDesk(t *testing.T) *desk {
	d := &desk{t, "", make(chan string, 20)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.told <- string(body)
	}))
	t.Cleanup(s.Close)
	d.url = "ntfy+" + s.URL + "/" + topic
	return d
}

// expect checks the next notice, which comes only after a list has been in its state for a while.
func (d *desk) expect(title, message string) {
	d.Helper()
	select {
	case body := <-d.told:
		var m struct{ Topic, Title, Message, Click string }
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Topic != topic || m.Title != title || m.Message != message || !strings.HasPrefix(m.Click, "https://todo.example.com/lists/") {
			d.Errorf("told %s, want %s, %s, %v", body, title, message, err)
		}
	case <-time.After(2 * time.Minute):
		d.Errorf("not told that %s", title)
	}
}

// Two servers on one store send one notice that an agent waits, as its hook reported, and no notice of an item that a
// person ticks on the panel. When the servers end, they send one notice about a list finished just before. Notices have
// no texts of lists, and the servers' logs, metrics and pages do not have the secret topic.
func TestNotify(t *testing.T) {
	t.Parallel() // a list must wait for 15 seconds
	d, store := newDesk(t), "sqlite:"+filepath.Join(t.TempDir(), "todo.db")
	log := make(programtest.Lines, 1000)
	args := []string{"--store", store, "--public-url", "https://todo.example.com", "--log-level", "debug"}
	call := programtest.Call{Log: log, Env: map[string]string{"TODO_NOTIFY": d.url}}
	first, second := call.Serve(t, args...), call.Serve(t, args...)
	var lists []struct{ List string }
	hook := func(event string) {
		t.Helper()
		call := programtest.Call{In: strings.NewReader(event), Env: map[string]string{"TODO_STORE": store, "HOME": t.TempDir()}}
		checktest.Check(t, checktest.Err(call.Run(t.Context(), "hook")))
	}
	event := checktest.Must(os.ReadFile("../../hook/testdata/claude-code-todowrite.json"))(t)
	hook(string(event))
	hook(`{"session_id":"11111111-2222-4333-8444-555555555555","cwd":"/home/ada/parser","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"npm publish"}}`)
	d.expect("An agent waits for you", "Claude Code: 1 of 3 done")

	other := servertest.Writer(t, second.URL, "evil <!channel>")
	other(servertest.Todos("in_progress", "Ticked by a person"))
	servertest.GetJSON(t, first.URL+"/api/lists", &lists)
	tick := `{"do":"status","id":"1","status":"completed"}`
	servertest.Is(t, "it is answered", http.StatusOK)(servertest.Post(t, second.URL+"/lists/"+lists[0].List+"/edit", tick))
	third := servertest.Writer(t, second.URL, "evil <!channel>")
	third(servertest.Todos("completed", "At the end"))
	_, metrics := programtest.Get(t, first.URL+"/metrics")
	_, page := programtest.Get(t, first.URL+"/")
	first.End(t)
	second.End(t)
	d.expect("A list is finished", "An agent: 1 of 1 done")
	select {
	case body := <-d.told:
		t.Errorf("told too much: %s", body)
	default:
	}
	doctor, err := call.Run(t.Context(), append([]string{"doctor", "--addr", "127.0.0.1:0"}, args...)...)
	if !strings.Contains(doctor, "notices go to ntfy at 127.0.0.1:") {
		t.Error(err, doctor)
	}
	for len(log) > 0 {
		page += <-log
	}
	if strings.Contains(metrics+page+doctor, topic) {
		t.Error("the address is shown")
	}
}

// On a server with sign-in the operator gets notices of everybody's lists, without their texts.
func TestNotifyOfOthers(t *testing.T) {
	d, tokens := newDesk(t), filepath.Join(t.TempDir(), "tokens")
	token := checktest.Must(auth.NewToken(tokens, auth.Token{Name: "ann", Principal: "ann", Scopes: []string{auth.ScopeWrite}}))(t)
	s := programtest.Serve(t, "--store", "memory", "--tokens", tokens, "--notify", d.url, "--public-url", "https://todo.example.com")
	call := servertest.ModernCall(1, "TodoWrite", servertest.Todos("completed", "Ann's own"))
	headers := append(servertest.ModernHeaders("tools/call", "TodoWrite"), "Authorization", "Bearer "+token)
	servertest.Is(t, "it is answered", http.StatusOK, "updated")(servertest.Post(t, s.URL+"/mcp", call, headers...))
	s.End(t)
	d.expect("A list is finished", "An agent: 1 of 1 done")
}

// `notify` sends a test to each address and prints the result. serve and stdio do not start with both --notify-texts
// and sign-in, since notices would show everybody's texts.
func TestNotifyRefusals(t *testing.T) {
	d := newDesk(t)
	if out := programtest.Succeeds(t, "notify", "--notify", d.url, "--notify", strings.Replace(d.url, topic, topic+"2", 1)); strings.Count(out, "sent to ntfy at 127.0.0.1:") != 2 || strings.Contains(out, topic) {
		t.Error(out)
	}
	if a, b := <-d.told, <-d.told; !strings.Contains(a, topic+`"`) || !strings.Contains(b, topic+`2"`) {
		t.Error(a, b)
	}
	programtest.Refuses(t, "no address", "notify")
	for _, command := range []string{"serve", "stdio"} {
		call := programtest.Call{Env: map[string]string{"TODO_TOKENS": "tokens"}}
		if _, err := call.Run(t.Context(), command, "--addr", "127.0.0.1:0", "--store", "memory", "--notify-texts", "--notify", "ntfy://ntfy.sh/x"); err == nil || !strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
