package hook_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// The events in testdata were recorded as Claude Code 2.1.330, Codex 0.169.0, Gemini CLI
// 0.61.0, Qwen Code 0.24.4, Copilot CLI 1.0.102 and the plugin for opencode 1.18.33
// (opencode.js) wrote them to a hook; folders and ids of sessions alone were renamed. The ones
// of Cursor are as its documentation has them, Kilo's as opencode's plugin would send it.

// rig is a board that events are sent to.
type rig struct {
	*testing.T
	lists board.Lists
	store board.Store
	told  string // to the agent, by the last event
	env   map[string]string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store := memory.New()
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	return &rig{T: t, lists: b.As(""), store: store}
}

// send sends an event and returns what is said of it in the log.
func (r *rig) send(event string) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	r.told, err = hook.Do(r.Context(), e.WithFiles(func(name string) string { return r.env[name] }), func() (board.Lists, func(), error) { return r.lists, func() {}, nil })
	return err
}

// play sends recorded events, by the names of their files.
func (r *rig) play(names ...string) {
	r.Helper()
	for _, name := range names {
		if err := r.send(recorded(r.T, name)); err != nil {
			r.Errorf("%s: %v", name, err)
		}
	}
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// all returns all lists, as they began.
func (r *rig) all() []todo.Snapshot {
	r.Helper()
	found, err := r.lists.Find(r.Context(), board.Query{OldestFirst: true})
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// chatOf returns the host's id of a list's chat, and which of its lists it is.
func chatOf(l todo.Snapshot) string {
	of := "chat:" + l.List.Chat
	if l.List.Mirrored {
		of = "mirror:" + l.List.Chat
	}
	if l.List.Agent != "" {
		of += "/agent:" + l.List.Agent
	}
	return of
}

// board returns the lists, as they began, each with a line for each item: its id, its status,
// its text and what else was said of it.
func (r *rig) board() (lists []string) {
	r.Helper()
	states, err := r.lists.States(r.Context(), r.all()...)
	if err != nil {
		r.Fatal(err)
	}
	numbers := make(map[string]int)
	for n, l := range r.all() {
		var b strings.Builder
		numbers[l.List.ID] = n + 1
		fmt.Fprintf(&b, "list %d of %s in %s, %s, mirrored %t, %s, archived %t", n+1, l.List.Client, l.List.Workspace, chatOf(l), l.List.Mirrored, states[l.List.ID].State, l.Archived)
		if l.List.Agent != "" {
			fmt.Fprintf(&b, ", under list %d for %s", numbers[l.List.Parent], l.List.Agent)
		}
		w := l.Writer
		fmt.Fprintf(&b, "\nrevision %d by %s of %s %s, person %t\n", l.Revision, w.Variant, w.Client, w.Agent, w.Person)
		for _, i := range l.Items {
			fmt.Fprintf(&b, "%s %s %s", i.ID, i.Status, i.Text)
			for _, more := range []struct{ name, text string }{{"active", i.Active}, {"priority", i.Priority}, {"owner", i.Owner}, {"waits", i.WaitsFor}} {
				if more.text != "" {
					b.WriteString(", " + more.name + " " + more.text)
				}
			}
			b.WriteString("\n")
		}
		lists = append(lists, b.String())
	}
	return lists
}

// expectNone checks that there is no list.
func (r *rig) expectNone() {
	r.Helper()
	if b := r.board(); b != nil {
		r.Errorf("there is\n%s", b)
	}
}

var update = flag.Bool("update", false, "rewrite the boards in testdata/scripts")

// Each script sends recorded events, a second apart, in which texts may have others in their
// place (> EVENT OLD=NEW), writes with one of our tools (tool), and waits (wait 29m). Behind
// each line there are the lists that changed.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(scripts) < 10 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				got := newRig(t).script(string(script))
				if *update {
					err = os.WriteFile(path, []byte(got), 0o600)
				}
				if diff := cmp.Diff(string(script), got); err != nil || diff != "" && !*update {
					t.Errorf("(-want +got, %v)\n%s", err, diff)
				}
			})
		})
	}
}

