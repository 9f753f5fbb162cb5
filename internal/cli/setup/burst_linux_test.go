package setup_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/board"
	"todo-mcp/internal/programtest"
	"todo-mcp/server/servertest"
)

// burst starts as many processes of the hook at once as there are events, in their order,
// and waits until they have ended. Each must succeed and print nothing.
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

// inTurn tells the hook of the events of sixty as hosts do: of all chats at once, and each waits
// for a hook before the next event of its chat.
func (r hookRig) inTurn(events []string) {
	var hosts sync.WaitGroup
	for chat := range 6 {
		hosts.Go(func() {
			for n := chat; n < len(events); n += 6 {
				r.burst(events[n : n+1])
			}
		})
	}
	hosts.Wait()
}

// lock locks the store as another program does, until it is unlocked.
func (r hookRig) lock() (unlock func()) {
	r.Helper()
	if _, err := os.Stat(r.state); err != nil {
		r.call(planOf("pending"))
		_ = r.lists() // there is a store
	}
	db, err := sql.Open("sqlite", filepath.Join(r.state, "todo.db"))
	if err != nil {
		r.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		r.Fatal(err)
	}
	return func() { db.Close() }
}

// histories returns what each revision of the lists ends with, by chat.
func (r hookRig) histories() map[string]string {
	r.Helper()
	st := r.open()
	defer st.Close()
	lists, err := st.Find(r.Context(), board.Query{})
	if err != nil {
		r.Fatal(err)
	}
	out := make(map[string]string)
	for _, l := range lists {
		history, err := st.History(r.Context(), l.List.ID, 0, 0)
		if err != nil {
			r.Fatal(err)
		}
		for _, s := range history {
			item := s.Items[len(s.Items)-1]
			out[l.List.Chat] += fmt.Sprintf("%s %s %s\n", item.ID, item.Status, item.Text)
		}
	}
	return out
}

// sixty returns events of six chats, by turns: three write whole lists, three have tasks,
// whose updates come before what makes them. It returns what their histories are.
func sixty() (events []string, want map[string]string) {
	want = make(map[string]string)
	for n := range 10 {
		for chat := range 3 {
			session := fmt.Sprintf("s%d", chat)
			events = append(events, fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":"PostToolUse","tool_name":"TodoWrite",
				"tool_input":{"todos":[{"content":"Write","status":"pending"},{"content":"Step %d","status":"pending"}]}}`, session, n))
			want[session] += fmt.Sprintf("%d pending Step %d\n", n+2, n)
			session = fmt.Sprintf("t%d", chat)
			task := n/2 + 1
			event, state := `"TaskUpdate","tool_input":{"taskId":"%d","status":"in_progress"},"tool_response":{"success":true}`, "Task %d"
			if n%2 == 1 {
				event, state = `"TaskCreate","tool_input":{"subject":"Do"},"tool_response":{"task":{"id":"%d"}}`, "Do"
			}
			events = append(events, fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":"PostToolUse","tool_name":`+event+`}`, session, task))
			want[session] += fmt.Sprintf("%d in_progress "+strings.Replace(state, "%d", fmt.Sprint(task), 1)+"\n", task)
		}
	}
	return events, want
}

// BAD-INPUT 114
func TestBurst(t *testing.T) {
	events, want := sixty()
	r := newHookRig(t)
	unlock := r.lock()
	r.burst(events)
	unlock()
	if n := r.left(); n != len(events) {
		t.Errorf("%d events were left of %d", n, len(events))
	}
	if all := r.lists(); len(all) != 7 || r.left() > 0 {
		t.Errorf("%d events are left, and the lists are %q", r.left(), all)
	}

	for _, isLocked := range []bool{true, false} {
		r = newHookRig(t)
		others, unlock := make(chan []string, 1), func() {}
		if isLocked {
			unlock = r.lock()
			others <- nil
		} else {
			go func() { others <- r.lists() }() // while they come
		}
		r.inTurn(events)
		<-others
		unlock()
		got := r.histories()
		delete(got, "s") // which was there to lock it
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("locked %t: (-want +got)\n%s", isLocked, diff)
		}
	}
	if info, err := os.Stat(r.spool()); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

// Who needs an answer of a store that another program has locked gets none, in three seconds;
// nothing is lost.
func TestLockedStoreLosesNothing(t *testing.T) {
	t.Parallel() // a hook waits for three seconds
	r := newHookRig(t)
	unlock := r.lock()
	r.burst([]string{eventOf("completed")})
	r.burst([]string{`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"go"}`})
	unlock()
	if log := r.log(); !strings.Contains(log, "deadline") {
		t.Errorf("the log is %q", log)
	}
	r.expect("Write at revision 2 with 1 items")
}

// A server shows what hooks left: to who asks, and at once to who watches, also where there
// was no store when it was started.
func TestServersShowWhatIsLeft(t *testing.T) {
	r := newHookRig(t)
	server := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}.Serve(t)
	stream := servertest.OpenStream(t, "GET", server.URL+"/api/events", "")
	for n, status := range []string{"pending", "in_progress", "completed"} {
		r.burst([]string{eventOf(status)})
		stream.Expect(fmt.Sprintf(`"revision":%d`, n+1))
	}
	if n := r.left(); n != 0 {
		t.Errorf("%d events are left", n)
	}
	_ = stream.Close()
	r.burst([]string{eventOf("pending")})
	if _, lists := programtest.Get(t, server.URL+"/api/lists"); strings.Count(lists, `"list":`) != 2 {
		t.Errorf("%s", lists)
	}
	server.End(t)
}

// A hook that finds many events waiting applies them: who is never asked does not fill the
// disk.
func TestManyLeft(t *testing.T) {
	r := newHookRig(t)
	for n := range 63 {
		r.burst([]string{eventOf([]string{"pending", "in_progress"}[n%2])})
	}
	if n := r.left(); n != 63 {
		t.Errorf("%d events wait, want 63", n)
	}
	// On a busy machine a hook applies what it can within its second.
	for tries := 0; r.left() > 62; tries++ {
		if r.burst([]string{eventOf("completed")}); tries == 60 {
			t.Fatalf("%d events wait after %d more", r.left(), tries)
		}
	}
}
