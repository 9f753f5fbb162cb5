package hook_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/process"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A host starts this program, which lives until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv("BE_A_HOST") != "" {
		select {}
	}
	os.Exit(m.Run())
}

// newHost starts a process that is a host, and returns its id, and what kills it.
func newHost(t *testing.T) (id string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BE_A_HOST=1")
	checktest.Check(t, cmd.Start())
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	return process.ID(cmd.Process.Pid), kill
}

// sendFrom sends an event of a chat that a host's process gave a hook.
func (r *rig) sendFrom(host, session, event string) {
	r.Helper()
	e, err := hook.Read(strings.NewReader(strings.Replace(event, "{", `{"session_id":"`+session+`","cwd":"/w",`, 1)))
	e.Process = host
	if err == nil {
		_, err = hook.Do(r.Context(), e, r.open)
	}
	if err != nil {
		r.Error(event, err)
	}
}

// stood returns how a list stands, with what its agent asks.
func (r *rig) stood(list todo.Snapshot) string {
	r.Helper()
	st := r.standing(list)
	return strings.TrimSpace(string(st.State) + " " + st.Asks)
}

// isThere checks how a list stands at some time, with what its agent asks.
func (r *rig) isThere(list todo.Snapshot, want, when string) {
	r.Helper()
	checktest.Same(r, when, r.stood(list), want)
}

const (
	writes  = `{"hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"Read","activeForm":"Reading","status":"in_progress"}]}}`
	asks    = `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -r build"}}`
	rests   = `{"hook_event_name":"Stop"}`
	prompts = `{"hook_event_name":"UserPromptSubmit","prompt":"Go"}`
	starts  = `{"hook_event_name":"SessionStart","source":"startup"}`
)

// A chat is there as long as its host's process lives, however long nothing is heard of it, and gone
// as soon as that is killed: then it waits for nobody. One that is resumed is there again. Of a
// process of another machine it counts for half an hour.
func TestChatsAreThereWithTheirHost(t *testing.T) {
	for _, does := range []struct{ event, here string }{{asks, "waiting run `rm -r build`?"}, {prompts, "working"}, {rests, "idle"}} {
		r := newRig(t)
		host, kill := newHost(t)
		r.sendFrom(host, "s", writes)
		list := r.all()[0]
		r.sendFrom(host, "s", does.event)
		r.isThere(list, does.here, "its host lives")
		later := board.NewBoard(r.store, board.WithClock(func() time.Time { return time.Now().Add(5 * time.Hour) }))
		defer later.Close()
		if states, err := later.As("").States(t.Context(), list); err != nil || states[list.List.ID].State == todo.LeftOpen {
			t.Error("five hours later, while its host lives:", states, err)
		}
		kill()
		r.isThere(list, "left open", fmt.Sprintf("after %s its host was killed", does.event))
		r.sendFrom("elsewhere/2/3", "s", prompts)
		r.isThere(list, "left open", "its host was killed, and an event is of another machine's")
		again, _ := newHost(t)
		r.sendFrom(again, "s", prompts)
		r.isThere(list, "working", "it is resumed")
	}
	reused, _ := newHost(t) // which has the number of the chat's, that was killed
	r := newRig(t)
	r.sendFrom(reused[:strings.LastIndex(reused, "/")]+"/1", "s", asks)
	r.sendFrom(reused[:strings.LastIndex(reused, "/")]+"/1", "s", writes)
	r.isThere(r.all()[0], "left open", "another process has the number of its host's")
	r = newRig(t)
	r.sendFrom("elsewhere/2/3", "s", writes)
	list := r.all()[0]
	later := board.NewBoard(r.store, board.WithClock(func() time.Time { return time.Now().Add(31 * time.Minute) }))
	defer later.Close()
	states, err := later.As("").States(t.Context(), list)
	if got := r.stood(list); got != "working" || err != nil || states[list.List.ID].State != todo.LeftOpen {
		t.Errorf("of another machine: %s, half an hour later %v, %v", got, states, err)
	}
}

// Where a host's process begins another chat, the one before, which rests, has ended, until it is
// gone on with. One that works has not; nor has one of a host with several chats in a process.
func TestTheNextChatOfAProcessEndsTheOneBefore(t *testing.T) {
	for _, c := range []struct{ before, next, want string }{
		{rests, starts, "left open"},
		{prompts, starts, "working"},
		{rests, strings.Replace(starts, "{", `{"host":"opencode",`, 1), "idle"},
		{rests, strings.Replace(starts, "{", `{"timestamp":"2026-11-27T13:47:08.049Z",`, 1), "idle"},
	} {
		r := newRig(t)
		host, _ := newHost(t)
		r.sendFrom(host, "one", writes)
		list := r.all()[0]
		r.sendFrom(host, "one", c.before)
		other, _ := newHost(t)
		r.sendFrom(other, "of another process", starts)
		if got := r.stood(list); got == "left open" {
			t.Error("a chat of another process ended it")
		}
		r.sendFrom(host, "two", c.next)
		r.isThere(list, c.want, fmt.Sprintf("after %s and %s", c.before, c.next))
		r.sendFrom(host, "one", prompts)
		r.isThere(list, "working", "it goes on")
	}
}

// A machine sleeps for hours: what works is not said to go on working meanwhile, what waits waits
// since it asked, and all go on where they were.
func TestTheMachineSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, host := newRig(t), process.ID(os.Getpid())
		r.sendFrom(host, "s", writes)
		list, tool := r.all()[0], `{"hook_event_name":"PostToolBatch"}`
		for _, c := range []struct{ event, now, later, after string }{
			{prompts, "working", "idle", "working"},
			{asks, "waiting run `rm -r build`?", "waiting run `rm -r build`?", "working"},
			{rests, "idle", "idle", "working"},
		} {
			r.sendFrom(host, "s", c.event)
			now, since := r.stood(list), r.standing(list).Since
			time.Sleep(8 * time.Hour)
			later := r.stood(list)
			if !r.standing(list).Since.Equal(since) {
				t.Errorf("after %s it waits since %v, want %v", c.event, r.standing(list).Since, since)
			}
			r.sendFrom(host, "s", tool)
			if got := r.stood(list); now != c.now || later != c.later || got != c.after {
				t.Errorf("after %s: %s, %s and %s, want %+v", c.event, now, later, got, c)
			}
		}
	})
}