// script runs the commands of a script, and returns it with the lists that change.
func (r *rig) script(text string) string {
	r.Helper()
	var out strings.Builder
	var before []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		var err error
		switch words[0] {
		case "#":
			out.WriteString(line)
			continue
		case ">":
			event := recorded(r.T, words[1])
			for _, change := range words[2:] {
				old, fresh, _ := strings.Cut(change, "=")
				event = strings.ReplaceAll(event, old, fresh)
			}
			err = r.send(event)
			time.Sleep(time.Second)
		case "tool":
			ours := board.Conversation{Key: todo.ChatKey(claudeChat), Chat: claudeChat, Client: "claude-code"}
			_, err = r.lists.Apply(r.Context(), board.Write{Target: board.Target{Conversation: ours, Append: true}, Change: func(d *todo.Draft) error { d.Append("x"); return nil }})
			time.Sleep(time.Second)
		case "wait":
			long, _ := time.ParseDuration(words[1])
			time.Sleep(long)
		default:
			continue
		}
		out.WriteString(line)
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
		}
		now := r.board()
		for n, list := range now {
			if n >= len(before) || list != before[n] {
				out.WriteString(list)
			}
		}
		before = now
	}
	return out.String()
}

const claudeChat = "11111111-2222-4333-8444-555555555555"

// What is before a call of one of our tools is noted for it: the chat, the sub-agent
// and the folder. Nothing is written to a list.
func TestCallsOfOurTools(t *testing.T) {
	for name, want := range map[string]struct {
		call string
		chat todo.Chat
	}{
		"claude-code-ours":          {"toolu_s3", todo.Chat{HostID: claudeChat, Folder: "/home/ada/parser"}},
		"claude-code-ours-subagent": {"toolu_s4", todo.Chat{HostID: claudeChat, Agent: "general-purpose ed0d7661", Folder: "/home/ada/parser"}},
	} {
		r := newRig(t)
		r.play(name)
		got, err := r.lists.Keyed(t.Context(), board.CallKey, want.call)
		main := todo.ChatID("", "", todo.ChatKey(claudeChat), false)
		if isSub := want.chat.Agent != ""; err != nil || (got.ID == main) == isSub || (got.Parent == main) != isSub ||
			got.HostID != want.chat.HostID || got.Agent != want.chat.Agent || got.Folder != want.chat.Folder {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want.chat)
		}
		r.expectNone()
	}
}

// Input that is cut, huge, nothing, or of another shape is refused, and so is what
// the tool itself would refuse; nothing is changed (BAD-INPUT 98).
func TestBadEvents(t *testing.T) {
	good := recorded(t, "claude-code-todowrite")
	r := newRig(t)
	r.play("claude-code-todowrite")
	set := func(old, fresh string) string { return strings.ReplaceAll(good, old, fresh) }
	for name, event := range map[string]string{
		"nothing":            "",
		"cut":                good[:len(good)/2],
		"cut before the end": strings.TrimSpace(good)[:len(strings.TrimSpace(good))-1],
		"an array":           "[" + good + "]",
		"a number":           "7",
		"a key twice":        strings.Replace(good, `"session_id"`, `"session_id":"x","session_id"`, 1),
		"a number as tool":   set(`"TodoWrite"`, "7"),
		"no session":         set(`"session_id"`, `"session"`),
		"an empty session":   set(claudeChat, ""),
		"a long session":     set(claudeChat, strings.Repeat("x", 2000)),
		"a long folder":      set("/home/ada/parser", "/"+strings.Repeat("x", 5000)),
		"no event":           set(`"hook_event_name"`, `"event"`),
		"an unknown event":   set(`"PostToolUse"`, `"PostToolUsed"`),
		"unknown status":     set(`"in_progress"`, `"begun"`),
		"no text":            set(`"content":"Write the lexer"`, `"content":""`),
		"no list":            set(`"todos"`, `"entries"`),
		"too many":           set(`"todos":[`, `"todos":[`+strings.Repeat(`{"content":"x","status":"pending"},`, 1001)),
		"deep":               set(`"todos":[`, `"todos":[`+strings.Repeat("[", 20_000)),
		"huge":               set("Write the lexer", strings.Repeat("x", hook.MaxEvent)),
		"a task without id":  strings.Replace(recorded(t, "claude-code-taskcreate-1"), `"id":"1"`, `"id":"one"`, 1),
		"a task without end": strings.Replace(recorded(t, "claude-code-taskcreate-1"), `"id":"1"`, `"id":"99999999999"`, 1),
	} {
		err := r.send(event)
		if err == nil || strings.Contains(err.Error(), "Write") && !strings.Contains(err.Error(), "TodoWrit") || strings.Contains(err.Error(), "begun") {
			t.Errorf("%s: %v", name, err)
		}
		if all := r.all(); len(all) != 1 || all[0].Revision != 1 {
			t.Fatalf("%s changed the board: %+v", name, all)
		}
	}
}

