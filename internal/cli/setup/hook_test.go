package setup_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
)

// hookRig is a home folder in which a host calls a hook.
type hookRig struct {
	*testing.T
	state string // the state folder
}

func newHookRig(t *testing.T) hookRig { return hookRig{t, filepath.Join(t.TempDir(), "todo-mcp")} }

// call calls the hook as a host does. The hook must succeed and print nothing.
func (r hookRig) call(event io.Reader, flags ...string) {
	r.Helper()
	log := make(programtest.Lines, 100)
	printed, err := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}, In: event, Log: log}.Run(r.Context(), append([]string{"hook"}, flags...)...)
	if err != nil || printed != "" || len(log) > 0 {
		r.Errorf("the hook fails with %v and prints %q and %d lines", err, printed, len(log))
	}
}

func (r hookRig) log() string {
	return string(checktest.Must(os.ReadFile(filepath.Join(r.state, "hook.log")))(r))
}

// open opens the store, which the caller closes, and applies the events that hooks left. On a busy machine that takes
// several reads, since each read spends a second on the events at most.
func (r hookRig) open() board.Store {
	r.Helper()
	left := hook.Spool{Folder: r.spool(), Log: func(err error) { r.Log(err) }}
	st := checktest.Must(sqlite.Open(filepath.Join(r.state, "todo.db"), board.Keep{Before: left.Settle}))(r)
	left.Store = st
	for read := 0; r.left() > 0 && read < 60; read++ {
		_, _ = st.Position(r.Context())
	}
	return st
}

// spool returns the folder of waiting events; [hookRig.left] returns their number.
func (r hookRig) spool() string { return filepath.Join(r.state, "todo.db"+sqlite.SpoolSuffix) }

func (r hookRig) left() int {
	files, _ := os.ReadDir(r.spool()) // the folder may not exist yet
	return len(files)
}

// lists describes each list of the store in words.
func (r hookRig) lists() (found []string) {
	r.Helper()
	st := r.open()
	defer st.Close()
	for _, l := range checktest.Must(st.Find(r.Context(), board.Query{}))(r) {
		found = append(found, fmt.Sprintf("%s at revision %d with %d items", l.Title(), l.Revision, len(l.Items)))
	}
	return found
}

func (r hookRig) expect(lists ...string) {
	r.Helper()
	checktest.Same(r, "lists (-want +got)", cmp.Diff(lists, r.lists()), "")
}

// A list's client is the host that the flag --host names, unless the event names another: Cursor may run the hooks of
// Claude Code.
func TestHookNamesItsHost(t *testing.T) {
	const event = `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"Write","status":"pending"}]}MORE}`
	for more, want := range map[string]string{"": "claude-code", `,"cursor_version":"2.4.0"`: "cursor"} {
		r := newHookRig(t)
		r.call(strings.NewReader(strings.Replace(event, "MORE", more, 1)), "--host", "claude-code")
		st := r.open()
		defer st.Close()
		found, err := st.Find(t.Context(), board.Query{})
		if err != nil || len(found) != 1 || found[0].List.Client != want {
			t.Errorf("with %q the lists are %+v, %v", more, found, err)
		}
	}
}

func planOf(status string) io.Reader { return strings.NewReader(eventOf(status)) }

func eventOf(status string) string {
	return `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"` + status + `"}]}}`
}

// BAD-INPUT 98: a hook gives up on an event that its host never ends.
func TestHookOnAnEndlessEvent(t *testing.T) {
	t.Parallel() // a hook waits for three seconds
	r := newHookRig(t)
	in, out := io.Pipe()
	defer out.Close()
	r.call(in)
	checktest.Has(t, "the log is", r.log(), "gave up after")
}

// BAD-INPUT 162, 98: an event, with or without byte order marks, ends where its JSON ends: the hook does not wait for a
// host that keeps the pipe open, and ignores later input.
func TestHookEndsWithTheEvent(t *testing.T) {
	for _, event := range []string{eventOf("pending"), "\ufeff\ufeff" + eventOf("pending"), eventOf("pending") + "\n{ no JSON"} {
		r := newHookRig(t)
		in, out := io.Pipe()
		go io.WriteString(out, event) // the pipe stays open
		r.call(in)
		r.expect("Write at revision 1 with 1 items")
		in.Close()
	}
}

// An export includes all events that hooks left, or fails and says that it would be incomplete.
func TestExportHasWhatHooksLeft(t *testing.T) {
	r := newHookRig(t)
	r.call(planOf("pending"))
	if n := r.left(); n != 1 {
		t.Fatalf("%d events are left", n)
	}
	unlock := checktest.Must(atomicfile.TryLock(r.spool() + "-apply"))(t)
	export := func() (string, error) {
		return programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}.Run(t.Context(), "export")
	}
	if out, err := export(); err == nil || !strings.Contains(err.Error(), "not all") || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	unlock()
	checktest.Has(t, "out", checktest.Must(export())(t), `"Write"`)
}

