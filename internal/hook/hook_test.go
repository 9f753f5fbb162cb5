package hook_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/hook"
	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// The events in testdata were recorded as Claude Code 2.1.330, Codex 0.169.0, Gemini CLI
// 0.61.0 and the plugin for opencode 1.18.33 (opencode.js) wrote them to a hook; the folders
// alone were renamed. The ones of Cursor are as its documentation has them.

// rig is a board that events are sent to.
type rig struct {
	*testing.T
	lists todo.Lists
	store todo.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store := memory.New()
	board := todo.NewBoard(store)
	t.Cleanup(func() { board.Close(); store.Close() })
	return &rig{t, board.As(""), store}
}

// send sends an event and returns what is said of it in the log.
func (r *rig) send(event string) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	return hook.Do(r.Context(), e, func() (todo.Lists, func(), error) { return r.lists, func() {}, nil })
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
	found, err := r.lists.Find(r.Context(), todo.Query{OldestFirst: true})
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// board returns the lists, as they began, each with a line for each item: its id, its status,
// its text and what else was said of it.
func (r *rig) board() string {
	r.Helper()
	var b strings.Builder
	numbers := make(map[string]int)
	for n, l := range r.all() {
		numbers[l.List.ID] = n + 1
		fmt.Fprintf(&b, "list %d of %s in %s, %s, mirrored %t", n+1, l.List.Client, l.List.Workspace, l.List.Conversation, l.List.Mirrored)
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
	}
	return b.String()
}

// expectNone checks that there is no list.
func (r *rig) expectNone() {
	r.Helper()
	if board := r.board(); board != "" {
		r.Errorf("there is\n%s", board)
	}
}

var update = flag.Bool("update", false, "rewrite the boards in testdata/scripts")

// Each script sends recorded events, and has the board behind each one that changes it.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(scripts) < 8 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r, before := newRig(t), ""
			var got strings.Builder
			for line := range strings.Lines(string(script)) {
				event, isEvent := strings.CutPrefix(line, "> ")
				if isEvent || strings.HasPrefix(line, "#") {
					got.WriteString(line)
				}
				if !isEvent {
					continue
				}
				if err := r.send(recorded(t, strings.TrimSpace(event))); err != nil {
					fmt.Fprintf(&got, "error: %v\n", err)
				}
				if now := r.board(); now != before {
					got.WriteString(now)
					before = now
				}
			}
			if *update {
				err = os.WriteFile(path, []byte(got.String()), 0o600)
			}
			if diff := cmp.Diff(string(script), got.String()); err != nil || diff != "" && !*update {
				t.Errorf("(-want +got, %v)\n%s", err, diff)
			}
		})
	}
}

const claudeChat = "11111111-2222-4333-8444-555555555555"

// What is before a call of one of our tools is noted for it: the chat, the sub-agent
// and the folder. Nothing is written to a list.
func TestCallsOfOurTools(t *testing.T) {
	for name, want := range map[string]todo.HostCall{
		"claude-code-ours":          {ID: "toolu_s3", Session: claudeChat, Folder: "/home/ada/parser"},
		"claude-code-ours-subagent": {ID: "toolu_s4", Session: claudeChat, Agent: "general-purpose ed0d7661", Folder: "/home/ada/parser"},
	} {
		r := newRig(t)
		r.play(name)
		if got, err := r.lists.HostCall(t.Context(), want.ID); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		r.expectNone()
	}
	r := newRig(t)
	r.play("claude-code-ours-after")
	r.expectNone()
}

// The end of a chat, also by /clear, leaves its lists and the lists of its sub-agents open
// without an agent; when it is resumed, its agent is there again.
func TestSessionEnds(t *testing.T) {
	for _, end := range []string{"claude-code-session-end", "claude-code-session-end-clear"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.play("claude-code-todowrite", "claude-code-todowrite-subagent")
			r.states(todo.Working, todo.Working)
			// The list that the chat holds by our tools, whose server goes on.
			ours := todo.Conversation{Key: server.ChatKey(claudeChat), Client: "claude-code"}
			if _, err := r.lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: ours, Append: true}, Change: func(d *todo.Draft) error { d.Append("x"); return nil }}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if err := r.send(strings.Replace(recorded(t, end), "c6a81064-fe79-4475-89f0-ae5037e9dbad", claudeChat, 1)); err != nil {
				t.Fatal(err)
			}
			r.states(todo.LeftOpen, todo.LeftOpen, todo.LeftOpen)
			r.play("claude-code-session-start")
			r.states(todo.LeftOpen, todo.LeftOpen, todo.LeftOpen)
			if err := r.send(strings.Replace(recorded(t, "claude-code-session-start"), "startup", "resume", 1)); err != nil {
				t.Fatal(err)
			}
			r.states(todo.Working, todo.LeftOpen, todo.LeftOpen)
		})
	}
}

