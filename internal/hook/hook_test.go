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

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// The events in testdata were recorded as Claude Code 2.1.330, Codex 0.169.0, Gemini CLI
// 0.61.0, Qwen Code 0.24.4, Copilot CLI 1.0.102 and the plugin for opencode 1.18.33
// (opencode.js) wrote them to a hook; folders and ids of sessions were renamed, and
// the field host added, which a hook adds by its flag --host. The ones
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
	store := storetest.NewMemory()
	b := board.NewBoard(store)
	t.Cleanup(func() { b.Close(); store.Close() })
	return &rig{T: t, lists: b.As(""), store: store}
}

func (r *rig) open() (board.Lists, func(), error) { return r.lists, func() {}, nil }

// send sends an event and returns what is said of it in the log.
func (r *rig) send(event string) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	r.told, err = hook.Do(r.Context(), e.WithFiles(func(name string) string { return r.env[name] }), r.open)
	return err
}

// play sends recorded events, by the names of their files.
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

// all returns all lists, as they began.
func (r *rig) all() []todo.Snapshot {
	r.Helper()
	return checktest.Must(r.lists.Find(r.Context(), board.Query{OldestFirst: true}))(r)
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

// board returns the lists, as they began, each with how it stands in the first line, and then a line for
// each item: its id, its status, its text and what else was said of it. Behind them are chats without a list.
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

// Each script sends events of a chat of Claude Code, a second apart, and says behind each line what its host
// is answered, and the lists that changed: a list whose revision is the same in one line. The lines are:
//
//	> EVENT OLD=NEW     a recorded event, in which texts may have others in their place
//	Stop "x":7          an event by its name, and its other fields; finish Stop, where open items keep the turn
//	as NAME FIELDS      fields of another chat, whose events begin with NAME:
//	agent STATUS TEXT; STATUS TEXT           the chat writes a whole list by our tool; tool appends an item
//	serve PROCESS STATUS TEXT; STATUS TEXT   the same by a server that knows its host's process alone, as
//	                    Gemini CLI's; LIST1 in a line is the id of the first list
//	edit N JSON         a person edits list N; purge N deletes it; resume CHAT N takes it up in another chat
//	wait 29m, env NAME=VALUE, new            a board without lists
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(scripts) < 10 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := checktest.Must(os.ReadFile(path))(t)
				got := newRig(t).script(string(script))
				if *update {
					checktest.Check(t, os.WriteFile(path, []byte(got), 0o600))
				} else if diff := cmp.Diff(string(script), got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// script runs the lines of a script, and returns it with what comes of each.
func (r *rig) script(text string) string {
	r.Helper()
	var out strings.Builder
	var before []string
	chats := map[string]string{"": fmt.Sprintf(`"session_id":%q`, claudeChat)}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word == "#" {
			out.WriteString(line)
			continue
		}
		if word == "new" {
			r, before = newRig(r.T), nil
		}
		known, err := r.line(word, rest, chats)
		if !known {
			continue
		}
		out.WriteString(line)
		if err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
		}
		if r.told != "" {
			fmt.Fprintf(&out, "answer: %s\n", r.told)
		}
		time.Sleep(time.Second)
		now := r.board()
		for n, list := range now {
			if slices.Contains(before, list) {
				continue
			}
			if head, rest, _ := strings.Cut(list, "\n"); n < len(before) && strings.HasSuffix(before[n], "\n"+rest) {
				list = head + "\n"
			}
			out.WriteString(list)
		}
		before = now
	}
	return out.String()
}

