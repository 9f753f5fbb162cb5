//go:build hosts && linux

package hosts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// patience is how long one run of a client may take.
const patience = 120 * time.Second

// plan is one write of TodoWrite, or a call of another tool of the client.
type plan struct {
	id    int64 // of the call
	items []todoItem
	other string // the name of the other tool; empty for a write
	input object // what that is called with
}

// call returns a call of a tool of the client's own.
func call(tool string, input object) plan {
	return plan{id: planIDs.Add(1), other: tool, input: input}
}

type todoItem struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
	Reason     string `json:"reason,omitempty"`
}

var planIDs atomic.Int64

// newPlan returns a plan of n items about a subject; the first done items are
// completed and the next is in progress.
func newPlan(subject string, n, done int) plan {
	p := plan{id: planIDs.Add(1)}
	for i := range n {
		status := string(todo.Pending)
		switch {
		case i < done:
			status = string(todo.Completed)
		case i == done:
			status = string(todo.InProgress)
		}
		p.items = append(p.items, todoItem{
			Content: fmt.Sprintf("%s, part %d", subject, i+1), Status: status, ActiveForm: fmt.Sprintf("At %s, part %d", subject, i+1)})
	}
	return p
}

func (p plan) arguments() object {
	if p.other != "" {
		return p.input
	}
	return object{"todos": p.items}
}

// tool returns the tool to call, which is write for a write.
func (p plan) tool(write string) string { return cmp.Or(p.other, write) }

func (p plan) callID(prefix string) string { return fmt.Sprintf("%sstandin%d", prefix, p.id) }

// rig is one client with its own home, folder and store.
type rig struct {
	t         *testing.T
	client    client
	model     *model
	home, dir string
	store     string   // the SQLite file
	recording string   // the file of the recording of the last run
	server    []string // the command that the client starts
	url       string   // of the proxy before the server over HTTP; empty for stdio
	served    *url.URL // of the server over HTTP
	pid       int      // of the server over HTTP
	runs      int
	prompt    string // what the user of Claude Code types
}

func newRig(t *testing.T, c client) *rig {
	t.Helper()
	r := &rig{t: t, client: c, model: newModel(t), home: t.TempDir(), dir: t.TempDir(), prompt: "go"}
	r.store = filepath.Join(r.home, "state", "todo.db")
	r.recording = filepath.Join(r.home, "recording")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.server = []string{self, recordMode, r.recording, serverFile, "--store", "sqlite:" + r.store}
	c.files(r)
	return r
}

// run runs the client once and returns what was recorded. The model writes the
// plans.
func (r *rig) run(w way, plans ...plan) recording {
	r.t.Helper()
	r.model.begin(plans...)
	_ = os.Remove(r.recording)
	args, env := r.client.command(r, r.runs == 0, w)
	r.runs++
	began := time.Now()
	output, err := execute(r.t, r.home, r.dir, args, env)
	turns, other := r.model.turns()
	r.t.Logf("run %d (%s): %.1f s, %v, %d turns, other requests %v", r.runs, w, time.Since(began).Seconds(), err, len(turns), other)
	if err != nil || len(turns) <= len(plans) {
		r.t.Errorf("%q did not play the script (%v) and printed:\n%s", args, err, output)
	} else if resumed := len(turns[0].Results) > 0; resumed != (r.runs > 1 && w != anew) {
		r.t.Errorf("the client continues a conversation: %t", resumed)
	}
	return read(r.t, r.recording)
}

// execute runs a program in a folder to its end, with a home of its own and the server
// on its PATH, and returns what it printed.
func execute(t *testing.T, home, dir string, args, env []string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := command(ctx, t, home, dir, args, env)
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	return string(out), err
}

