//go:build hosts && linux

package hosts

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// patience is how long one run of a client may take.
const patience = 120 * time.Second

// plan is one write of a list by our tool, or a call of another tool of the client.
type plan struct {
	id    int64 // the id of the call
	items []todoItem
	other string // the name of the other tool; empty for a write
	input object // the arguments of the other tool
}

// call returns a plan that calls another tool of the client.
func call(tool string, input object) plan { return plan{id: planIDs.Add(1), other: tool, input: input} }

type todoItem struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`
	Reason     string `json:"reason,omitempty"`
}

var planIDs atomic.Int64

// newPlan returns a plan of n items about a subject. The first are completed, their number given as done; the next is
// in progress, and the rest are pending.
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

// tool returns the name of the tool to call: p.other or, for a write of a list, the name given as write.
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
	url       string   // the address of the proxy before the server over HTTP; empty for stdio
	served    *url.URL // the address of the server over HTTP
	pid       int      // the process id of the server over HTTP
	runs      int
	prompt    string // what the user of Claude Code types
}

func newRig(t *testing.T, c client) *rig {
	t.Helper()
	r := &rig{t: t, client: c, model: newModel(t), home: t.TempDir(), dir: t.TempDir(), prompt: "go"}
	r.store = filepath.Join(r.home, "state", "todo.db")
	r.recording = filepath.Join(r.home, "recording")
	self := checktest.Must(os.Executable())(t)
	r.server = []string{self, recordMode, r.recording, serverFile, "--store", "sqlite:" + r.store}
	c.files(r)
	return r
}

// run runs the client once, has the model write the plans, and returns the recording.
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
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ends processes that the program left running
	return string(out), err
}

// command returns a command in a folder, with a home of its own and the server on its PATH.
func command(ctx context.Context, t *testing.T, home, dir string, args, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	path := filepath.Dir(program(t, "node-linux-*/bin/node")) + ":" + filepath.Dir(serverFile) + ":" + os.Getenv("PATH")
	cmd.Env = append([]string{"PATH=" + path, "HOME=" + home, "TERM=dumb", "NO_COLOR=1"}, env...)
	// A kill of the process group, which has the program's id, also ends all processes that the program started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// lists returns the newest snapshot of each list; the list that was written last is first.
func (r *rig) lists() []todo.Snapshot {
	r.t.Helper()
	var found []todo.Snapshot
	r.read(func(ctx context.Context, s board.Store) (err error) {
		found, err = s.Find(ctx, board.Query{})
		return err
	})
	return found
}

// read opens the store, which first applies the events that hooks left, calls f with the store, and closes it.
func (r *rig) read(f func(context.Context, board.Store) error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	left := hook.Spool{Folder: r.store + sqlite.SpoolSuffix, Log: func(err error) { r.t.Log(err) }}
	s := checktest.Must(sqlite.Open(r.store, board.Keep{Before: left.Settle}))(r.t)
	defer s.Close()
	left.Store = s
	checktest.Check(r.t, f(ctx, s))
}

// written says where the last write went: "list 2 revision 1". Lists are numbered in the order in which they began.
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
	p := checktest.Must(programtest.Start(r.t, serverFile, r.dir, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+r.store))(r.t)
	address := checktest.Must(p.URL())(r.t)
	r.served = checktest.Must(url.Parse(address + "/mcp"))(r.t)
	r.pid = p.Cmd.Process.Pid
	r.proxyHTTP(false)
}

// proxyHTTP puts a proxy, which records the messages that are posted, in front of the rig's server over HTTP. Each
// connection of the client gets its own connection to the server, as without a proxy. If reuse is true, clients, even
// of other rigs, share connections, as with most proxies.
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

// way is how a client is started again after its first run.
type way string

const (
	anew   way = "anew"   // the client starts as the first time, in the same folder
	resume way = "resume" // the client continues its last conversation, by the conversation's id if it has one
	latest way = "latest" // Claude Code continues its last conversation without an id
)

// session is the id under which Claude Code starts its conversation, and by which a later run resumes it.
const session = "11111111-2222-4333-8444-555555555555"

// client is a real MCP client.
type client struct {
	name string
	// files writes the client's settings, once for each rig.
	files func(r *rig)
	// command returns the program with its arguments, which depend on whether it is the first run, and the variables
	// that it needs besides the common ones.
	command func(r *rig, first bool, w way) (args, env []string)
}

// clients returns the clients, named as their subtests.
func clients() []client {
	return []client{
		{name: "claude-stdio", files: claudeFiles, command: claude},
		{name: "claude-http", files: func(r *rig) { r.serveHTTP(); claudeFiles(r) }, command: claude},
		{name: "codex", files: codexFiles, command: codex},
		{name: "gemini", files: geminiFiles, command: gemini},
		{name: "kimi", files: kimiFiles, command: kimi},
		{name: "copilot", files: claudeFiles, command: copilot},
	}
}

// program returns the path of a program below the npm packages that testdata/npm-hosts pins.
func program(t *testing.T, pattern string) string {
	t.Helper()
	dir := checktest.Must(filepath.Abs(filepath.Join("..", "..", "testdata", "npm-hosts", "node_modules")))(t)
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is not installed (%v): run `make hosts`", pattern, err)
	}
	return found[0]
}

// mcpServers returns the settings of the server as most clients read them, with additional fields.
func (r *rig) mcpServers(more object) string {
	server := object{"type": "stdio", "command": r.server[0], "args": r.server[1:]}
	if r.url != "" {
		server = object{"type": "http", "url": r.url}
	}
	for k, v := range more {
		server[k] = v
	}
	return asJSON(object{"mcpServers": object{"todo": server}})
}

// file writes a file below the client's home and returns its path.
func (r *rig) file(name, content string) string {
	path := filepath.Join(r.home, name)
	checktest.Check(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	checktest.Check(r.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func claudeFiles(r *rig) { r.file("mcp.json", r.mcpServers(nil)) }

func claude(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, "@anthropic-ai/claude-code-*/claude"), "-p", r.prompt, "--strict-mcp-config", "--mcp-config", filepath.Join(r.home, "mcp.json"), "--allowedTools", "mcp__todo__*"}
	switch {
	case first:
		args = append(args, "--session-id", session)
	case w == resume:
		args = append(args, "--resume", session)
	case w == latest:
		args = append(args, "--continue")
	}
	return args, []string{"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

func codexFiles(r *rig) {
	r.codexModel("[mcp_servers.todo]", "command = "+asJSON(r.server[0]), "args = "+asJSON(r.server[1:]))
}

// codexModel writes Codex' settings, and additional lines at their end.
func (r *rig) codexModel(more ...string) {
	r.file("codex/config.toml", `model = "gpt-5"
