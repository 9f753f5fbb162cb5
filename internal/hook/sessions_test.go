package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
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

// isDoing checks what the only chat does at some time.
func (r *rig) isDoing(want, when string) {
	r.Helper()
	checktest.Same(r, when, r.does(), want)
}

// fileOf is what Claude Code says of a chat in a file of its own, from now on.
func fileOf(host, status string) map[string]any {
	return map[string]any{"pid": pidOf(host), "sessionId": "s", "status": status, "statusUpdatedAt": time.Now().Add(time.Second).UnixMilli()}
}

// What Claude Code 2.1.332 says in a file of its own, recorded in testdata, is what the chat
// does then, where its hooks say nothing: after Escape at a prompt, and while a command runs that a
// person approved.
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
	data, err := json.Marshal(file)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	checktest.Check(t, err)
	return path
}

// A chat asks still, whatever a file says that is older, of another process or chat, or no such file.
//
// BAD-INPUT 171: A host's own file of a chat: cut, huge, of another form, a link, a folder, older than
// a hook's event, of a process that is gone or another → Nothing comes of it
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

// The files are followed until that is ended: what a file says later is known, too.
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
	for n, want := range []string{"working", "idle"} {
		writeSession(t, home, map[string]any{"pid": pidOf(host), "sessionId": "s", "status": []string{"busy", "idle"}[n], "statusUpdatedAt": time.Now().UnixMilli() + 1})
		for r.does() != want {
			<-saved
		}
	}
	cancel()
	<-done
}

// At the end of a turn that proposed a plan Codex 0.171 asks whether to implement it, which its file
// of the chat alone says: as it was recorded there.
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
		r.tells(event("Stop", `,"last_assistant_message":`+c.last+`,"transcript_path":`+string(where)), "")
		r.isDoing(c.want, fmt.Sprintf("after %s", c.file[:min(300, len(c.file))]))
	}
}

// That its model failed no hook of Codex 0.169 says, and Gemini CLI 0.61 says it in the words in which
// it says that a person broke the turn off. Their files of the chat tell it, as it was recorded there.
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
		none := newRig(t) // of a chat of which no hook told it makes none
		hook.LookAtCodex(r.Context(), home, none.lists)
		if chats, err := none.lists.OwnChats(r.Context(), time.Time{}); len(chats) > 0 || err != nil {
			t.Error(chats, err)
		}
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
			checktest.Check(t, r.send(fmt.Sprintf(`{"session_id":"s","cwd":"/w","timestamp":"2026","transcript_path":%q,"hook_event_name":%s}`, path, event)))
		}
		r.isDoing(want, fmt.Sprintf("Gemini CLI after %s", file))
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	checktest.Check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}