// command returns a program to run as execute does.
func command(ctx context.Context, t *testing.T, home, dir string, args, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	path := filepath.Dir(program(t, "node-linux-*/bin/node")) + ":" + filepath.Dir(serverFile) + ":" + os.Getenv("PATH")
	cmd.Env = append([]string{"PATH=" + path, "HOME=" + home, "TERM=dumb", "NO_COLOR=1"}, env...)
	// The program and all it starts end with the group, which has the program's id.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// lists returns the newest snapshots of all lists, the one written last first.
func (r *rig) lists() []todo.Snapshot {
	r.t.Helper()
	var found []todo.Snapshot
	r.read(func(ctx context.Context, s board.Store) (err error) {
		found, err = s.Find(ctx, board.Query{})
		return err
	})
	return found
}

// read opens the store's file, behind what hooks left for it, for a moment.
func (r *rig) read(f func(context.Context, board.Store) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	left := hook.Front{Spool: hook.Spool{File: r.store + sqlite.SpoolSuffix, Log: func(err error) { r.t.Log(err) }}}
	s, err := sqlite.Open(r.store, board.Keep{Before: left.Settle})
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	left.Store = s
	if err := f(ctx, s); err != nil {
		r.t.Fatal(err)
	}
}

// written says where the last write went: "list 2 revision 1", lists counted as
// they began.
func (r *rig) written() string {
	r.t.Helper()
	all := r.lists()
	if len(all) == 0 {
		return "nowhere"
	}
	last := all[0]
	slices.SortFunc(all, func(a, b todo.Snapshot) int {
		return cmp.Or(a.List.Created.Compare(b.List.Created), cmp.Compare(a.Seq, b.Seq))
	})
	n := slices.IndexFunc(all, func(s todo.Snapshot) bool { return s.List.ID == last.List.ID })
	return fmt.Sprintf("list %d revision %d", n+1, last.Revision)
}

// serveHTTP starts the server over HTTP for the rig.
func (r *rig) serveHTTP() {
	r.t.Helper()
	p, err := programtest.Start(r.t, serverFile, r.dir, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+r.store)
	if err != nil {
		r.t.Fatal(err)
	}
	address, err := p.URL()
	if err != nil {
		r.t.Fatal(err)
	}
	if r.served, err = url.Parse(address + "/mcp"); err != nil {
		r.t.Fatal(err)
	}
	r.pid = p.Cmd.Process.Pid
	r.proxyHTTP(false)
}

// proxyHTTP puts a proxy that records what is posted before the server of the
// rig over HTTP. Each connection of the client has its own to the server, as
// without a proxy; with reuse, a connection is used again for any client, also
// for clients of other rigs, as most proxies do.
func (r *rig) proxyHTTP(reuse bool) {
	r.t.Helper()
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			body, _ := io.ReadAll(p.In.Body)
			p.Out.Body = io.NopCloser(bytes.NewReader(body))
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = r.served.Scheme, r.served.Host, r.served.Host
			r.record(p.In, body)
		},
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			if reuse {
				return http.DefaultTransport.RoundTrip(req)
			}
			return req.Context().Value(transportKey{}).(*http.Transport).RoundTrip(req)
		}),
	})
	var mu sync.Mutex
	transports := make(map[net.Conn]*http.Transport)
	proxy.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		t := &http.Transport{MaxConnsPerHost: 1}
		mu.Lock()
		defer mu.Unlock()
		transports[c] = t
		return context.WithValue(ctx, transportKey{}, t)
	}
	proxy.Start()
	r.t.Cleanup(func() {
		proxy.Close()
		for _, t := range transports {
			t.CloseIdleConnections()
		}
	})
	r.url = proxy.URL + r.served.Path
}

type transportKey struct{}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (r *rig) record(req *http.Request, body []byte) {
	f, err := os.OpenFile(r.recording, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer f.Close()
	if id := req.Header.Get("Mcp-Session-Id"); id != "" {
		fmt.Fprintf(f, "%d env SESSION header=%s\n", r.pid, id)
	}
	fmt.Fprintf(f, "%d > %s\n", r.pid, bytes.ReplaceAll(body, []byte("\n"), nil))
}
