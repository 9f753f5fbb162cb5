package setup_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
)

// hookRig is a home folder in which a host calls a hook.
type hookRig struct {
	*testing.T
	state string // the state folder
}

func newHookRig(t *testing.T) hookRig {
	return hookRig{t, filepath.Join(t.TempDir(), "todo-mcp")}
}

// call calls the hook as a host does, which must succeed soon and print nothing.
func (r hookRig) call(event io.Reader) {
	r.Helper()
	log := make(programtest.Lines, 100)
	began := time.Now()
	printed, err := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}, In: event, Log: log}.Run(r.Context(), "hook")
	if err != nil || printed != "" || len(log) > 0 {
		r.Errorf("the hook fails with %v and prints %q and %d lines", err, printed, len(log))
	}
	if took := time.Since(began); took > 5*time.Second {
		r.Errorf("it takes %s", took)
	}
}

func (r hookRig) log() string {
	data, err := os.ReadFile(filepath.Join(r.state, "hook.log"))
	if err != nil {
		r.Error(err)
	}
	return string(data)
}

// open opens the store, behind what hooks left for it; the caller closes it. On a busy
// machine all of that is on the lists after several reads, each of which waits for it for a
// second.
func (r hookRig) open() board.Store {
	r.Helper()
	left := hook.Front{Spool: hook.Spool{File: r.spool(), Log: func(err error) { r.Log(err) }}}
	st, err := sqlite.Open(filepath.Join(r.state, "todo.db"), board.Keep{Before: left.Settle})
	if err != nil {
		r.Fatal(err)
	}
	left.Store = st
	for read := 0; r.left() > 0 && read < 60; read++ {
		_, _ = st.Position(r.Context())
	}
	return st
}

// spool returns the file with what hooks left, and left how many events wait there.
func (r hookRig) spool() string { return filepath.Join(r.state, "todo.db"+sqlite.SpoolSuffix) }

func (r hookRig) left() int {
	lines, _ := os.ReadFile(r.spool()) // there may be none yet
	return bytes.Count(append([]byte("\n"), lines...), []byte("\n+"))
}

// lists returns the lists of the store in words.
func (r hookRig) lists() (found []string) {
	r.Helper()
	st := r.open()
	defer st.Close()
	lists, err := st.Find(r.Context(), board.Query{})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range lists {
		found = append(found, fmt.Sprintf("%s at revision %d with %d items", l.Title(), l.Revision, len(l.Items)))
	}
	return found
}

func (r hookRig) expect(lists ...string) {
	r.Helper()
	if diff := cmp.Diff(lists, r.lists()); diff != "" {
		r.Errorf("lists (-want +got):\n%s", diff)
	}
}

func planOf(status string) io.Reader { return strings.NewReader(eventOf(status)) }

func eventOf(status string) string {
	return `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"` + status + `"}]}}`
}

// BAD-INPUT 98: a host that does not end what it writes does not keep a hook.
func TestHookOnAnEndlessEvent(t *testing.T) {
	t.Parallel() // a hook waits for three seconds
	r := newHookRig(t)
	in, out := io.Pipe()
	defer out.Close()
	r.call(in)
	if log := r.log(); !strings.Contains(log, "gave up after") {
		t.Errorf("the log is %q", log)
	}
}

// BAD-INPUT 162, 98: an event ends where its JSON does, behind whatever marks: a host that keeps
// the pipe open, or writes on, loses nothing and waits for nothing.
func TestHookEndsWithTheEvent(t *testing.T) {
	for _, event := range []string{eventOf("pending"), "\ufeff\ufeff" + eventOf("pending"), eventOf("pending") + "\n{ no JSON"} {
		r := newHookRig(t)
		in, out := io.Pipe()
		go io.WriteString(out, event) // and nothing ends the pipe
		r.call(in)
		r.expect("Write at revision 1 with 1 items")
		in.Close()
	}
}

// An export has all that hooks left, also where it takes its time to apply that, or says that it
// is not all.
func TestExportHasWhatHooksLeft(t *testing.T) {
	r := newHookRig(t)
	r.call(planOf("pending"))
	if n := r.left(); n != 1 {
		t.Fatalf("%d events are left", n)
	}
	unlock, err := atomicfile.TryLock(r.spool() + "-apply") // who applies it takes its time
	if err != nil {
		t.Fatal(err)
	}
	export := func() (string, error) {
		return programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}.Run(t.Context(), "export")
	}
	if out, err := export(); err == nil || !strings.Contains(err.Error(), "not all") || out != "" {
		t.Errorf("%q, %v", out, err)
	}
	unlock()
	if out, err := export(); err != nil || !strings.Contains(out, `"Write"`) {
		t.Errorf("%q, %v", out, err)
	}
}

// BAD-INPUT 98: the log of hooks does not grow for ever: a full one is put in the place
// of the one before, and a line is short.
func TestHookLogIsBounded(t *testing.T) {
	r := newHookRig(t)
	log := filepath.Join(r.state, "hook.log")
	long := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"` + strings.Repeat("x", 10_000) + `"}`
	if err := os.Mkdir(r.state, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.WriteFile(log, bytes.Repeat([]byte("x"), 256<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		r.call(strings.NewReader(long))
		if text := r.log(); !strings.HasPrefix(text, "time=") || len(text) > 1000 {
			t.Errorf("a full log is not put away, or a line is long: %d bytes", len(text))
		}
		if files, err := filepath.Glob(log + "*"); err != nil || len(files) != 2 {
			t.Errorf("there are %q, %v", files, err)
		}
	}
}

// BAD-INPUT 106: a hook that is set up twice, as by a plugin and by install, is called
// twice at the same time for each event. That makes no list and no revision more.
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
			event, err := os.ReadFile(filepath.Join("..", "..", "hook", "testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
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