// line runs a line of a script that is known; what is said of it is in r.told.
func (r *rig) line(word, rest string, chats map[string]string) (known bool, err error) {
	r.Helper()
	r.told = ""
	if all := r.all(); len(all) > 0 {
		rest = strings.ReplaceAll(rest, "LIST1", all[0].List.ID)
	}
	first, more, _ := strings.Cut(rest, " ")
	list := func() string { n, _ := strconv.Atoi(first); return r.all()[n-1].List.ID }
	name, named := strings.CutSuffix(word, ":")
	switch fields := chats[name]; {
	case word == ">":
		event := recorded(r.T, first)
		for _, change := range strings.Fields(more) {
			old, fresh, _ := strings.Cut(change, "=")
			event = strings.ReplaceAll(event, old, fresh)
		}
		return true, r.answers(event, false)
	case word == "finish":
		return true, r.answers(eventOf(chats[""], first, more), true)
	case unicode.IsUpper(rune(word[0])):
		return true, r.answers(eventOf(chats[""], word, rest), false)
	case named && fields != "":
		return true, r.answers(eventOf(fields, first, more), false)
	}
	switch word {
	case "as":
		chats[first] = more
	case "agent":
		r.told = told(r.agent(lines(rest)...))
	case "serve":
		r.told = told(r.serve(first, lines(more)...))
	case "tool":
		ours := board.Conversation{Key: todo.ChatKey(claudeChat), Chat: claudeChat, Client: "claude-code"}
		_, err = r.lists.Apply(r.Context(), board.Write{Target: board.Target{Conversation: ours, Append: true}, Change: func(d *todo.Draft) error { d.Append("x"); return nil }})
	case "edit":
		var e todo.Edit
		checktest.Check(r.T, json.Unmarshal([]byte(more), &e))
		_, err = r.lists.Edit(r.Context(), list(), e, todo.Writer{Person: true})
	case "resume":
		n, _ := strconv.Atoi(more)
		err = r.lists.SetCurrent(r.Context(), board.Conversation{Key: todo.ChatKey(first)}, r.all()[n-1])
	case "purge":
		_, err = r.lists.Purge(r.Context(), todo.Writer{Person: true}, list())
	case "wait":
		long, err := time.ParseDuration(rest)
		time.Sleep(long)
		return true, err
	case "env":
		name, value, _ := strings.Cut(rest, "=")
		r.env = map[string]string{name: value}
	case "new":
	default:
		return false, nil
	}
	return true, err
}

// answers sends an event, and keeps what its host is answered.
func (r *rig) answers(event string, finish bool) error {
	e, err := hook.Read(strings.NewReader(event))
	if err != nil {
		return err
	}
	e.Finish = finish
	text, err := hook.Do(r.Context(), e.WithFiles(func(name string) string { return r.env[name] }), r.open)
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

// lines reads items as scripts have them.
func lines(text string) (lines []todo.Line) {
	for item := range strings.SplitSeq(text, "; ") {
		status, text, _ := strings.Cut(item, " ")
		lines = append(lines, todo.Line{Text: text, Status: status})
	}
	return lines
}

// told says what a write's answer tells of a person's edits.
func told(out board.Outcome) string {
	var b strings.Builder
	for _, d := range slices.Concat(out.Unseen, out.Kept) {
		fmt.Fprintf(&b, "%q of a person, ", d.After.Text)
	}
	return strings.TrimSuffix(b.String(), ", ")
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

// A store that does not open, or fails, is an error; nothing else happens.
func TestNoStore(t *testing.T) {
	e := checktest.Must(hook.Read(strings.NewReader(recorded(t, "claude-code-todowrite"))))(t)
	broken := errors.New("broken")
	if _, err := hook.Do(t.Context(), e, func() (board.Lists, func(), error) { return board.Lists{}, nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checktest.Is(t, "error", checktest.Err(hook.Do(ctx, e, r.open)), context.Canceled)
	r.expectNone()
	checktest.Is(t, "error", checktest.Err(hook.Read(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)))), broken)
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
			told, _ := hook.Do(t.Context(), e, r.open)
			if len(told) > 4000 || !utf8.ValidString(told) {
				t.Errorf("the agent is told %d bytes", len(told))
			}
		}
		for _, l := range r.all() {
			checktest.Check(t, l.Check())
		}
	})
}

// What a chat does is true after each event that its host was recorded to tell its hooks: see
// the tables in testdata/states. An event comes ten seconds after the one before, or at once.
func TestStatesAreTrue(t *testing.T) {
	files, err := filepath.Glob("testdata/states/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		host := strings.TrimSuffix(filepath.Base(file), ".txt")
		data := checktest.Must(os.ReadFile(file))(t)
		for section := range strings.SplitSeq(string(data), "\n\n") {
			title, events, _ := strings.Cut(section, "\n")
			if events != "" {
				t.Run(host+strings.TrimPrefix(title, "#"), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { playStates(t, events) }) })
			}
		}
	}
}

// playStates sends events to a new chat, each of which stands before what the chat does then.
func playStates(t *testing.T, events string) {
	r := newRig(t)
	for line := range strings.Lines(events) {
		event, want, _ := strings.Cut(strings.TrimSpace(line), " → ")
		if !strings.HasPrefix(event, "at once ") {
			time.Sleep(10 * time.Second)
		}
		if err := r.send(strings.Replace(strings.TrimPrefix(event, "at once "), "{", `{"session_id":"s","cwd":"/w",`, 1)); err != nil && !errors.Is(err, hook.ErrNotNeeded) {
			t.Error(err)
		}
		chats := checktest.Must(r.lists.OwnChats(t.Context(), time.Time{}))(t)
		got := "nothing"
		for _, c := range chats {
			if c.Parent == "" {
				got = doing(c)
			}
		}
		checktest.Same(t, fmt.Sprintf("after %s", event), got, want)
	}
}

// doing says what a chat does.
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