// BAD-INPUT 98: the hook log is bounded: a full log is renamed and replaces hook.log.old, and each line is short.
func TestHookLogIsBounded(t *testing.T) {
	r := newHookRig(t)
	log := filepath.Join(r.state, "hook.log")
	long := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"` + strings.Repeat("x", 10_000) + `"}`
	checktest.Check(t, os.Mkdir(r.state, 0o700))
	for range 2 {
		checktest.Check(t, os.WriteFile(log, bytes.Repeat([]byte("x"), 256<<10), 0o600))
		r.call(strings.NewReader(long))
		if text := r.log(); !strings.HasPrefix(text, "time=") || len(text) > 1000 {
			t.Errorf("a full log is not put away, or a line is long: %d bytes", len(text))
		}
		checktest.Same(t, "there are", len(checktest.Must(filepath.Glob(log+"*"))(t)), 2)
	}
}

// BAD-INPUT 106: a hook that is set up twice, as by a plugin and by install, is called twice at the same time for each
// event. That makes no additional list or revision.
func TestHookTwiceAtOnce(t *testing.T) {
	t.Parallel()
	events := []string{
		"claude-code-ours", "claude-code-todowrite", "claude-code-todowrite-subagent", "claude-code-subagent-stop", "claude-code-session-end",
		"claude-code-taskcreate-1", "claude-code-taskcreate-2", "claude-code-taskcreate-3", "claude-code-taskupdate-owner", "claude-code-taskupdate-waits",
		"claude-code-taskupdate-done", "claude-code-taskupdate-subject", "claude-code-taskcreate-subagent", "claude-code-taskupdate-subagent",
		"claude-code-taskupdate-deleted", "claude-code-tasklist", "codex-update-plan", "codex-update-plan-2", "gemini-write-todos", "gemini-write-todos-done", "opencode-todowrite-2",
	}
	play := func(times int) []string {
		r := newHookRig(t)
		for _, name := range events {
			event := checktest.Must(os.ReadFile(filepath.Join("..", "..", "hook", "testdata", name+".json")))(t)
			var calls sync.WaitGroup
			for range times {
				calls.Go(func() { r.call(bytes.NewReader(event)) })
			}
			calls.Wait()
		}
		return r.lists()
	}
	once, twice := play(1), play(2)
	if diff := cmp.Diff(once, twice); diff != "" || len(once) < 4 {
		t.Errorf("%d lists; called twice (-want +got):\n%s", len(once), diff)
	}
}

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// hook --server passes its event on to a server with sign-in, prints the server's answer for the host, and touches no
// local list. With a wrong token, or no server at the URL, it prints nothing and succeeds, and the log has no token.
func TestHookPassesOn(t *testing.T) {
	r := newHookRig(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	made := programtest.Succeeds(t, "token", "new", "ann", "--tokens", tokens)
	at := strings.Index(made, "todo_")
	if at < 0 {
		t.Fatalf("no token in %q", made)
	}
	token, _, _ := strings.Cut(strings.Fields(made[at:])[0], "`")
	s := programtest.Serve(t, "--store", "memory", "--tokens", tokens)
	call := func(server, token, event string, more ...string) string {
		t.Helper()
		env := map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state), "TODO_TOKEN": token}
		printed, err := programtest.Call{Env: env, In: strings.NewReader(event)}.Run(t.Context(), append([]string{"hook", "--server", server}, more...)...)
		checktest.Check(t, err)
		return printed
	}
	event := `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"pending"}]}}`
	stop := `{"session_id":"s","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false}`
	for _, silent := range []string{call(s.URL, "secret", event), call(s.URL, "", event), call("http://127.0.0.1:1", token, event), call(s.URL+"/nowhere", token, event), call(s.URL, token, event), call(s.URL, token, stop)} {
		checktest.Same(t, "it prints", silent, "")
	}
	if log := r.log(); strings.Count(log, "\n") != 4 || strings.Contains(log, token) || strings.Contains(log, "secret") {
		t.Errorf("the log is %q", log)
	}
	if status, lists := programtest.Get(t, s.URL+"/api/lists", "Authorization", "Bearer "+token); status != http.StatusOK || !strings.Contains(lists, `"title":"Write"`) || strings.Count(lists, `"list":`) != 1 {
		t.Errorf("%d %s", status, lists)
	}
	if told := call(s.URL, token, stop, "--finish"); !strings.Contains(told, `"decision":"block"`) || !strings.Contains(told, "Write") {
		t.Errorf("the host reads %q", told)
	}
	large := strings.Replace(event, `"tool_input"`, `"tool_response":"`+strings.Repeat("x", 2<<20)+`","tool_input"`, 1)
	call(s.URL, token, strings.Replace(large, "pending", "completed", 1))
	if _, lists := programtest.Get(t, s.URL+"/api/lists", "Authorization", "Bearer "+token); !strings.Contains(lists, `"all_completed":true`) {
		t.Errorf("what was told with a large answer is lost: %s", lists)
	}
	checktest.Fails(t, "it made a store of its own", checktest.Err(os.Stat(filepath.Join(r.state, "todo.db"))))
}

