package hook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"todo-mcp/internal/hook"
	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// The events in testdata were recorded as Claude Code 2.1.330, Codex 0.169.0, Gemini CLI
// 0.61.0 and the plugin for opencode 1.18.33 (opencode.js) wrote them to a hook; the folders
// alone were renamed.

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

// expect compares the lists, as they began, each with a line for each item.
func (r *rig) expect(want ...string) {
	r.Helper()
	all := r.all()
	if len(all) != len(want) {
		r.Fatalf("%d lists, want %d", len(all), len(want))
	}
	for i, l := range all {
		if got := items(l); got != want[i] {
			r.Errorf("list %d has\n%s\nwant\n%s", i+1, got, want[i])
		}
	}
}

// items returns a list with a line for each item: its id, its status, its text and
// what else was said of it.
func items(l todo.Snapshot) string {
	var lines []string
	for _, i := range l.Items {
		line := i.ID + " " + string(i.Status) + " " + i.Text
		for _, more := range []struct{ name, text string }{{"active", i.Active}, {"priority", i.Priority}, {"owner", i.Owner}, {"waits", i.WaitsFor}} {
			if more.text != "" {
				line += ", " + more.name + " " + more.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

const claudeChat = "11111111-2222-4333-8444-555555555555"

// A call of a host's own todo tool is a list on the board: its chat's, in its folder,
// by its host's name, mirrored. What the chat writes next goes to the same list.
func TestMirror(t *testing.T) {
	plan := "1 completed Read the grammar\n2 in_progress Write the lexer\n3 pending Run the tests"
	for _, c := range []struct {
		name          string
		events        []string
		want          string
		chat          string
		client, under string // who wrote, with which tool
	}{
		{"Claude Code's TodoWrite", []string{"claude-code-todowrite"},
			"1 completed Read the grammar, active Reading the grammar\n2 in_progress Write the lexer, active Writing the lexer\n3 pending Run the tests, active Running the tests",
			claudeChat, "claude-code", "TodoWrite"},
		{"Codex' update_plan", []string{"codex-update-plan"}, plan, "01a200aa-09b1-71c0-aa3e-32c1097bd53a", "codex", "update_plan"},
		{"Codex' update_plan again", []string{"codex-update-plan", "codex-update-plan-2"},
			"1 completed Read the grammar\n2 completed Write the lexer\n3 in_progress Run the tests", "01a200aa-09b1-71c0-aa3e-32c1097bd53a", "codex", "update_plan"},
		{"Gemini CLI's write_todos", []string{"gemini-write-todos"}, plan + "\n4 cancelled Paint it\n5 blocked Ship it",
			"cd0bc3fb-2c80-4d4e-b461-e3783ed16718", "gemini-cli", "write_todos"},
		{"Gemini CLI's write_todos again", []string{"gemini-write-todos", "gemini-write-todos-done"},
			"1 completed Read the grammar\n2 completed Write the lexer", "cd0bc3fb-2c80-4d4e-b461-e3783ed16718", "gemini-cli", "write_todos"},
		{"opencode's todowrite", []string{"opencode-todowrite"},
			"1 completed Read the grammar, priority high\n2 in_progress Write the lexer, priority medium\n3 cancelled Paint it, priority low",
			"ses_dff3bbe63ffeOh2Nh82EqZ3oMi", "opencode", "todowrite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.play(c.events...)
			r.play(c.events[len(c.events)-1]) // a hook that is set up twice
			r.expect(c.want)
			l := r.all()[0]
			if got, want := l.Revision, int64(len(c.events)); got != want {
				t.Errorf("%d revisions, want %d", got, want)
			}
			if want := (todo.List{ID: l.List.ID, Conversation: server.MirrorKey(c.chat), Client: c.client, Workspace: "/home/ada/parser", Previous: l.List.Previous, Created: l.List.Created, Mirrored: true}); l.List != want {
				t.Errorf("the list is %+v, want %+v", l.List, want)
			}
			if w := l.Writer; w.Client != c.client || w.Variant != c.under || w.Person {
				t.Errorf("written by %+v", w)
			}
		})
	}
}

// Claude Code's tasks keep their ids, whichever hook is the first. Their owners, what
// they wait for and what becomes of that is mirrored; sub-agents write the same list.
func TestTasks(t *testing.T) {
	r := newRig(t)
	r.play("claude-code-taskcreate-1", "claude-code-taskcreate-3", "claude-code-taskcreate-2", "claude-code-taskcreate-2")
	r.expect("1 pending Read the grammar, active Reading the grammar\n2 pending Write the lexer, active Writing the lexer\n3 pending Run the tests")
	r.play("claude-code-taskupdate-owner", "claude-code-taskupdate-waits")
	r.expect("1 in_progress Read the grammar, active Reading the grammar, owner reader\n2 pending Write the lexer, active Writing the lexer\n3 pending Run the tests, waits 1,2")
	r.play("claude-code-taskupdate-done", "claude-code-taskupdate-subject")
	r.expect("1 completed Read the grammar, active Reading the grammar, owner reader\n2 in_progress Write the whole lexer, active Writing the lexer\n3 pending Run the tests, waits 2")
	before := r.all()[0].Revision
	r.play("claude-code-tasklist", "claude-code-taskupdate-unknown")
	if after := r.all()[0].Revision; after != before {
		t.Errorf("what is known already makes revision %d after %d", after, before)
	}
	r.play("claude-code-taskcreate-subagent", "claude-code-taskupdate-subagent", "claude-code-taskupdate-deleted")
	r.expect("1 completed Read the grammar, active Reading the grammar, owner reader\n2 in_progress Write the whole lexer, active Writing the lexer\n4 in_progress Sub task, active Subbing")
	history, err := r.lists.History(t.Context(), r.all()[0].List.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	agents := ""
	for _, s := range history {
		agents += "/" + s.Writer.Agent
	}
	if want := "////////general-purpose dae01cbb/general-purpose dae01cbb/"; agents != want {
		t.Errorf("written by %s", agents)
	}
}

// Tasks that were made before there was a hook are mirrored by the next TaskList; an
// update of one that is not known is passed over, which a log line says.
func TestTasksOfBefore(t *testing.T) {
	r := newRig(t)
	if err := r.send(recorded(t, "claude-code-taskupdate-owner")); err == nil || !strings.Contains(err.Error(), "not understood: taskId") {
		t.Errorf("an update of an unknown task is %v", err)
	}
	r.expect()
	r.play("claude-code-tasklist")
	r.expect("2 in_progress Write the whole lexer\n3 pending Run the tests, waits 2")
}

// A finished list stays as it ended: the next task begins another, and so does the
// first task after /clear, since the chat is another one then.
func TestNextList(t *testing.T) {
	r := newRig(t)
	r.play("claude-code-taskcreate-1", "claude-code-taskupdate-done", "claude-code-taskcreate-2")
	r.expect("1 completed Read the grammar, active Reading the grammar", "2 pending Write the lexer, active Writing the lexer")
	r.play("claude-code-tasklist") // which has the first one, too
	r.expect("1 completed Read the grammar, active Reading the grammar", "2 in_progress Write the whole lexer, active Writing the lexer\n3 pending Run the tests, waits 2")
}

// A sub-agent's own list stands under its main agent's.
func TestMirrorOfSubAgent(t *testing.T) {
	r := newRig(t)
	r.play("claude-code-todowrite", "claude-code-todowrite-subagent")
	all := r.all()
	if len(all) != 2 || all[1].List.Parent != all[0].List.ID || all[1].List.Agent != "general-purpose ed0d7661" || !all[1].List.Mirrored {
		t.Fatalf("lists %+v", all)
	}
}

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
		r.expect()
	}
	r := newRig(t)
	r.play("claude-code-ours-after")
	r.expect()
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

// cursor is an event as Cursor's documentation has it: none was recorded.
const cursor = `{"conversation_id":"c-1","generation_id":"g-1","hook_event_name":"postToolUse","cursor_version":"2.4.0","workspace_roots":["/home/ada/parser"],` +
	`"tool_name":"TodoWrite","tool_input":%s,"tool_output":"{}","tool_use_id":"t-1"}`

// Cursor's tool takes the whole list, or with merge some of its items.
func TestCursor(t *testing.T) {
	r := newRig(t)
	for _, input := range []string{
		`{"merge":false,"todos":[{"id":"a","content":"Read the grammar","status":"in_progress"},{"id":"b","content":"Write the lexer","status":"pending"}]}`,
		`{"merge":true,"todos":[{"id":"a","content":"Read the grammar","status":"completed"},{"id":"c","content":"Run the tests","status":"pending"}]}`,
	} {
		if err := r.send(fmt.Sprintf(cursor, input)); err != nil {
			t.Fatal(err)
		}
	}
	r.expect("1 completed Read the grammar\n2 pending Write the lexer\n3 pending Run the tests")
	if l := r.all()[0].List; l.Client != "cursor" || l.Workspace != "/home/ada/parser" {
		t.Errorf("the list is %+v", l)
	}
	if err := r.send(`{"conversation_id":"c-1","hook_event_name":"sessionEnd","cursor_version":"2.4.0"}`); err != nil {
		t.Error(err)
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
	r.expect()
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
	f.Add(fmt.Sprintf(cursor, `{"merge":true,"todos":[{"id":"a","content":"Read","status":"completed"}]}`))
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
