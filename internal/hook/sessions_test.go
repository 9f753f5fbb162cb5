package hook_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// does returns what the only chat does.
func (r *rig) does() string {
	r.Helper()
	chats, err := r.lists.OwnChats(r.Context(), time.Time{})
	if err != nil || len(chats) != 1 {
		r.Fatal(chats, err)
	}
	return doing(chats[0])
}

// isDoing checks what the only chat does. An error names the situation, given as when.
func (r *rig) isDoing(want, when string) { r.Helper(); checktest.Same(r, when, r.does(), want) }

// fileOf returns the content of Claude Code's session file about a chat, with a time one second from now.
func fileOf(host, status string) map[string]any {
	return map[string]any{"pid": pidOf(host), "sessionId": "s", "status": status, "statusUpdatedAt": time.Now().Add(time.Second).UnixMilli()}
}

// The session file of Claude Code 2.1.332, as recorded in testdata, sets the chat's state where no hook reports it:
// after Escape at a prompt, and while a command runs that a person approved.
func TestSessionsSayWhatNoHookDoes(t *testing.T) {
	data := checktest.Must(os.ReadFile("testdata/claude-code-sessions.json"))(t)
	var recorded map[string]map[string]any
	checktest.Check(t, json.Unmarshal(data, &recorded))
	recorded["hostile"] = map[string]any{"status": "waiting", "waitingFor": "\u001b[31m\n\u202egate" + strings.Repeat("x", 900)}
	for _, c := range []struct{ hook, file, want string }{
		{prompts, "hostile", "waits: " + ("[31m gate" + strings.Repeat("x", 900))[:todo.MaxTitle]},
		{asks, "after Esc at the prompt", "idle"},
		{asks, "while it works", "working"},
		{asks, "permission prompt", "waits: run `rm -r build`?"},
		{prompts, "after Esc", "idle"},
		{prompts, "permission prompt", "waits: permission prompt"},
		{prompts, "while it works", "working"},
		{rests, "while it works", "working"},
		{`{"hook_event_name":"Stop","last_assistant_message":"Shall I publish it?"}`, "after Esc", "waits: Shall I publish it?"},
		{`{"hook_event_name":"SessionEnd","reason":"clear"}`, "while it works", "gone"},
	} {
		r := newRig(t)
		host, kill := newHost(t)
		r.sendFrom(host, "s", prompts)
		r.sendFrom(host, "s", c.hook)
		file := recorded[c.file]
		file["pid"], file["sessionId"], file["statusUpdatedAt"] = pidOf(host), "s", time.Now().Add(time.Second).UnixMilli()
		home := t.TempDir()
		writeSession(t, home, file)
		hook.LookAtSessions(r.Context(), home, r.lists)
		r.isDoing(c.want, fmt.Sprintf("%s, then its file says %s", c.hook, c.file))
		kill()
	}
}

func pidOf(host string) int {
	pid, _ := strconv.Atoi(strings.Split(host, "/")[1])
	return pid
}

func writeSession(t *testing.T, home string, file map[string]any) (path string) {
	t.Helper()
	path = filepath.Join(home, "sessions", "1.json")
	writeFile(t, path, string(checktest.Must(json.Marshal(file))(t)))
	return path
}