model_provider = "standin"
[model_providers.standin]
name = "standin"
base_url = "`+r.model.URL+`/v1"
wire_api = "responses"
[analytics]
enabled = false
`+strings.Join(more, "\n"))
}

func codex(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/codex"), "exec"}
	if !first && w == resume {
		args = append(args, "resume", "--last")
	}
	args = append(args, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go")
	return args, []string{"CODEX_HOME=" + filepath.Join(r.home, "codex")}
}

func geminiFiles(r *rig) {
	var servers object
	_ = json.Unmarshal([]byte(r.mcpServers(object{"trust": true, "type": "stdio"})), &servers)
	r.geminiSettings(servers)
}

// geminiSettings writes Gemini CLI's settings, with additional fields.
func (r *rig) geminiSettings(more object) {
	settings := object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"general":  object{"enableAutoUpdate": false},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
	maps.Copy(settings, more)
	r.file(".gemini/settings.json", asJSON(settings))
}

func gemini(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/gemini"), "--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p", "go"}
	if !first && w == resume {
		args = append(args, "--resume", "latest")
	}
	return args, []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL}
}

// qwenSettings writes Qwen Code's settings, with additional fields.
func (r *rig) qwenSettings(more object) {
	settings := object{
		"security": object{"auth": object{"selectedType": "openai"}},
		"general":  object{"enableAutoUpdate": false},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
	maps.Copy(settings, more)
	r.file(".qwen/settings.json", asJSON(settings))
}

func qwen(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/qwen"), "--auth-type", "openai", "--yolo", "-p", "go"}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=" + r.model.URL + "/v1", "OPENAI_MODEL=stand-in"}
}

func kimiFiles(r *rig) { r.file("kimi/mcp.json", r.mcpServers(nil)) }

func kimi(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/kimi"), "-p", "go"}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"KIMI_CODE_HOME=" + filepath.Join(r.home, "kimi"), "KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_MODEL_NAME=stand-in", "KIMI_MODEL_API_KEY=x", "KIMI_MODEL_PROVIDER_TYPE=anthropic", "KIMI_MODEL_BASE_URL=" + r.model.URL}
}

func copilot(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, "@github/copilot-linux-*/copilot"), "-p", "go", "--allow-all-tools", "--additional-mcp-config", "@" + filepath.Join(r.home, "mcp.json")}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"COPILOT_HOME=" + filepath.Join(r.home, "copilot"), "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL=" + r.model.URL, "COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=claude-sonnet-4.5"}
}

// With recordMode the test binary is the program that clients start as their MCP server: "hosts.test record FILE SERVER
// [ARGUMENT…]" runs the server and appends to the file what goes in and out, one line each: the process id of the
// server, a kind ("env", ">", "<", "signal") and a text.
const recordMode = "record"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == recordMode {
		os.Exit(record(os.Args[2], os.Args[3], os.Args[4:]))
	}
	os.Exit(programtest.Run(m, &serverFile, &programtest.Table{}))
}

// serverFile is todo-mcp, built from this worktree.
var serverFile string

func record(file, server string, args []string) int {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// If the client kills this process, Linux kills the server, too. Linux would also do so if the thread that started
	// the server ended, so this goroutine keeps its thread.
	runtime.LockOSThread()
	cmd := exec.Command(server, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	signal.Ignore(syscall.SIGPIPE) // a client that no longer reads must not end this process
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	write := func(kind, text string) { fmt.Fprintf(log, "%d %s %s\n", cmd.Process.Pid, kind, text) }
	for _, v := range os.Environ() {
		write("env", strings.ReplaceAll(v, "\n", " "))
	}
	go func() {
		for s := range signals {
			write("signal", s.String())
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		tee(in, os.Stdin, func(line string) { write(">", line) })
		write("signal", "end of input")
		_ = in.Close()
	}()
	tee(os.Stdout, out, func(line string) { write("<", line) })
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// tee copies lines from one stream to another. Before it writes a line, it passes the line to a callback.
func tee(to io.Writer, from io.Reader, line func(string)) {
	for r := bufio.NewReader(from); ; {
		s, err := r.ReadString('\n')
		if s != "" {
			line(strings.TrimSuffix(s, "\n"))
			_, _ = io.WriteString(to, s)
		}
		if err != nil {
			return
		}
	}
}

// recording is what one run of a client sent to its servers, with the servers' process ids.
type recording struct {
	sent    []string // messages to the server, variables that may name a session, and signals
	servers []string // process ids
}

// naming matches environment variables that may name a session.
var naming = regexp.MustCompile(`^[A-Z_]*(SESSION|PROJECT|THREAD|CONVERSATION)[^=]*=`)

// read returns the recording in a file; an empty recording if the file does not exist.
func read(t *testing.T, file string) (r recording) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Logf("no recording: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(part) < 3 { // a half-written line
			continue
		}
		pid, kind, text := part[0], part[1], part[2]
		if !slices.Contains(r.servers, pid) {
			r.servers = append(r.servers, pid)
		}
		if kind == "<" || kind == "env" && !naming.MatchString(text) {
			continue
		}
		if said := kind + " " + text; !slices.Contains(r.sent, said) {
			r.sent = append(r.sent, said)
		}
	}
	return r
}
