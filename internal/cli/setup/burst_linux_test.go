package setup_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// burst starts a hook process for each event, in order and without waiting, and then waits until all have ended. Each
// process must succeed and print nothing.
func (r hookRig) burst(events []string) {
	r.Helper()
	var hooks []*exec.Cmd
	printed := make([]bytes.Buffer, len(events))
	for n, event := range events {
		c := exec.CommandContext(r.Context(), "todo-mcp", "hook")
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Dir(r.state))
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(event), &printed[n], &printed[n]
		if err := c.Start(); err != nil {
			r.Error(err)
			return
		}
		hooks = append(hooks, c)
	}
	for n, c := range hooks {
		if err := c.Wait(); err != nil || printed[n].Len() > 0 {
			r.Errorf("%v, printed %q", err, &printed[n])
		}
	}
}

// lock locks the store as another program does, until unlock is called.
func (r hookRig) lock() (unlock func()) {
	r.Helper()
	if _, err := os.Stat(r.state); err != nil {
		r.call(planOf("pending"))
		_ = r.lists() // this read makes the store
	}
	db := checktest.Must(sql.Open("sqlite", filepath.Join(r.state, "todo.db")))(r)
	db.SetMaxOpenConns(1)
	checktest.Must(db.Exec("BEGIN IMMEDIATE"))(r)
	return func() { db.Close() }
}

// BAD-INPUT 114: sixty hooks at once lose no event, on a free or locked store.
func TestBurst(t *testing.T) {
	var events []string
	for n := range 60 {
		events = append(events, strings.NewReplacer(`"s"`, fmt.Sprintf(`"s%d"`, n%6), "Write", fmt.Sprint("Step ", n)).Replace(eventOf("pending")))
	}
	for _, isLocked := range []bool{true, false} {
		r := newHookRig(t)
		others, unlock := make(chan []string, 1), func() {}
		if isLocked {
			unlock = r.lock()
			others <- nil
		} else {
			go func() { others <- r.lists() }() // while the hooks run
		}
		r.burst(events)
		<-others
		unlock()
		if n := r.left(); isLocked && n != len(events) {
			t.Errorf("%d events were left of %d: %s", n, len(events), r.log())
		}
		if all := r.lists(); len(all) < 6 || r.left() > 0 {
			t.Errorf("locked %t: %d events are left, and the lists are %q", isLocked, r.left(), all)
		}
		checktest.Same(t, "the mode of the spool", checktest.Must(os.Stat(r.spool()))(t).Mode(), os.ModeDir|0o700)
	}
}

// A hook that needs a store that another program has locked gives up after three seconds; no event is lost.
func TestLockedStoreLosesNothing(t *testing.T) {
	t.Parallel() // a hook waits for three seconds
	r := newHookRig(t)
	unlock := r.lock()
	r.burst([]string{eventOf("completed")})
	r.burst([]string{`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"go"}`})
	unlock()
	checktest.Has(t, "the log is", r.log(), "deadline")
	r.expect("Write at revision 2 with 1 items")
}

// A server shows the events that hooks left in the spool: in its answers, and at once on its streams, even if the store
// did not exist when the server started.
func TestServersShowWhatIsLeft(t *testing.T) {
	r := newHookRig(t)
	server := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}.Serve(t)
	stream := servertest.OpenStream(t, "GET", server.URL+"/api/events", "")
	for n, status := range []string{"pending", "in_progress", "completed"} {
		r.burst([]string{eventOf(status)})
		stream.Expect(fmt.Sprintf(`"revision":%d`, n+1))
	}
	checktest.Same(t, "events left", r.left(), 0)
	_ = stream.Close()
	r.burst([]string{eventOf("pending")})
	if _, lists := programtest.Get(t, server.URL+"/api/lists"); strings.Count(lists, `"list":`) != 2 {
		t.Errorf("%s", lists)
	}
	server.End(t)
}

// A hook that finds many events waiting applies them, so that the spool of an unread store does not fill the disk.
func TestManyLeft(t *testing.T) {
	r := newHookRig(t)
	for n := range 63 {
		r.burst([]string{eventOf([]string{"pending", "in_progress"}[n%2])})
	}
	checktest.Same(t, "events left", r.left(), 63)
	// On a busy machine a hook applies only some of the events, as many as it can in a second.
	for tries := 0; r.left() > 62; tries++ {
		if r.burst([]string{eventOf("completed")}); tries == 60 {
			t.Fatalf("%d events wait after %d more", r.left(), tries)
		}
	}
}

// BAD-INPUT 98: a hook log that is a pipe blocks neither a hook nor doctor.
func TestPipeAsHookLog(t *testing.T) {
	r := newHookRig(t)
	checktest.Check(t, os.Mkdir(r.state, 0o700))
	checktest.Check(t, syscall.Mkfifo(filepath.Join(r.state, "hook.log"), 0o600))
	r.call(strings.NewReader("{"))
	call := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}
	checktest.Check(t, checktest.Err(call.Run(t.Context(), "doctor", "--addr", "127.0.0.1:0")))
}
