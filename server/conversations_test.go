package server_test

import (
	"context"
	"encoding/json"
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

	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/edge"
	"todo-mcp/server/servertest"
	"todo-mcp/server/web"
	"todo-mcp/tools"
)

// instance is a server on the file at path, on stdio and over HTTP, as one
// process of several would be.
type instance struct {
	t      *testing.T
	path   string
	store  todo.Store
	server *server.Server
	board  *todo.Board
	pipe   *servertest.Pipe
	web    *httptest.Server
}

func startInstance(t *testing.T, path, client string) *instance {
	t.Helper()
	p := &instance{t: t, path: path}
	var err error
	if p.store, err = sqlite.Open(path); err != nil {
		t.Fatal(err)
	}
	p.board = todo.NewBoard(p.store)
	list, err := tools.New(tools.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	texts, err := prompts.New("")
	if err != nil {
		t.Fatal(err)
	}
	if p.server, err = server.New(server.Config{Board: p.board, Tools: list, Publish: []string{"all"}, Texts: texts, Dir: "/work/project", SessionKey: servertest.Key}); err != nil {
		t.Fatal(err)
	}
	handler, err := web.New(p.server, edge.Config{Board: p.board})
	if err != nil {
		t.Fatal(err)
	}
	p.web = httptest.NewServer(handler)
	p.pipe = servertest.NewPipe(t, p.server)
	go p.pipe.Send(servertest.Initialize(0, client))
	p.pipe.Read()
	return p
}

// stop ends the process in good order.
func (p *instance) stop() {
	p.pipe.In.Close()
	<-p.pipe.Done
	p.web.Close()
	p.server.Close()
	p.board.Close()
	p.store.Close()
}

// talker sends the messages of one conversation to a process.
type talker struct {
	name    string
	kind    string // "stdio" and "thread" name the conversation in _meta, "session" is an HTTP session, "shared" has no key
	agent   string // a sub-agent of it
	session string
}

func (c *talker) send(p *instance, message string) servertest.Answer {
	p.t.Helper()
	switch c.kind {
	case "session":
		url := p.web.URL + "/mcp"
		if c.session == "" {
			c.session = servertest.Session(p.t, url, "tester")
		}
		if c.agent != "" {
			message = servertest.WithMeta(message, fmt.Sprintf(`"todo-mcp/agent":%q`, c.agent))
		}
		_, _, body := servertest.Post(p.t, url, message, "Mcp-Session-Id", c.session)
		return servertest.Parse(p.t, body)
	case "thread", "stdio":
		key := map[string]string{"thread": "threadId", "stdio": "todo-mcp/conversation"}[c.kind]
		meta := fmt.Sprintf("%q:%q", key, c.name)
		if c.agent != "" {
			meta += fmt.Sprintf(`,"todo-mcp/agent":%q`, c.agent)
		}
		message = servertest.WithMeta(message, meta)
	}
	go p.pipe.Send(message)
	return p.pipe.Read()
}

func (c *talker) call(p *instance, tool, args string) string {
	p.t.Helper()
	a := c.send(p, servertest.Call(1, tool, args))
	if a.Error != nil {
		p.t.Fatalf("%s calls %s %s: %s", c.name, tool, args, a.Raw)
	}
	return a.Text()
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
	texts := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Run tests", "Write code", "Review", "Ship", "Plan", "Fix", "Docs"}), 0, 5, rapid.ID).Draw(t, "texts")
	items := []map[string]string{}
	for _, text := range texts {
		items = append(items, map[string]string{"title": text, "status": rapid.SampledFrom([]string{"pending", "in_progress", "done"}).Draw(t, "status")})
	}
	raw, _ := json.Marshal(map[string]any{"todos": items})
	return string(raw)
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
func (c *talker) act(processes []*instance, s step) string {
	p := processes[s.process]
	p.t.Helper()
	switch s.what {
	case "person", "resume":
		own := c.lists(p)
		if len(own) == 0 {
			return "nothing"
		}
		list := own[s.n%len(own)]
		if s.what == "person" {
			_, err := p.board.As("").Apply(context.Background(), todo.Write{Target: todo.Target{List: list.List.ID}, Writer: todo.Writer{Person: true},
				Change: func(d *todo.Draft) error {
					if n := len(d.Items()); n > 0 && s.n > 0 {
						d.SetStatus(d.Items()[s.n%n].ID, todo.Completed)
						return nil
					}
					d.Append("From the user")
					return nil
				}})
			if err != nil {
				p.t.Fatal(err)
			}
			return "edited"
		}
		a := c.send(p, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume","arguments":{"list":%q}}}`, list.List.ID))
		_, open, _ := strings.Cut(a.Raw, "Open:") // what comes before has the time in it
		return open
	case "sub-agent":
		sub := &talker{name: c.name, kind: c.kind, agent: "helper", session: c.session}
		text := sub.call(p, s.tool, s.args)
		c.session = sub.session
		return listID.ReplaceAllString(text, "ID")
	}
	return listID.ReplaceAllString(c.call(p, s.tool, s.args), "ID")
}

// lists returns the main lists that the conversation began, oldest first.
func (c *talker) lists(p *instance) []todo.Snapshot {
	all, err := p.store.Find(context.Background(), todo.Query{OldestFirst: true})
	if err != nil {
		p.t.Fatal(err)
	}
	key := c.key()
	own := slices.DeleteFunc(all, func(l todo.Snapshot) bool { return l.List.Conversation != key || l.List.Agent != "" })
	slices.SortStableFunc(own, func(a, b todo.Snapshot) int { return a.List.Created.Compare(b.List.Created) })
	return own
}

func (c *talker) key() string {
	switch c.kind {
	case "stdio":
		return "conversation:todo-mcp/conversation:" + c.name
	case "thread":
		return "conversation:threadId:" + c.name
	}
	return "session:" + server.Digest(c.session)
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
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
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
		run := func(takesPart func(int) bool) map[int][]string {
			path := filepath.Join(t.TempDir(), "todo.db")
			processes := []*instance{startInstance(t, path, "tester"), startInstance(t, path, "tester")}
			talkers := make([]*talker, n)
			for i := range talkers {
				talkers[i] = &talker{name: fmt.Sprint("c", i), kind: kinds[i]}
			}
			answers := make(map[int][]string)
			for _, turn := range turns {
				switch {
				case turn.who < 0:
					at := turn.step.process
					processes[at].stop()
					processes[at] = startInstance(t, path, "tester")
				case takesPart(turn.who):
					answers[turn.who] = append(answers[turn.who], talkers[turn.who].act(processes, turn.step))
				}
			}
			for i, c := range talkers {
				if !takesPart(i) {
					continue
				}
				if c.kind != "session" || c.session != "" {
					for _, l := range c.lists(processes[0]) {
						answers[i] = append(answers[i], fmt.Sprint(l.Archived, formatItems(l.Items)))
					}
				}
				answers[i] = append(answers[i], c.call(processes[0], "SetTodoList", `{}`))
			}
			for _, p := range processes {
				p.stop()
			}
			return answers
		}
		together := run(func(int) bool { return true })
		for i := range n {
			alone := run(func(who int) bool { return who == i })
			if a, b := strings.Join(alone[i], "\n---\n"), strings.Join(together[i], "\n---\n"); a != b {
				r.Fatalf("conversation %d (%s) alone\n%s\nwith the others\n%s", i, kinds[i], a, b)
			}
		}
	})
	t.Logf("%d runs", runs)
}

// Conversations without keys share a process, or a restarted one, of a client that puts
// several chats into one: no write drops an item of a list that another conversation
// wrote last, unless it keeps four fifths of that list's items (rule 4).
func TestConversationsWithoutKeys(t *testing.T) {
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		path := filepath.Join(t.TempDir(), "todo.db")
		p := startInstance(t, path, "cursor")
		defer func() { p.stop() }()
		wroteLast := map[string]int{} // list → conversation
		before := map[string]todo.Snapshot{}
		c := &talker{kind: "shared"}
		for range rapid.IntRange(2, 25).Draw(r, "writes") {
			if rapid.IntRange(0, 6).Draw(r, "restart") == 0 {
				p.stop()
				p = startInstance(t, path, "cursor")
			}
			who := rapid.IntRange(0, 3).Draw(r, "who")
			args := drawList(r)
			tool := "SetTodoList"
			if rapid.IntRange(0, 4).Draw(r, "adds") == 0 {
				tool, args = "create_todos", `{"items":["Added"]}`
			}
			c.call(p, tool, args)
			lists, err := p.store.Find(t.Context(), todo.Query{})
			if err != nil {
				r.Fatal(err)
			}
			for _, l := range lists {
				old, known := before[l.List.ID]
				before[l.List.ID] = l
				if known && old.Revision == l.Revision {
					continue
				}
				if last := wroteLast[l.List.ID]; known && last != who {
					checkNothingDropped(r, old, l, args)
				}
				wroteLast[l.List.ID] = who
			}
		}
	})
	t.Logf("%d runs", runs)
}