// A chat keeps its question if its session file is older, of another process or chat, or damaged.
//
// BAD-INPUT 171: A host's own file of a chat: cut, huge, of another form, a link, a folder, older than a hook's event,
// of another process or a dead one → It is ignored
func TestSessionsThatSayNothing(t *testing.T) {
	for name, change := range map[string]func(file map[string]any, path string) error{
		"older than the hook":     func(f map[string]any, _ string) error { f["statusUpdatedAt"] = int64(1795788282591); return nil },
		"of no time":              func(f map[string]any, _ string) error { delete(f, "statusUpdatedAt"); return nil },
		"of another word":         func(f map[string]any, _ string) error { f["status"] = "dreaming"; return nil },
		"of another chat":         func(f map[string]any, _ string) error { f["sessionId"] = "other"; return nil },
		"of no chat":              func(f map[string]any, _ string) error { f["sessionId"] = ""; return nil },
		"of a long chat":          func(f map[string]any, _ string) error { f["sessionId"] = strings.Repeat("s", 9000); return nil },
		"of another process":      func(f map[string]any, _ string) error { f["pid"] = os.Getpid(); return nil },
		"of no process":           func(f map[string]any, _ string) error { f["pid"] = -1; return nil },
		"of another form":         func(f map[string]any, _ string) error { f["status"] = []int{1}; return nil },
		"huge":                    func(f map[string]any, _ string) error { f["name"] = strings.Repeat("n", 70<<10); return nil },
		"cut":                     func(_ map[string]any, path string) error { return os.Truncate(path, 40) },
		"empty":                   func(_ map[string]any, path string) error { return os.Truncate(path, 0) },
		"of another kind by name": func(_ map[string]any, path string) error { return os.Rename(path, path+".tmp") },
		"a folder":                func(_ map[string]any, path string) error { return os.Rename(path, path+".tmp") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			host, _ := newHost(t)
			r.sendFrom(host, "s", asks)
			file := fileOf(host, "idle")
			home := t.TempDir()
			path := writeSession(t, home, file)
			checktest.Check(t, change(file, path))
			if _, err := os.Lstat(path); err == nil && !strings.Contains("cut empty", name) {
				writeSession(t, home, file)
			} else if name == "a folder" {
				checktest.Check(t, os.Mkdir(path, 0o700))
			}
			hook.LookAtSessions(r.Context(), home, r.lists)
			r.isDoing("waits: run `rm -r build`?", "then")
		})
	}
	r := newRig(t)
	host, kill := newHost(t)
	r.sendFrom(host, "s", asks)
	home := t.TempDir()
	path := writeSession(t, home, fileOf(host, "busy"))
	kill()
	hook.LookAtSessions(r.Context(), home, r.lists)
	r.isDoing("waits: run `rm -r build`?", "of a process that was killed")
	hook.LookAtSessions(r.Context(), filepath.Join(home, "not-there"), r.lists)
	hook.LookAtSessions(r.Context(), path, r.lists)
	hook.LookAtSessions(r.Context(), "", r.lists)
}

// A session file that was half written is read again, even if its modification time stays the same. The name of its
// folder may look like a pattern.
func TestSessionIsReadAgain(t *testing.T) {
	r := newRig(t)
	host, _ := newHost(t)
	r.sendFrom(host, "s", asks)
	home, look := filepath.Join(t.TempDir(), "[home]"), hook.SessionLooks()
	path, at := writeSession(t, home, fileOf(host, "idle")), time.Now()
	checktest.Check(t, errors.Join(os.Truncate(path, 40), os.Chtimes(path, at, at)))
	look(r.Context(), home, r.lists)
	r.isDoing("waits: run `rm -r build`?", "by half a file")
	writeSession(t, home, fileOf(host, "idle"))
	checktest.Check(t, os.Chtimes(path, at, at))
	look(r.Context(), home, r.lists)
	r.isDoing("idle", "by the whole file")
}

