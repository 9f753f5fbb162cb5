package setup_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
)

// hookRig is a home folder in which a host calls a hook.
type hookRig struct {
	*testing.T
	state string // the state folder
}

func newHookRig(t *testing.T) hookRig {
	return hookRig{t, filepath.Join(t.TempDir(), "todo-mcp")}
}

// call calls the hook as a host does and returns how long that took. The hook must
// succeed and print nothing.
func (r hookRig) call(event io.Reader) time.Duration {
	r.Helper()
	var out bytes.Buffer
	env := cli.Env{Stdin: event, Stdout: &out, Stderr: &out, Version: "v0",
		Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}[name] }}
	began := time.Now()
	if err := cli.Run(r.Context(), []string{"todo-mcp", "hook"}, env); err != nil || out.Len() > 0 {
		r.Errorf("the hook fails with %v and prints %q", err, &out)
	}
	return time.Since(began)
}

func (r hookRig) log() string {
	data, err := os.ReadFile(filepath.Join(r.state, "hook.log"))
	if err != nil {
		r.Error(err)
	}
	return string(data)
}

// lists returns the lists of the store.
func (r hookRig) lists() []todo.Snapshot {
	r.Helper()
	st, err := sqlite.Open(filepath.Join(r.state, "todo.db"))
	if err != nil {
		r.Fatal(err)
	}
	defer st.Close()
	found, err := st.Find(r.Context(), todo.Query{})
	if err != nil {
		r.Fatal(err)
	}
	return found
}

func planOf(status string) io.Reader {
	return strings.NewReader(`{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"` + status + `"}]}}`)
}

// BAD-INPUT 98: while another program has the store locked, a hook gives up soon, and
// what it was told is not applied when the lock ends.
func TestHookOnALockedStore(t *testing.T) {
	r := newHookRig(t)
	r.call(planOf("pending"))
	db, err := sql.Open("sqlite", filepath.Join(r.state, "todo.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if took := r.call(planOf("completed")); took > 5*time.Second {
		t.Errorf("it waits %s for the store", took)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if log := r.log(); strings.Count(log, "\n") != 1 {
		t.Errorf("the log is %q", log)
	}
	if all := r.lists(); len(all) != 1 || all[0].Revision != 1 {
		t.Errorf("lists %+v", all)
	}
	r.call(planOf("completed"))
	if all := r.lists(); len(all) != 1 || all[0].Revision != 2 {
		t.Errorf("after the lock: %+v", all)
	}
}

// BAD-INPUT 98: a host that does not end what it writes does not keep a hook.
func TestHookOnAnEndlessEvent(t *testing.T) {
	r := newHookRig(t)
	in, out := io.Pipe()
	defer out.Close()
	if took := r.call(in); took > 5*time.Second {
		t.Errorf("it waits %s for the event", took)
	}
	if log := r.log(); !strings.Contains(log, "gave up after") {
		t.Errorf("the log is %q", log)
	}
}

// BAD-INPUT 98: the log of hooks does not grow for ever.
func TestHookLogIsBounded(t *testing.T) {
	r := newHookRig(t)
	size := func() (total int64) {
		files, err := filepath.Glob(filepath.Join(r.state, "hook.log*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
		}
		return total
	}
	long := `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"` + strings.Repeat("x", 10_000) + `"}`
	r.call(strings.NewReader(long))
	line := size()
	if line > 1000 {
		t.Errorf("a line of %d bytes", line)
	}
	for range 2 {
		if err := os.WriteFile(filepath.Join(r.state, "hook.log"), bytes.Repeat([]byte("x"), 256<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		r.call(strings.NewReader(long))
		if got, most := size(), line+256<<10; got > most {
			t.Errorf("the log is %d bytes, at most %d", got, most)
		}
	}
	if !strings.HasPrefix(r.log(), "time=") {
		t.Error("a full log is not put away")
	}
}

// BAD-INPUT 105: a hook that is set up twice, as by a plugin and by install, is called
// twice at the same time for each event. That makes no list and no revision more.
func TestHookTwiceAtOnce(t *testing.T) {
	events := []string{
		"claude-code-ours", "claude-code-todowrite", "claude-code-todowrite-subagent", "claude-code-subagent-stop", "claude-code-session-end",
		"claude-code-taskcreate-1", "claude-code-taskcreate-2", "claude-code-taskcreate-3", "claude-code-taskupdate-owner", "claude-code-taskupdate-waits",
		"claude-code-taskupdate-done", "claude-code-taskupdate-subject", "claude-code-taskcreate-subagent", "claude-code-taskupdate-subagent",
		"claude-code-taskupdate-deleted", "claude-code-tasklist", "codex-update-plan", "codex-update-plan-2", "gemini-write-todos", "gemini-write-todos-done", "opencode-todowrite-2",
	}
	play := func(times int) (found []string) {
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
		for _, l := range r.lists() {
			found = append(found, fmt.Sprintf("%s at revision %d with %d items", l.First, l.Revision, len(l.Items)))
		}
		return found
	}
	once, twice := play(1), play(2)
	if diff := cmp.Diff(once, twice); diff != "" || len(once) < 4 {
		t.Errorf("%d lists; called twice (-want +got):\n%s", len(once), diff)
	}
}