// checkNothingDropped fails if a write of another conversation dropped items
// without keeping four fifths of all.
func checkNothingDropped(r *rapid.T, old, now todo.Snapshot, args string) {
	kept := 0
	for _, item := range old.Items {
		if _, stays := now.Item(item.ID); stays {
			kept++
		}
	}
	if 5*kept < 4*len(old.Items) && args != `{"todos":[]}` {
		r.Fatalf("a write of another conversation\n%s\nmade of\n%s\nthis\n%s", args, formatItems(old.Items), formatItems(now.Items))
	}
}

// What a person changes is reported exactly once, whatever the agent does in
// between and however often its process restarts, and not if the agent read it.
// A write that was made without knowing it does not undo it.
func TestPersonsEditsAreReportedOnce(t *testing.T) {
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		path := filepath.Join(t.TempDir(), "todo.db")
		p := startInstance(t, path, "tester")
		defer func() { p.stop() }()
		c := &talker{name: "c", kind: rapid.SampledFrom([]string{"stdio", "thread", "session"}).Draw(r, "kind")}
		c.call(p, "SetTodoList", `{"todos":[{"title":"Work","status":"in_progress"},{"title":"Rest","status":"pending"}]}`)
		known := []string{"Work", "Rest"} // the texts that the agent knows
		var unseen, told []string
		edits := 0
		for range rapid.IntRange(1, 20).Draw(r, "steps") {
			switch what := rapid.SampledFrom([]string{"edit", "write", "same", "add", "read", "restart"}).Draw(r, "what"); what {
			case "edit":
				if len(unseen) == 5 {
					continue // an answer names six at most
				}
				edits++
				text := fmt.Sprint("Person ", edits)
				if _, err := p.board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{List: c.lists(p)[0].List.ID}, Writer: todo.Writer{Person: true},
					Change: func(d *todo.Draft) error { d.Append(text); return nil }}); err != nil {
					r.Fatal(err)
				}
				unseen = append(unseen, text)
			case "restart":
				p.stop()
				p = startInstance(t, path, "tester")
			default:
				answer := c.agentActs(r, p, what, &known)
				for n := range edits {
					text := fmt.Sprint("Person ", n+1)
					reported := strings.Contains(answer, fmt.Sprintf("added %q", text))
					if want := what != "read" && slices.Contains(unseen, text); reported != want {
						r.Fatalf("%q was reported: %v, want %v, told before: %v\n%s", text, reported, want, slices.Contains(told, text), answer)
					}
				}
				list := c.lists(p)[0]
				for _, text := range unseen {
					if !slices.ContainsFunc(list.Items, func(i todo.Item) bool { return i.Text == text }) {
						r.Fatalf("%q was undone by a write made without knowing it", text)
					}
				}
				known, told, unseen = append(known, unseen...), append(told, unseen...), nil
			}
		}
	})
	t.Logf("%d runs", runs)
}

// agentActs lets the agent do something with the list as it knows it, and
// returns the answer.
func (c *talker) agentActs(r *rapid.T, p *instance, what string, known *[]string) string {
	switch what {
	case "add":
		text := fmt.Sprint("Added ", rapid.IntRange(0, 1_000_000).Draw(r, "added"))
		*known = append(*known, text)
		return c.call(p, "create_todos", fmt.Sprintf(`{"items":[%q]}`, text))
	case "read":
		return c.call(p, "SetTodoList", `{}`)
	case "write":
		keep := slices.Clone(*known)
		*known = slices.DeleteFunc(keep, func(text string) bool { return text != "Work" && rapid.Bool().Draw(r, "drop "+text) })
	}
	items := []map[string]string{}
	for _, text := range *known {
		items = append(items, map[string]string{"title": text, "status": map[bool]string{true: "in_progress", false: "pending"}[text == "Work"]})
	}
	raw, _ := json.Marshal(map[string]any{"todos": items})
	return c.call(p, "SetTodoList", string(raw))
}

func formatItems(items []todo.Item) (out string) {
	for _, i := range items {
		out += "[" + i.ID + " " + i.Text + " " + string(i.Status) + "]"
	}
	return out
}