// diagnosis is what `doctor` prints.
type diagnosis string

// doctor runs `doctor` in a home of its own, in which Cursor calls a server at an address.
func doctor(t *testing.T, cursorCalls string, args ...string) diagnosis {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, ".cursor", "mcp.json")
	checktest.Check(t, os.MkdirAll(filepath.Dir(file), 0o700))
	checktest.Check(t, os.WriteFile(file, []byte(`{"mcpServers":{"todo":{"url":"`+cursorCalls+`"}}}`), 0o600))
	t.Setenv("HOME", home) // also for the processes that doctor starts
	t.Setenv("USERPROFILE", home)
	call := programtest.Call{Env: map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "TODO_AUDIT_LOG": os.Getenv("TODO_AUDIT_LOG")}}
	printed, err := call.Run(t.Context(), append([]string{"doctor"}, args...)...)
	checktest.Same(t, fmt.Sprintf("the error is %v after\n%s", err, printed), err == nil, strings.Contains(printed, "\nProblems: 0,"))
	return diagnosis(printed)
}

// expect fails the test unless a line begins with the given mark and contains the given text.
func (d diagnosis) expect(t *testing.T, mark, text string) {
	t.Helper()
	for line := range strings.Lines(string(d)) {
		if strings.HasPrefix(line, mark+" ") && strings.Contains(line, text) {
			return
		}
	}
	t.Errorf("no %s with %q in\n%s", mark, text, d)
}

// doctor reports whether a todo-mcp answers at a client's URL, and whether a todo-mcp serves --addr.
func TestDoctorOfServers(t *testing.T) {
	s := programtest.Serve(t, "--store", "memory")
	d := doctor(t, s.URL+"/mcp", "--addr", strings.TrimPrefix(s.URL, "http://"))
	d.expect(t, "✓", "a todo-mcp answers there")
	d.expect(t, "✓", "served at "+s.URL)

	tokens := filepath.Join(t.TempDir(), "tokens")
	programtest.Succeeds(t, "token", "new", "ann", "--tokens", tokens)
	signed := programtest.Serve(t, "--store", "memory", "--tokens", tokens)
	doctor(t, signed.URL+"/mcp", "--addr", "127.0.0.1:0").expect(t, "✓", "a todo-mcp answers there")

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d = doctor(t, other.URL+"/mcp", "--addr", strings.TrimPrefix(other.URL, "http://"))
	d.expect(t, "✗", "Cursor: "+other.URL)
	// This test's program is not in PATH, so the cure must not call it todo-mcp.
	if all := string(d); !strings.Contains(all, " serve`, and let it run") || strings.Contains(all, "`todo-mcp serve`") {
		t.Errorf("what to do is not said as it works here: %s", all)
	}
	d.expect(t, "!", "by another program")
	d.expect(t, "Problems:", "1, warnings: 1.")
}

// doctor makes no list, and writes nothing to the audit log.
func TestDoctorLeavesNothing(t *testing.T) {
	store, log := "sqlite:"+filepath.Join(t.TempDir(), "todo.db"), filepath.Join(t.TempDir(), "audit")
	s := programtest.Serve(t, "--store", store, "--audit-log", log)
	t.Setenv("TODO_AUDIT_LOG", log)
	doctor(t, s.URL+"/mcp", "--store", store, "--addr", "127.0.0.1:0")
	checktest.Same(t, "the audit log has", len(checktest.Must(os.ReadFile(log))(t)), 0)
	if _, body := programtest.Get(t, s.URL+"/api/lists"); strings.Contains(body, `"id"`) {
		t.Errorf("there is a list: %s", body)
	}
}

// From 70 % of --max-size on, doctor and /readyz say how full the store is; the metrics always say it.
func TestStoreFills(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todo.db")
	var items []string
	for range 40 {
		items = append(items, `{"content":"`+strings.Repeat("x", 190)+`","activeForm":"x","status":"pending"}`)
	}
	limits := []string{"--store", store, "--max-size", "1"}
	s := programtest.Serve(t, limits...)
	quiet := doctor(t, s.URL+"/mcp", append(limits, "--addr", "127.0.0.1:0")...)
	if strings.Contains(string(quiet), "% full") {
		t.Errorf("an empty store is full: %s", quiet)
	}
	for n := range 42 {
		programtest.Succeeds(t, append([]string{"TodoWrite", "--list", fmt.Sprint(n), `{"todos":[` + strings.Join(items, ",") + `]}`}, limits...)...)
	}
	doctor(t, s.URL+"/mcp", append(limits, "--addr", "127.0.0.1:0")...).expect(t, "!", "% full")
	if _, body := programtest.Get(t, s.URL+"/readyz"); !strings.HasPrefix(body, "ok\nthe store is ") {
		t.Errorf("/readyz: %q", body)
	}
	_, metrics := programtest.Get(t, s.URL+"/metrics")
	checktest.Has(t, "metrics", metrics, "\ntodo_store_bytes ", "\ntodo_store_max_bytes 1e+06", "\ntodo_store_damaged_rows 0")
}
