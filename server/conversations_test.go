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

// site is a server on a file, as one process of several would be.
type site struct {
	store *sqlite.Store
	*server.Server
	web *httptest.Server
}

func startSite(t *testing.T, path string) *site {
	store := chattest.File(t, path)
	s := servertest.New(t, store, nil)
	return &site{store, s, servertest.Serve(t, s, nil)}
}

// stop ends the process in good order.
func (p *site) stop() {
	p.web.CloseClientConnections()
	p.web.Close()
	p.Close()
	p.Board.Close()
	_ = p.store.Close()
}

// talker is one conversation, wherever it makes its calls, and the lists that it wrote.
type talker struct {
	*chattest.Chat
	lists []string
}

// meta are the kinds of conversations: by what names one in _meta, all in one session; ""
// is a session of its own.
var meta = []string{`"todo-mcp/conversation":"c%d"`, `"threadId":"c%d"`, ""}

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
func (c *talker) act(t *testing.T, p *site, s step) string {
	chat := c.At(p.web.URL + "/mcp")
	switch {
	case s.what == "sub-agent":
		return listID.ReplaceAllString(chat.Agent("helper").Calls(s.tool, s.args).Text(), "ID")
	case s.what == "call":
		a := chat.Calls(s.tool, s.args)
		if list := a.List(); list != "" && !slices.Contains(c.lists, list) {
			c.lists = append(c.lists, list)
		}
		return listID.ReplaceAllString(a.Text(), "ID")
	case len(c.lists) == 0:
		return "nothing"
	}
	list := c.lists[s.n%len(c.lists)]
	if s.what == "resume" {
		_, open, _ := strings.Cut(chat.Resume(list).Text(), "Open:") // what comes before has the time in it
		return open
	}
	chattest.Write(t, p.store, "", todo.Write{Target: todo.Target{List: list}, Writer: todo.Writer{Person: true}, Change: func(d *todo.Draft) error {
		if n := len(d.Items()); n > 0 && s.n > 0 {
			d.SetStatus(d.Items()[s.n%n].ID, todo.Completed)
			return nil
		}
		d.Append("From the user")
		return nil
	}})
	return "edited"
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

// Two to five conversations with keys, in two processes on one file that restart in
// between, do whatever they do: each is answered and ends as it would alone.
func TestConversationsWithKeys(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type turn struct {
			who  int // -1 restarts a process
			step step
		}
		n := rapid.IntRange(2, 5).Draw(r, "conversations")
		kinds := rapid.SliceOfN(rapid.SampledFrom(meta), n, n).Draw(r, "kinds")
		turns := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) turn {
			return turn{rapid.IntRange(-1, n-1).Draw(r, "who"), drawStep(r)}
		}), 1, 30).Draw(r, "turns")
		// run lets the turns of some conversations happen, and returns what each
		// was answered.
		run := func(takesPart func(int) bool) map[int]string {
			path := filepath.Join(t.TempDir(), "todo.db")
			sites := []*site{startSite(t, path), startSite(t, path)}
			begin := func() *chattest.Chat {
				return chattest.OverHTTP(t, chattest.Session, "tester", sites[0].web.URL+"/mcp")
			}
			answers, talkers, shared := make(map[int]string), make(map[int]*talker), begin()
			for i, kind := range kinds {
				if !takesPart(i) {
					continue
				}
				if talkers[i] = (&talker{Chat: shared.With(kind, i)}); kind == "" {
					talkers[i].Chat = begin()
				}
			}
			for _, turn := range turns {
				at := turn.step.process
				if turn.who < 0 {
					sites[at].stop()
					sites[at] = startSite(t, path)
				} else if takesPart(turn.who) {
					answers[turn.who] += talkers[turn.who].act(t, sites[at], turn.step) + "\n---\n"
				}
			}
			for i, c := range talkers {
				last := c.At(sites[0].web.URL + "/mcp")
				for _, list := range c.lists {
					answers[i] += listID.ReplaceAllString(last.Asks("resources/read", `{"uri":"todo://lists/`+list+`"}`).Result.Contents[1].Text, "ID")
				}
				answers[i] += last.Calls("SetTodoList", `{}`).Text()
			}
			for _, p := range sites {
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