// A mirrored list is what the host's own tool took: what no list of ours may have in a text is
// mended there, and the rest of the list is on the board (BAD-INPUT 98).
func TestMirroredTextsAreMended(t *testing.T) {
	long := strings.Repeat("🚪", todo.MaxText)
	for name, c := range map[string]struct{ text, want string }{
		"half of an emoji":  {`Ship \ud83d now`, "Ship \ufffd now"},
		"a bell":            {`Ship \u0007`, "Ship"},
		"a colour":          {`Ship \u001b[31mred`, "Ship [31mred"},
		"NUL":               {`\u0000Ship`, "Ship"},
		"a bell alone":      {` \u0007`, "\ufffd"},
		"no UTF-8":          {"Ship\xff\xfe", "Ship\ufffd"},
		"too long":          {long + "x", strings.TrimSuffix(long, "🚪") + "…"},
		"as long as may be": {long, long},
	} {
		for _, event := range []string{"claude-code-todowrite", "claude-code-taskcreate-1"} {
			r := newRig(t)
			old := map[string]string{"claude-code-todowrite": "Write the lexer", "claude-code-taskcreate-1": "Read the grammar"}[event]
			if err := r.send(strings.ReplaceAll(recorded(t, event), old, c.text)); err != nil {
				t.Errorf("%s in %s: %v", name, event, err)
				continue
			}
			if all := r.all(); len(all) != 1 || !slices.ContainsFunc(all[0].Items, func(i todo.Item) bool { return i.Text == c.want }) {
				t.Errorf("%s in %s: %+v", name, event, all)
			}
		}
	}
	r := newRig(t)
	if err := r.send(strings.Replace(recorded(t, "opencode-todowrite"), `"priority":"`, `"priority":"\u0007`+strings.Repeat("x", 200), 1)); err != nil {
		t.Error(err)
	}
}

// A store that does not open, or fails, is an error; nothing else happens.
func TestNoStore(t *testing.T) {
	e, err := hook.Read(strings.NewReader(recorded(t, "claude-code-todowrite")))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := hook.Do(t.Context(), e, func() (board.Lists, func(), error) { return board.Lists{}, nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hook.Do(ctx, e, func() (board.Lists, func(), error) { return r.lists, func() {}, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.expectNone()
	if _, err := hook.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzEvents: whatever a hook is told, it does not panic, every list on the board is one that
// may be stored, and what the agent is told is short (BAD-INPUT 98, 111).
func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(recorded(f, strings.TrimSuffix(filepath.Base(file), ".json")))
	}
	for name, more := range map[string]string{
		"UserPromptSubmit":  `,"prompt":"Fix\u001b[31m \u202ethis","session_title":"x\ny","source":"user","submitted_prompt":"z"`,
		"BeforeAgent":       `,"prompt":"<hook_context>x</hook_context>y","timestamp":7`,
		"SessionStart":      `,"source":"clear","session_title":null,"forked_from":"x"`,
		"SessionEnd":        `,"reason":"clear"`,
		"Stop":              `,"stop_hook_active":false,"last_assistant_message":"Go on\u2029? \ud83d","background_tasks":[{"type":"subagent","status":"running"}]`,
		"AfterAgent":        `,"prompt_response":"？"`,
		"Notification":      `,"message":"x\u0000","notification_type":"ToolPermission","details":{"command":["ls"],"urls":["a"]}`,
		"PermissionRequest": `,"tool_name":"Bash","tool_input":{"command":"ls \u009b2J","questions":[{"question":"?"}]}`,
		"PreCompress":       `,"trigger":"manual"`,
		"PostToolBatch":     `,"tool_calls":[]`,
	} {
		f.Add(event(name, more))
	}
	f.Fuzz(func(t *testing.T, event string) {
		r := newRig(t)
		r.play("claude-code-taskcreate-1", "claude-code-taskcreate-2")
		for range 2 {
			e, err := hook.Read(strings.NewReader(event))
			if err != nil {
				return
			}
			e.Finish = true
			told, _ := hook.Do(t.Context(), e, func() (board.Lists, func(), error) { return r.lists, func() {}, nil })
			if len(told) > 4000 || !utf8.ValidString(told) {
				t.Errorf("the agent is told %d bytes", len(told))
			}
		}
		for _, l := range r.all() {
			if err := l.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