// FollowSessions records later changes of a file, too, until its context ends.
func TestSessionsAreFollowed(t *testing.T) {
	r := newRig(t)
	host, _ := newHost(t)
	r.sendFrom(host, "s", asks)
	home := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done, saved := make(chan struct{}), make(chan struct{}, 1)
	saved <- struct{}{}
	go func() {
		_ = r.store.Watch(ctx, func() {
			select {
			case saved <- struct{}{}:
			default:
			}
		})
	}()
	go func() {
		defer close(done)
		hook.FollowSessions(ctx, func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": home}[name] }, r.lists)
	}()
	since := time.Now().UnixMilli()
	for n, want := range []string{"working", "idle"} {
		for last := since; since == last; since = time.Now().UnixMilli() { //nolint:revive // until the clock has gone on
		}
		writeSession(t, home, map[string]any{"pid": pidOf(host), "sessionId": "s", "status": []string{"busy", "idle"}[n], "statusUpdatedAt": since})
		for r.does() != want {
			<-saved
		}
	}
	cancel()
	<-done
}

// At the end of a turn that proposed a plan, Codex 0.171 asks whether to implement it. Only its file of the chat says
// so; the lines here were recorded.
func TestCodexAsksAboutItsPlan(t *testing.T) {
	const turn = `{"type":"event_msg","payload":{"type":"task_started","turn_id":"01","collaboration_mode_kind":"plan"}}` + "\n"
	const plan = `{"type":"event_msg","payload":{"type":"item_completed","thread_id":"01","turn_id":"01","item":{"type":"Plan","id":"01","text":"# Split the parser"}}}` + "\n"
	text, _ := json.Marshal(map[string]string{"output": plan})
	for _, c := range []struct{ file, last, want string }{
		{turn + plan, `null`, "waits: Go on with this plan?"},
		{turn + plan, `"Done."`, "idle"},
		{turn + plan + turn, `null`, "idle"},
		{turn + string(text), `null`, "idle"},
		{strings.Repeat(turn, 20_000) + plan[:40] + "\x00", `null`, "idle"},
		{"", `null`, "idle"},
	} {
		r := newRig(t)
		path := filepath.Join(t.TempDir(), ".codex", "rollout.jsonl")
		if c.file != "" {
			writeFile(t, path, c.file)
		}
		where, _ := json.Marshal(path)
		r.tells(event("Stop", `,"host":"codex","last_assistant_message":`+c.last+`,"transcript_path":`+string(where)), "")
		r.isDoing(c.want, fmt.Sprintf("after %s", c.file[:min(300, len(c.file))]))
	}
}

// No hook of Codex 0.169 reports that the model failed, and Gemini CLI 0.61 reports a failure in the same words as an
// interruption by a person. Both write a failure into their file of the chat; the lines here were recorded.
func TestFilesSayThatTheModelFailed(t *testing.T) {
	const (
		began   = `{"timestamp":"2026-11-28T15:30:35.314Z","type":"event_msg","payload":{"type":"task_started","turn_id":"01"}}` + "\n"
		failed  = `{"timestamp":"AT","type":"event_msg","payload":{"type":"task_complete","turn_id":"01","last_agent_message":null,"error":{"message":"rig overloaded","codex_error_info":"other"},"completed_at":1795879838}}` + "\n"
		done    = `{"timestamp":"AT","type":"event_msg","payload":{"type":"task_complete","turn_id":"01","last_agent_message":"Done."}}` + "\n"
		aborted = `{"timestamp":"AT","type":"event_msg","payload":{"type":"turn_aborted","turn_id":"01","reason":"interrupted"}}` + "\n"
	)
	const session = "01a222c7-936c-7e51-a770-4726df778196"
	day := time.UnixMilli(0x01a222c7936c).Format("2006/01/02")
	const now, before = time.Second, -time.Hour
	for _, c := range []struct {
		file string
		at   time.Duration
		want string
	}{
		{began + failed, now, "waits: rig overloaded"},
		{began + failed + failed[:60], now, "waits: rig overloaded"},
		{began + done, now, "working"},
		{began + failed + began, now, "working"},
		{began + failed, before, "working"},
		{began + aborted, now, "working"},
		{began + strings.Replace(failed, `{"message":"rig overloaded","codex_error_info":"other"}`, `["?"]`, 1), now, "working"},
		{strings.Repeat("\x00{", 1<<20), now, "working"},
	} {
		r := newRig(t)
		checktest.Check(t, r.send(`{"session_id":"`+session+`","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"go"}`))
		home := t.TempDir()
		writeFile(t, filepath.Join(home, "thread-writer-locks", session+".lock"), "")
		writeFile(t, filepath.Join(home, "thread-writer-locks", "..-..lock"), "")
		writeFile(t, filepath.Join(home, "sessions", day, "rollout-2026-11-28T15-30-34-"+session+".jsonl"), strings.ReplaceAll(c.file, "AT", time.Now().Add(c.at).Format(time.RFC3339Nano)))
		none := newRig(t) // no hook reported the chat to it, so the file adds no chat
		hook.LookAtCodex(r.Context(), home, none.lists)
		checktest.Same(t, "chats", len(checktest.Must(none.lists.OwnChats(r.Context(), time.Time{}))(t)), 0)
		hook.LookAtCodex(r.Context(), home, r.lists)
		r.isDoing(c.want, fmt.Sprintf("Codex after %.300s at %v", c.file, c.at))
	}
	const (
		prompt    = `{"id":"8d","timestamp":"2026-11-28T15:35:45.009Z","type":"user","content":[{"text":"go"}]}` + "\n" + `{"$set":{"lastUpdated":"2026-11-28T15:35:45.076Z"}}` + "\n"
		refused   = `{"id":"b3","timestamp":"2026-11-28T15:35:47.816Z","type":"error","content":"[API Error: rig overloaded]"}` + "\n" + `{"id":"22","timestamp":"2026-11-28T15:35:47.854Z","type":"info","content":"This request failed. Press F12 for diagnostics."}` + "\n"
		cancelled = `{"id":"b3","timestamp":"2026-11-28T15:35:47.816Z","type":"info","content":"Request cancelled."}` + "\n"
	)
	for file, want := range map[string]string{
		prompt + refused: "waits: [API Error: rig overloaded]", prompt + cancelled: "idle", prompt + refused + prompt: "idle",
		prompt + strings.Replace(refused, `"[API Error: rig overloaded]"`, `{}`, 1): "idle",
	} {
		r := newRig(t)
		path := filepath.Join(t.TempDir(), "chat.jsonl")
		writeFile(t, path, file)
		for _, event := range []string{`"BeforeAgent","prompt":"go"`, `"AfterAgent","prompt_response":"[no response text]","stop_hook_active":false`} {
			checktest.Check(t, r.send(fmt.Sprintf(`{"session_id":"s","cwd":"/w","host":"gemini-cli","transcript_path":%q,"hook_event_name":%s}`, path, event)))
		}
		r.isDoing(want, fmt.Sprintf("Gemini CLI after %s", file))
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	checktest.Check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

// TestMain lets the test program, if newHost started it as a host, wait until it is killed.
func TestMain(m *testing.M) {
	if os.Getenv("BE_A_HOST") != "" {
		_, _ = io.Copy(io.Discard, os.Stdin) // not select {}, at which Go reports a deadlock
	}
	os.Exit(m.Run())
}

// newHost starts a process as a host, and returns its id and a function that kills it.
func newHost(t *testing.T) (id string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BE_A_HOST=1")
	stdin := checktest.Must(cmd.StdinPipe())(t)
	checktest.Check(t, cmd.Start())
	kill = func() { stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	return process.ID(cmd.Process.Pid), kill
}

// sendFrom sends an event of a chat as if a host's process sent it. Both are given by their ids.
func (r *rig) sendFrom(host, session, event string) {
	r.Helper()
	e, err := hook.Read(strings.NewReader(strings.Replace(event, "{", `{"session_id":"`+session+`","cwd":"/w",`, 1)))
	e.Process = host
	if err == nil {
		_, err = new(hook.Spool).Do(r.Context(), e, r.open)
	}
	if err != nil {
		r.Error(event, err)
	}
}

// stood returns the state of a list, with what its agent asks.
func (r *rig) stood(list todo.Snapshot) string {
	r.Helper()
	st := r.standing(list)
	return strings.TrimSpace(string(st.State) + " " + st.Asks)
}

// isThere checks the result of stood for a list. An error names the situation, given as when.
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

// A chat counts as open while its host's process lives, even if no event comes for hours. When the process is killed,
// the chat's list is left open at once, without a question; when the chat is resumed, its agent works again. A chat
// whose process is on another machine lasts for half an hour after its last event.
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
	reused, _ := newHost(t) // has the process number of the chat's former host
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

// When a host's process begins another chat, its previous chat ends if it rests, until a prompt continues it. A chat
// that works does not end, nor does a chat of a host that runs several chats in a process.
func TestTheNextChatOfAProcessEndsTheOneBefore(t *testing.T) {
	for _, c := range []struct{ before, next, want string }{
		{rests, starts, "left open"},
		{prompts, starts, "working"},
		{rests, strings.Replace(starts, "{", `{"host":"opencode",`, 1), "idle"},
		{rests, strings.Replace(starts, "{", `{"host":"gemini-cli",`, 1), "idle"},
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

// After a machine slept for hours, a chat that worked counts as idle, and a chat that waits still waits since the time
// of its question. With its next event each chat works again.
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

// copilotSchema is the schema of session.db as Copilot CLI 1.0.102 makes it.
const copilotSchema = `CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT,
	status TEXT DEFAULT 'pending' CHECK(status IN ('pending', 'in_progress', 'done', 'blocked')),
	created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (datetime('now')));`

const copilotChat = "0d5b6c1a-77aa-4b11-8c55-2f5d3f1b9e10"

// copilotRig is a board and the home of a Copilot CLI.
type copilotRig struct {
	*rig
	file string // session.db
}

func newCopilotRig(t *testing.T) copilotRig {
	t.Helper()
	file := filepath.Join(t.TempDir(), "session-state", copilotChat, "session.db")
	checktest.Check(t, os.MkdirAll(filepath.Dir(file), 0o700))
	return copilotRig{newRig(t), file}
}

// exec runs SQL as the tool of the agent does.
func (r copilotRig) exec(script string) (db *sql.DB) {
	r.Helper()
	db = checktest.Must(sql.Open("sqlite", r.file))(r)
	db.SetMaxOpenConns(1)
	checktest.Must(db.Exec(script))(r)
	r.Cleanup(func() { db.Close() })
	return db
}

// tell sends an event to the hook.
func (r copilotRig) tell(event string) error {
	e := checktest.Must(hook.Read(strings.NewReader(event)))(r)
	home := filepath.Dir(filepath.Dir(filepath.Dir(r.file)))
	e, err := e.WithTodos(r.Context(), func(name string) string { return map[string]string{"COPILOT_HOME": home}[name] })
	if err != nil {
		return err
	}
	_, err = new(hook.Spool).Do(r.Context(), e, r.open)
	return err
}

// A list mirrors the session's table todos, which Copilot CLI's tool sql writes.
func TestCopilot(t *testing.T) {
	r := newCopilotRig(t)
	insert, update := recorded(t, "copilot-sql-insert"), recorded(t, "copilot-sql-update")
	for n, event := range []string{insert, recorded(t, "copilot-session-end"), strings.ReplaceAll(insert, "todo", "note")} {
		if err := r.tell(event); err != nil || len(r.all()) > 0 { // there is no database
			t.Errorf("event %d: %v, %v", n, err, r.board())
		}
	}
	r.exec(copilotSchema + `INSERT INTO todos (id, title, status) VALUES ('write', 'Write the lexer', NULL), ('read', 'Read the grammar', 'in_progress')`)
	checktest.Check(t, r.tell(insert))
	r.exec(`UPDATE todos SET status = 'done' WHERE id = 'read'; INSERT INTO todos (id, title, status) VALUES ('ask', 'Ask', 'blocked')`)
	checktest.Check(t, r.tell(update))
	want := "list 1, \"Write the lexer +1\", of copilot in /home/ada/parser, mirror:" + copilotChat + ", mirrored true, waiting, archived false\n" +
		"revision 2 by sql of copilot , person false\n1 pending Write the lexer\n2 completed Read the grammar\n3 blocked Ask\n"
	checktest.Same(t, "the board", strings.Join(r.board(), ""), want)
}

// BAD-INPUT 115: Copilot CLI's session.db: huge, a folder, damaged, locked, of another schema, an
// endless view → Read for a second at most; nothing changes, the log says why
func TestBadSessionDatabase(t *testing.T) {
	insert := recorded(t, "copilot-sql-insert")
	write := func(data string) func(copilotRig) {
		return func(r copilotRig) { checktest.Check(r, os.WriteFile(r.file, []byte(data), 0o600)) }
	}
	run := func(script string) func(copilotRig) { return func(r copilotRig) { r.exec(script) } }
	for name, prepare := range map[string]func(copilotRig){
		"a folder":    func(r copilotRig) { _ = os.Mkdir(r.file, 0o700) },
		"damaged":     write("SQLite format 3\x00" + strings.Repeat("secret", 1000)),
		"no database": write("secret"),
		"huge": func(r copilotRig) {
			write("")(r)
			_ = os.Truncate(r.file, 1<<30)
		},
		"locked":              run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'secret'); BEGIN EXCLUSIVE`),
		"no table":            run(`CREATE TABLE x (title)`),
		"other columns":       run(`CREATE TABLE todos (id, name); INSERT INTO todos VALUES (1, 'secret')`),
		"no rowid":            run(`CREATE TABLE todos (title PRIMARY KEY, status) WITHOUT ROWID; INSERT INTO todos VALUES ('secret', 'pending')`),
		"a view without end":  run(`CREATE VIEW todos AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT 1 AS rowid, max(x) AS title, 'pending' AS status FROM n`),
		"a generated value":   run(`CREATE TABLE todos (n, status, title AS (hex(zeroblob(100000000)))); INSERT INTO todos VALUES (1, 'pending')`),
		"a large text":        run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', replace(hex(zeroblob(2000000)), '00', 'secret'))`),
		"an unknown status":   run(`CREATE TABLE todos (title, status); INSERT INTO todos VALUES ('secret', 'begun')`),
		"no text":             run(copilotSchema + `INSERT INTO todos (id, title) VALUES ('secret', ' ')`),
		"nothing":             run(`CREATE TABLE todos (title, status); INSERT INTO todos VALUES (NULL, 'pending')`),
		"too many":            run(copilotSchema + `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) INSERT INTO todos (id, title) SELECT x, 'secret' FROM n`),
		"too much altogether": run(copilotSchema + `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 900) INSERT INTO todos (id, title) SELECT x, hex(zeroblob(2000)) FROM n`),
	} {
		t.Run(name, func(t *testing.T) {
			r := newCopilotRig(t)
			prepare(r)
			if err := r.tell(insert); err == nil || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
			r.expectNone()
		})
	}
	r := newCopilotRig(t)
	r.exec(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'Fix' || char(27) || CAST(x'ff' AS TEXT))`)
	if err := r.tell(insert); err != nil || len(r.all()) != 1 || r.all()[0].Items[0].Text != "Fix \ufffd" { // BAD-INPUT 98
		t.Errorf("%v, %+v", err, r.all())
	}
	r = newCopilotRig(t)
	r.exec(copilotSchema + `INSERT INTO todos (id, title) VALUES ('a', 'secret')`)
	for _, session := range []string{"../session-state/" + copilotChat, filepath.ToSlash(filepath.Dir(r.file)), "..", "."} {
		if err := r.tell(strings.ReplaceAll(insert, copilotChat, session)); err != nil || len(r.all()) > 0 {
			t.Errorf("%s: %v, %v", session, err, r.board())
		}
	}
}
