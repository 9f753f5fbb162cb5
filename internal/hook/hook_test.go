package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// The events in testdata were recorded as Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.24.4,
// Copilot CLI 1.0.102 and the plugin for opencode 1.18.33 (opencode.js) wrote them to a hook. Folders and ids of
// sessions were renamed, and the field host, which the flag --host of a hook sets, was added. Cursor's events are from
// its documentation; Kilo's are as opencode's plugin would send them.

// rig is a board that events are sent to.
type rig struct {
	*testing.T
	lists board.Lists
	store board.Store
	told  string // the text for the agent after the last event
	env   map[string]string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	store := storetest.NewMemory()
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	return &rig{T: t, lists: b.As(""), store: store}
}

func (r *rig) open() (board.Lists, func(), error) { return r.lists, func() {}, nil }

// send sends an event and returns the error that would be logged.
func (r *rig) send(event string) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	r.told, err = new(hook.Spool).Do(r.Context(), e.WithFiles(func(name string) string { return r.env[name] }), r.open)
	return err
}

// play sends the recorded events in the named files of testdata.
func (r *rig) play(names ...string) {
	r.Helper()
	for _, name := range names {
		checktest.Check(r, r.send(recorded(r.T, name)))
	}
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	return string(checktest.Must(os.ReadFile(filepath.Join("testdata", name+".json")))(t))
}

// all returns all lists, in the order in which they began.
func (r *rig) all() []todo.Snapshot {
	r.Helper()
	return checktest.Must(r.lists.Find(r.Context(), board.Query{OldestFirst: true}))(r)
}

// chatOf returns "chat:" or, for a mirrored list, "mirror:", then the host's id of the chat and any sub-agent.
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

// board returns a text for each list, in the order in which they began: a line with its state, one with its revision,
// and a line for each item with its id, status, text and other fields. Chats without a list follow.
func (r *rig) board() (lists []string) {
	r.Helper()
	all := r.all()
	states := checktest.Must(r.lists.States(r.Context(), all...))(r.T)
	numbers, listed := make(map[string]int), make(map[string]bool)
	for n, l := range all {
		var b strings.Builder
		numbers[l.List.ID], listed[l.List.Chat] = n+1, true
		saw := checktest.Must(r.lists.Saw(r.Context(), l))(r.T)
		fmt.Fprintf(&b, "list %d, %q, of %s in %s, %s, mirrored %t, %s, archived %t",
			n+1, l.Title(), l.List.Client, l.List.Workspace, chatOf(l), l.List.Mirrored, states[l.List.ID].State, l.Archived)
		if saw.Revision < l.Revision {
			fmt.Fprintf(&b, ", agents saw revision %d", saw.Revision)
		}
		if asks := states[l.List.ID].Asks; asks != "" {
			fmt.Fprintf(&b, ", asks %q", asks)
		}
		if l.List.Agent != "" {
			fmt.Fprintf(&b, ", under list %d for %s", numbers[l.List.Parent], l.List.Agent)
		}
		w := l.Writer
		fmt.Fprintf(&b, "\nrevision %d by %s of %s %s, person %t\n", l.Revision, w.Variant, w.Client, w.Agent, w.Person)
		for n, i := range slices.Concat(l.Items, l.Later) {
			if n >= len(l.Items) {
				i.ID = "later"
			}
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
	for _, c := range checktest.Must(r.lists.OwnChats(r.Context(), time.Time{}))(r.T) {
		if !listed[c.HostID] {
			lists = append(lists, fmt.Sprintf("chat %s/%s without a list, %s\n", c.HostID, c.Agent, doing(c)))
		}
	}
	return lists
}

// expectNone checks that there is no list.
func (r *rig) expectNone() {
	r.Helper()
	if all := r.all(); len(all) > 0 {
		r.Errorf("there is\n%+v", all)
	}
}

var update = flag.Bool("update", false, "rewrite the boards in testdata/scripts")

// player plays a script, and prints the results of each command.
type player struct {
	*rig
	chats  map[string]string // the fields common to the events of each chat
	before []string          // the board after the previous command
}

// TestScripts plays the scripts in testdata/scripts ([chattest.Scene]), which send events of a Claude Code chat one
// second apart. Below each command stand the answer to its host and the lists that changed; a list whose state alone
// changed has only one line. Commands:
//
//	recorded EVENT OLD=NEW   a recorded event, with each OLD replaced by its NEW
//	Stop "x":7               an event by its name and its other fields; finish Stop: open items keep the turn going
//	as NAME FIELDS           names another chat, whose events have these fields; NAME: EVENT sends an event of that chat
//	agent PLAN               the chat writes a whole list, in short form, by our tool; tool appends an item
//	serve PROCESS PLAN       like agent, by a server that knows only its host's process, as for Gemini CLI; LIST1 in a
//	                         command is the id of the first list
//	edit N JSON              a person edits list N; purge N deletes it; resume CHAT N takes it up in another chat
//	wait 29m, env NAME=VALUE
func TestScripts(t *testing.T) {
	chattest.Scenes(t, "testdata/scripts/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		synctest.Test(t, func(t *testing.T) {
			p := &player{rig: newRig(t), chats: map[string]string{"": fmt.Sprintf(`"session_id":%q`, claudeChat)}}
			scene.Play(t, nil, func(command string, _ bool) (string, error) { return p.does(command), nil })
		})
	})
}