// states compares how the lists stand, as they began.
func (r *rig) states(want ...todo.State) {
	r.Helper()
	states, err := r.lists.States(r.Context(), r.all()...)
	if err != nil {
		r.Fatal(err)
	}
	var got []todo.State
	for _, l := range r.all() {
		got = append(got, states[l.List.ID])
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.Errorf("the lists are %v, want %v", got, want)
	}
}

// A chat that does not say that it ends is there for half an hour after its last
// call.
func TestChatThatIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.play("claude-code-todowrite")
		time.Sleep(29 * time.Minute)
		r.states(todo.Idle)
		time.Sleep(2 * time.Minute)
		r.states(todo.LeftOpen)
	})
}

// A sub-agent that ends leaves the board if its list is settled; an open one stays,
// left open.
func TestSubAgentEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, archived := range map[string]bool{"in_progress": false, "completed": true} {
			r := newRig(t)
			r.play("claude-code-todowrite")
			if err := r.send(strings.ReplaceAll(recorded(t, "claude-code-todowrite-subagent"), "in_progress", status)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			r.play("claude-code-subagent-stop")
			sub := r.all()[1]
			if sub.List.Agent == "" {
				sub = r.all()[0]
			}
			if sub.Archived != archived {
				t.Errorf("%s: archived %t", status, sub.Archived)
			}
			if !archived {
				r.states(todo.Working, todo.LeftOpen)
			}
		}
	})
}

// Of the events of a chat those that concern no list change nothing and are errors,
// which the log has, without a word of what is in them (BAD-INPUT 98).
func TestEventsOfNoConcern(t *testing.T) {
	for _, name := range []string{"claude-code-todowrite-before", "claude-code-agent-after", "codex-ours", "gemini-ours"} {
		r := newRig(t)
		r.play("claude-code-todowrite")
		err := r.send(recorded(t, name))
		if name == "codex-ours" { // it has an id of the call like Claude Code's
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || strings.Contains(err.Error(), "parser") {
			t.Errorf("%s: %v", name, err)
		}
		if l := r.all(); len(l) != 1 || l[0].Revision != 1 {
			t.Errorf("%s changed %+v", name, l)
		}
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
		"two":                good + good,
		"a key twice":        strings.Replace(good, `"session_id"`, `"session_id":"x","session_id"`, 1),
		"a number as tool":   set(`"TodoWrite"`, "7"),
		"no session":         set(`"session_id"`, `"session"`),
		"an empty session":   set(claudeChat, ""),
		"a long session":     set(claudeChat, strings.Repeat("x", 2000)),
		"a long folder":      set("/home/ada/parser", "/"+strings.Repeat("x", 5000)),
		"no event":           set(`"hook_event_name"`, `"event"`),
		"an unknown event":   set(`"PostToolUse"`, `"PostToolUsed"`),
		"an unknown tool":    set(`"TodoWrite"`, `"TodoWritten"`),
		"unknown status":     set(`"in_progress"`, `"begun"`),
		"no text":            set(`"content":"Write the lexer"`, `"content":""`),
		"control characters": set("Write the lexer", `Write\u0000`),
		"a lone surrogate":   set("Write the lexer", `Write\ud800`),
		"invalid UTF-8":      set("Write the lexer", "Write\xff"),
		"no list":            set(`"todos"`, `"items"`),
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

// A store that does not open, or fails, is an error; nothing else happens.
func TestNoStore(t *testing.T) {
	e, err := hook.Read(strings.NewReader(recorded(t, "claude-code-todowrite")))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := hook.Do(t.Context(), e, func() (todo.Lists, func(), error) { return todo.Lists{}, nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := hook.Do(ctx, e, func() (todo.Lists, func(), error) { return r.lists, func() {}, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.expectNone()
	if _, err := hook.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzEvents: whatever a hook is told, it does not panic, and every list on the board
// is one that may be stored (BAD-INPUT 98).
func FuzzEvents(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(recorded(f, strings.TrimSuffix(filepath.Base(file), ".json")))
	}
	f.Fuzz(func(t *testing.T, event string) {
		r := newRig(t)
		r.play("claude-code-taskcreate-1", "claude-code-taskcreate-2")
		_ = r.send(event)
		_ = r.send(event)
		for _, l := range r.all() {
			if err := l.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
