package server_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// process is a server on a file, on a pipe and over HTTP, as one process of several
// would be.
type process struct {
	*chattest.Server
	pipe *chattest.Chat
	web  *httptest.Server
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: chattest.File(t, path)}
	s := r.Start(nil)
	return &process{s, s.Chat("tester"), servertest.Serve(t, s.Server, nil)}
}

// stop ends the process in good order.
func (p *process) stop() {
	p.web.CloseClientConnections()
	p.web.Close()
	p.End()
	_ = p.Store.(*sqlite.Store).Close()
}

// talker is one conversation, wherever it makes its calls.
type talker struct {
	name    string
	kind    string         // "stdio" and "thread" name the conversation in _meta, "session" is an HTTP session
	session *chattest.Chat // of the kind "session", once it has begun
}

// in returns the conversation's connection to a process.
func (c *talker) in(p *process) *chattest.Chat {
	switch c.kind {
	case "session":
		url := p.web.URL + "/mcp"
		if c.session == nil {
			c.session = chattest.OverHTTP(p.T, chattest.Session, "tester", url)
		}
		return c.session.At(url)
	case "thread":
		return p.pipe.With(`"threadId":%q`, c.name)
	}
	return p.pipe.Conversation(c.name)
}

// step is one thing that happens in a conversation.
type step struct {
	what, tool, args string
	process          int // the process it happens in
	n                int // which list or item it is about
}

// drawList draws the arguments of a whole-list write of SetTodoList. The texts
// are few, so that conversations write alike.
func drawList(t *rapid.T) string {
	some := rapid.SampledFrom([]string{"Run tests", "Write code", "Review", "Ship", "Plan", "Fix", "Docs"})
	plan := ""
	for _, text := range rapid.SliceOfNDistinct(some, 0, 5, rapid.ID).Draw(t, "texts") {
		plan += rapid.SampledFrom([]string{" p:", " i:", " c:"}).Draw(t, "status") + text
	}
	return chattest.Arguments("SetTodoList", plan)
}

func drawStep(t *rapid.T) step {
	s := step{process: rapid.IntRange(0, 1).Draw(t, "process"), n: rapid.IntRange(0, 3).Draw(t, "n")}
	switch s.what = rapid.SampledFrom([]string{"call", "call", "call", "person", "resume", "sub-agent"}).Draw(t, "what"); s.what {
	case "call", "sub-agent":
		switch s.tool = rapid.SampledFrom([]string{"SetTodoList", "SetTodoList", "create_todos", "update_todo"}).Draw(t, "tool"); s.tool {
		case "SetTodoList":
			s.args = rapid.OneOf(rapid.Custom(drawList), rapid.Just(`{}`)).Draw(t, "list")
		case "create_todos":
			s.args = fmt.Sprintf(`{"items":[%q]}`, rapid.SampledFrom([]string{"Run tests", "More"}).Draw(t, "item"))
		case "update_todo":
			s.args = fmt.Sprintf(`{"id":"%d","status":%q}`, s.n, rapid.SampledFrom([]string{"running", "completed", "failed"}).Draw(t, "status"))
		}
	}
	return s
}

var listID = regexp.MustCompile(`[a-z2-7]{26}`)

// act lets a step happen and returns what the conversation was answered, without
// ids.
func (c *talker) act(p *process, s step) string {
	p.Helper()
	chat := c.in(p)
	switch s.what {
	case "sub-agent":
		chat = chat.Agent("helper")
	case "person", "resume":
		own := c.lists(p)
		if len(own) == 0 {
			return "nothing"
		}
		list := own[s.n%len(own)]
		if s.what == "resume" {
			_, open, _ := strings.Cut(chat.Resume(list.List.ID).Text(), "Open:") // what comes before has the time in it
			return open
		}
		p.Edits(list.List.ID, func(d *todo.Draft) error {
			if n := len(d.Items()); n > 0 && s.n > 0 {
				d.SetStatus(d.Items()[s.n%n].ID, todo.Completed)
				return nil
			}
			d.Append("From the user")
			return nil
		})
		return "edited"
	}
	return listID.ReplaceAllString(chat.Calls(s.tool, s.args).Text(), "ID")
}

// lists returns the main lists that the conversation began, oldest first.
func (c *talker) lists(p *process) []todo.Snapshot {
	key := map[string]string{"stdio": "conversation:todo-mcp/conversation:" + c.name, "thread": "conversation:threadId:" + c.name}[c.kind]
	if c.kind == "session" {
		key = "session:" + server.Digest(c.in(p).Session)
	}
	own := slices.DeleteFunc(p.Found(), func(l todo.Snapshot) bool { return l.List.Conversation != key || l.List.Agent != "" })
	slices.SortStableFunc(own, func(a, b todo.Snapshot) int { return a.List.Created.Compare(b.List.Created) })
	return own
}

// Properties are tried ten times on the wire, and more often with TODO_LONG: what they
// say of lists the core's are tried for, which are a hundred times as fast
// (internal/todo: TestChats, TestChatsInOneFile).
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks").Value; os.Getenv("TODO_LONG") == "" && checks.String() == "100" {
		_ = checks.Set("10")
	}
	os.Exit(m.Run())
}

// Two to five conversations with keys, on stdio and over HTTP, in two processes
// on one file that restart in between, do whatever they do: each is answered
// and ends as it would alone.
func TestConversationsWithKeys(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type turn struct {
			who  int // -1 restarts a process
			step step
		}
		n := rapid.IntRange(2, 5).Draw(r, "conversations")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"stdio", "thread", "session"}), n, n).Draw(r, "kinds")
		turns := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) turn {
			return turn{rapid.IntRange(-1, n-1).Draw(r, "who"), drawStep(r)}
		}), 1, 30).Draw(r, "turns")
		// run lets the turns of some conversations happen, and returns what each
		// was answered.
		run := func(takesPart func(int) bool) map[int]string {
			path := filepath.Join(t.TempDir(), "todo.db")
			processes := []*process{startProcess(t, path), startProcess(t, path)}
			talkers := make([]*talker, n)
			for i := range talkers {
				talkers[i] = &talker{name: fmt.Sprint("c", i), kind: kinds[i]}
			}
			answers := make(map[int]string)
			for _, turn := range turns {
				at := turn.step.process
				if turn.who < 0 {
					processes[at].stop()
					processes[at] = startProcess(t, path)
				} else if takesPart(turn.who) {
					answers[turn.who] += talkers[turn.who].act(processes[at], turn.step) + "\n---\n"
				}
			}
			for i, c := range talkers {
				if takesPart(i) {
					for _, l := range c.lists(processes[0]) {
						answers[i] += fmt.Sprintln(l.Archived, chattest.Show(l.Items))
					}
					answers[i] += c.in(processes[0]).Calls("SetTodoList", `{}`).Text()
				}
			}
			for _, p := range processes {
				p.stop()
			}
			return answers
		}
		together := run(func(int) bool { return true })
		for i := range n {
			alone := run(func(who int) bool { return who == i })
			if a, b := alone[i], together[i]; a != b {
				r.Fatalf("conversation %d (%s) alone\n%s\nwith the others\n%s", i, kinds[i], a, b)
			}
		}
	})
}
