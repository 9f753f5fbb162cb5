package setup_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/board"
	"todo-mcp/internal/programtest"
	"todo-mcp/internal/todo"
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
			r.Fatal(err)
		}
		hooks = append(hooks, c)
	}
	for n, c := range hooks {
		if err := c.Wait(); err != nil || printed[n].Len() > 0 {
			r.Errorf("%v, printed %q", err, &printed[n])
		}
	}
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
			out[l.List.Conversation] += fmt.Sprintf("%s %s %s\n", item.ID, item.Status, item.Text)
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
			want["mirror:"+session] += fmt.Sprintf("%d pending Step %d\n", n+2, n)
			session = fmt.Sprintf("t%d", chat)
			task := n/2 + 1
			event, state := `"TaskUpdate","tool_input":{"taskId":"%d","status":"in_progress"},"tool_response":{"success":true}`, "Task %d"
			if n%2 == 1 {
				event, state = `"TaskCreate","tool_input":{"subject":"Do"},"tool_response":{"task":{"id":"%d"}}`, "Do"
			}
			events = append(events, fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":"PostToolUse","tool_name":`+event+`}`, session, task))
			want["mirror:"+session] += fmt.Sprintf("%d in_progress "+strings.Replace(state, "%d", fmt.Sprint(task), 1)+"\n", task)
		}
	}
	return events, want
}

// ending returns the text of the last item in the last revision of a history.
func ending(history string) string { return history[strings.LastIndex(history, " ")-4:] }

// BAD-INPUT 113: Sixty hooks at once, also of one chat, on a store that is free, or that
// another program has locked → Each ends at once, and what it was told is on the disk, for
// its owner alone. All are on the lists for whoever reads these next, in the order in which
// the hooks' processes began; a whole list that comes later than a later one is passed over
func TestBurst(t *testing.T) {
	events, want := sixty()
	r := newHookRig(t)
	unlock := r.lock()
	r.burst(events)
	unlock()
	if n := r.left(); n != len(events) {
		t.Errorf("%d events were left of %d", n, len(events))
	}
	got := r.histories()
	delete(got, "mirror:s")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	r = newHookRig(t)
	others := make(chan []string)
	go func() { others <- r.lists() }() // while they come
	r.burst(events)
	<-others
	// Where all begin at once, a whole list may come so late that a later one was written.
	for chat, history := range r.histories() {
		if got, last := ending(history), ending(want[chat]); got != last {
			t.Errorf("%s ends with %q, want %q", chat, got, last)
		}
		delete(want, chat)
	}
	if all := strings.Join(r.lists(), "\n"); strings.Count(all, " with 5 items") != 3 {
		t.Errorf("not all tasks are there:\n%s", all)
	}
	if len(want) > 0 || r.left() > 0 {
		t.Errorf("there is nothing of %v, and %d events are left", want, r.left())
	}
	if info, err := os.Stat(r.spool()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
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
// disk. What happened is at the time when a hook was told.
func TestManyLeft(t *testing.T) {
	r := newHookRig(t)
	hourAgo := time.Now().Add(-time.Hour)
	for n := range 63 {
		r.burst([]string{eventOf([]string{"pending", "in_progress"}[n%2])})
	}
	files, _ := filepath.Glob(filepath.Join(r.spool(), "*.json"))
	for _, file := range files {
		if err := os.Chtimes(file, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
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
	st := r.open()
	defer st.Close()
	lists, err := st.Find(t.Context(), board.Query{})
	if err != nil || len(lists) == 0 {
		t.Fatal(err)
	}
	history, err := st.History(t.Context(), lists[0].List.ID, 0, 0)
	if err != nil || len(history) < 2 {
		t.Fatal(len(history), err)
	}
	for _, s := range history {
		if s.Items[0].Status == todo.Completed {
			break
		}
		if d := s.Updated.Sub(hourAgo); d < -time.Second || d > time.Second {
			t.Errorf("revision %d is of %v, want %v", s.Revision, s.Updated, hourAgo)
		}
	}
}

// A hook leaves the log of the store to the next one, which goes on with it: to merge it and
// to begin another is six syncs. What it leaves is whole: the next who closes the store
// merges it.
func TestHookLeavesTheLog(t *testing.T) {
	r := newHookRig(t)
	log := filepath.Join(r.state, "todo.db-wal")
	var before []byte
	for n := range 3 {
		r.burst([]string{fmt.Sprintf(`{"session_id":"s%d","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"Task %[1]d"}`, n)})
		now, err := os.ReadFile(log)
		if err != nil || !bytes.HasPrefix(now, before) || len(now) == len(before) {
			t.Errorf("prompt %d: %v, the log has %d bytes, and had %d", n, err, len(now), len(before))
		}
		before = now
	}
	_ = r.lists()
	if _, err := os.Stat(log); !os.IsNotExist(err) {
		t.Errorf("the log was not merged: %v", err)
	}
}