// does runs a command, and returns its error, its answer and the lists that changed.
func (p *player) does(line string) string {
	p.Helper()
	var out strings.Builder
	word, rest, _ := strings.Cut(line, " ")
	p.told = ""
	if err := p.line(word, rest); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	if p.told != "" {
		fmt.Fprintf(&out, "answer: %s\n", p.told)
	}
	time.Sleep(time.Second)
	now := p.board()
	for n, list := range now {
		if slices.Contains(p.before, list) {
			continue
		}
		if head, rest, _ := strings.Cut(list, "\n"); n < len(p.before) && strings.HasSuffix(p.before[n], "\n"+rest) {
			list = head + "\n"
		}
		out.WriteString(list)
	}
	p.before = now
	return out.String()
}

// line runs a command, and puts its answer, if any, in p.told.
func (p *player) line(word, rest string) (err error) {
	p.Helper()
	if all := p.all(); len(all) > 0 {
		rest = strings.ReplaceAll(rest, "LIST1", all[0].List.ID)
	}
	first, more, _ := strings.Cut(rest, " ")
	list := func() string { n, _ := strconv.Atoi(first); return p.all()[n-1].List.ID }
	name, named := strings.CutSuffix(word, ":")
	switch {
	case unicode.IsUpper(rune(word[0])):
		return p.answers(eventOf(p.chats[""], word, rest), false)
	case named && p.chats[name] != "":
		return p.answers(eventOf(p.chats[name], first, more), false)
	}
	switch word {
	case "recorded":
		event := recorded(p.T, first)
		for _, change := range strings.Fields(more) {
			old, fresh, _ := strings.Cut(change, "=")
			event = strings.ReplaceAll(event, old, fresh)
		}
		return p.answers(event, false)
	case "finish":
		return p.answers(eventOf(p.chats[""], first, more), true)
	case "as":
		p.chats[first] = more
	case "agent":
		p.told = told(p.agent(lines(rest)...))
	case "serve":
		p.told = told(p.serve(first, lines(more)...))
	case "tool":
		ours := board.Conversation{Key: todo.ChatKey(claudeChat), Chat: claudeChat, Client: "claude-code"}
		_, err = p.lists.Apply(p.Context(), board.Write{Target: board.Target{Conversation: ours, Append: true}, Change: func(d *todo.Draft) error { d.Append("x"); return nil }})
	case "edit":
		var e todo.Edit
		checktest.Check(p.T, json.Unmarshal([]byte(more), &e))
		_, err = p.lists.Edit(p.Context(), list(), e, todo.Writer{Person: true})
	case "resume":
		n, _ := strconv.Atoi(more)
		err = p.lists.SetCurrent(p.Context(), board.Conversation{Key: todo.ChatKey(first)}, p.all()[n-1])
	case "purge":
		_, err = p.lists.Purge(p.Context(), todo.Writer{Person: true}, list())
	case "wait":
		time.Sleep(checktest.Must(time.ParseDuration(rest))(p.T))
	case "env":
		name, value, _ := strings.Cut(rest, "=")
		p.env = map[string]string{name: value}
	default:
		p.Fatalf("no command is called %q", word)
	}
	return err
}

// answers sends an event, and keeps the answer to its host in r.told.
func (r *rig) answers(event string, finish bool) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	e.Finish = finish
	text, err := new(hook.Spool).Do(r.Context(), e.WithFiles(func(name string) string { return r.env[name] }), r.open)
	if text != "" {
		var b strings.Builder
		to := json.NewEncoder(&b)
		to.SetEscapeHTML(false)
		checktest.Check(r.T, to.Encode(e.Answer(text)))
		r.told = strings.TrimSpace(b.String())
	}
	return err
}

// eventOf returns an event of a chat with some fields.
func eventOf(chat, name, more string) string {
	event := fmt.Sprintf(`{"hook_event_name":%q,%s`, name, chat)
	if more != "" {
		event += "," + more
	}
	if !strings.Contains(event, `"cwd"`) {
		event += `,"cwd":"/home/ada/parser"`
	}
	return event + "}"
}

// lines parses a plan in short form.
func lines(plan string) (lines []todo.Line) {
	for _, i := range chattest.ParsePlan(plan) {
		lines = append(lines, todo.Line{Text: i.Text, Status: string(i.Status)})
	}
	return lines
}

// told lists the edits of a person that the answer to a write reports.
func told(out board.Outcome) string {
	var b strings.Builder
	for _, d := range slices.Concat(out.Unseen, out.Kept) {
		fmt.Fprintf(&b, "%q of a person, ", d.After.Text)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

const claudeChat = "11111111-2222-4333-8444-555555555555"

// A hook before a call of one of our tools notes the call's chat, sub-agent and folder. It writes no list.
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

// Input that is cut, huge, empty or of another shape is refused, and so is a call that the tool itself would refuse. No
// list changes (BAD-INPUT 98).
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

// A mirrored list accepts every text that the host's own tool accepted: characters that our texts may not have are
// replaced or removed, and long texts are cut (BAD-INPUT 98).
func TestMirroredTextsAreMended(t *testing.T) {
	long := strings.Repeat("🚪", todo.MaxText)
	for name, c := range map[string]struct{ text, want string }{
		"half of an emoji":  {`Ship \ud83d now`, "Ship \ufffd now"},
		"a bell":            {`Ship \u0007`, "Ship"},
		"a colour":          {`Ship \u001b[31mred`, "Ship [31mred"},
		"NUL":               {`\u0000Ship`, "Ship"},
		"a bell alone":      {` \u0007`, "\ufffd"},
		"no UTF-8":          {"Ship\xff\xfe", "Ship\ufffd"},
		"too long":          {long + "x", long},
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
	checktest.Check(t, r.send(strings.Replace(recorded(t, "opencode-todowrite"), `"priority":"`, `"priority":"\u0007`+strings.Repeat("x", 200), 1)))
}

// If the store does not open, or fails, the hook returns the error and changes nothing.
func TestNoStore(t *testing.T) {
	e := checktest.Must(hook.Read(strings.NewReader(recorded(t, "claude-code-todowrite"))))(t)
	broken := errors.New("broken")
	if _, err := new(hook.Spool).Do(t.Context(), e, func() (board.Lists, func(), error) { return board.Lists{}, nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checktest.Is(t, "error", checktest.Err(new(hook.Spool).Do(ctx, e, r.open)), context.Canceled)
	r.expectNone()
	checktest.Is(t, "error", checktest.Err(hook.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)))), broken)
}

// FuzzEvents checks that no event makes a hook panic, store a list that is not valid, or tell the agent more than 4,000
// bytes (BAD-INPUT 98, 111).
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
		"BeforeAgent":       `,"prompt":"<hook_context>x</hook_context>y","host":"gemini-cli"`,
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
			told, _ := new(hook.Spool).Do(t.Context(), e, r.open)
			if len(told) > 4000 || !utf8.ValidString(told) {
				t.Errorf("the agent is told %d bytes", len(told))
			}
		}
		for _, l := range r.all() {
			checktest.Check(t, l.Check())
		}
	})
}

// After each recorded event of a host, the store has the right state of the chat. testdata/states has the events, and
// below each the state. An event comes ten seconds after the previous one or, if marked so, at once.
func TestStatesAreTrue(t *testing.T) {
	chattest.Scenes(t, "testdata/states/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			scene.Play(t, nil, func(event string, _ bool) (string, error) { return r.doesAfter(event), nil })
		})
	})
}

// doesAfter returns what the only main chat does after an event.
func (r *rig) doesAfter(event string) (does string) {
	r.Helper()
	event, atOnce := strings.CutPrefix(event, "at once ")
	if !atOnce {
		time.Sleep(10 * time.Second)
	}
	if err := r.send(strings.Replace(event, "{", `{"session_id":"s","cwd":"/w",`, 1)); err != nil && !errors.Is(err, hook.ErrNotNeeded) {
		r.Error(err)
	}
	does = "nothing"
	for _, c := range checktest.Must(r.lists.OwnChats(r.Context(), time.Time{}))(r.T) {
		if c.Parent == "" {
			does = doing(c)
		}
	}
	return does
}

// doing describes a chat's state in a word, with the question if the chat waits.
func doing(c todo.Chat) string {
	switch {
	case !c.Ended.IsZero():
		return "gone"
	case c.Asks != "":
		return "waits: " + c.Asks
	case c.Doing == todo.Works:
		return "working"
	case c.Doing == todo.Rests:
		return "idle"
	}
	return "not known"
}
