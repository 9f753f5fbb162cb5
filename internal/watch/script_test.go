package watch

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "rewrite the frames in the scripts")

// TestScripts plays the scripts in testdata/scripts ([chattest.Scene]). Below a line of commands,
// "command | command", are the effects that the viewer must carry out, as "-> edit …", and the
// frame; see script.run for the commands.
func TestScripts(t *testing.T) {
	chattest.Scenes(t, "testdata/scripts/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		s := &script{t: t}
		scene.Play(t, nil, func(commands string, _ bool) (string, error) { return s.step(commands), nil })
	})
}

type script struct {
	t       *testing.T
	m       *model
	sent    edit // the last edit
	painted bool // write the roles of texts, too
	last    bool // write only the last line of the frame
	out     strings.Builder
}

func (s *script) step(commands string) string {
	s.out.Reset()
	s.painted, s.last = false, false
	for command := range strings.SplitSeq(commands, " | ") {
		name, rest, _ := strings.Cut(command, " ")
		s.run(name, rest)
		s.effects(s.m.take())
	}
	lines := s.m.frame()
	checktest.Same(s.t, commands, len(lines), s.m.height)
	if s.last {
		lines = lines[len(lines)-1:]
	}
	for _, flat := range lines {
		if render.Cells(flat) > s.m.width {
			s.t.Errorf("%s: line of %d cells on a screen of %d: %s", commands, render.Cells(flat), s.m.width, flat)
		}
		for r := plainText; r <= struck; r++ {
			shown := ""
			if s.painted {
				shown = fmt.Sprint("␛", r-plainText)
			}
			flat = strings.ReplaceAll(flat, string(r), shown)
		}
		s.out.WriteString(strings.TrimRight(flat, " ") + "\n")
	}
	return s.out.String()
}

func (s *script) run(name, rest string) {
	m, fixture := s.m, func() []todo.Snapshot {
		lists, ok := fixtures()[rest]
		if !ok {
			s.t.Fatalf("%s: no lists are called %q", name, rest)
		}
		return lists
	}
	switch name {
	case "wait": // no lists came yet; rest names the list to open, or is empty
		s.m = newModel(Options{List: rest})
		s.m.tick(noon())
		s.m.sourceName = "todo.db"
	case "open": // lists whose agents are present
		s.m = modelWith(80, 24, fixture()...)
	case "start": // with the list that listOf reads, or with none
		s.m = modelWith(80, 24, listOf(rest)...)
	case "send":
		m.receiveLists(listOf(rest), false)
	case "resend": // the list is now the only one
		m.receiveLists(listOf(rest), true)
	case "size":
		fmt.Sscanf(rest, "%dx%d", &m.width, &m.height)
	case "press":
		for k := range strings.FieldsSeq(rest) {
			m.press(cmp.Or(map[string]key{"Space": " "}[k], key(k)))
			s.effects(m.take())
		}
	case "receive":
		m.receiveLists(fixture(), false)
	case "replace":
		m.receiveLists(fixture(), true)
	case "history": // the history of a list
		m.showHistory(fixture(), nil)
	case "select":
		m.board.cursor = rest
	case "lose":
		m.lost = errors.New(rest)
	case "later":
		d, err := time.ParseDuration(rest)
		checktest.Check(s.t, err)
		m.tick(m.now.Add(d))
	case "ask": // the agent of a list asks
		id, question, _ := strings.Cut(rest, " ")
		standings := maps.Clone(m.standings)
		standings[id] = standing(todo.Waiting, question)
		m.receiveStandings(standings)
	case "chat": // a list becomes that of a chat of Claude Code
		l := m.lists[rest]
		l.List.Client, l.List.Chat, l.Writer = "claude-code", "4f1c", todo.Writer{}
		m.lists[rest] = l
	case "archive": // a list, or all
		for id, l := range maps.Clone(m.lists) {
			if rest == "" || rest == id {
				l.Archived = true
				m.lists[id] = l
			}
		}
	case "stand":
		id, state, _ := strings.Cut(rest, " ")
		m.standings[id] = standing(todo.State(state), "")
	case "made": // the last edit was made
		before := m.lists[s.sent.list]
		after := before
		after.Revision++
		after.Writer.Person = true
		m.edited(s.sent, before, board.Outcome{After: after, Changed: true}, nil)
	case "refused":
		m.edited(s.sent, m.lists[s.sent.list], board.Outcome{}, errors.New(rest))
	case "saw": // the agent saw all but the last revision of a list
		revisions := fixture()
		n := len(revisions)
		m.standings[rest] = account.ListState{Standing: todo.Standing{State: todo.Working}, Edits: account.EditsOf(revisions[n-2], revisions[n-1])}
	case "painted":
		s.painted = true
	case "last":
		s.last = true
	default:
		s.t.Fatalf("no command is called %q", name)
	}
}

func (s *script) effects(e effect) {
	if e.editor != nil {
		fmt.Fprintf(&s.out, "-> editor %s\n", e.editor.List.ID)
	}
	if e.edit != nil {
		s.sent = *e.edit
		data := checktest.Must(json.Marshal(e.edit.Edit))(s.t)
		fmt.Fprintf(&s.out, "-> edit %s %s\n", e.edit.list, data)
	}
	if e.bell {
		s.out.WriteString("-> bell\n")
	}
	if e.history != "" {
		fmt.Fprintf(&s.out, "-> history %q\n", e.history)
	}
	if e.copy != "" {
		fmt.Fprintf(&s.out, "-> copy %s\n", e.copy)
	}
	if e.quit || e.redraw {
		fmt.Fprintf(&s.out, "-> quit %v, redraw %v\n", e.quit, e.redraw)
	}
}

// listOf reads a list as "id revision PLAN", with the plan in short form. "*" before the id: by a person;
// "/": of a sub-agent. A bar in an item's text begins the item's reason.
func listOf(text string) []todo.Snapshot {
	if text == "" {
		return nil
	}
	parts := strings.SplitN(text, " ", 3)
	revision, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		panic(err)
	}
	s := list(strings.TrimLeft(parts[0], "*/"), revision, revision, 0, parts[2])
	s.Writer.Person = strings.HasPrefix(parts[0], "*")
	if strings.HasPrefix(parts[0], "/") {
		s = subList(s, "main")
	}
	return []todo.Snapshot{s}
}

func fixtures() map[string][]todo.Snapshot {
	long := "i:the forty-first, whose text is so long that it takes more than a line"
	away := list("away", 2, 2, time.Hour, "c:a c:b p:c")
	away.Archived = true
	replaced, filling, bare := list("old plan", 1, 2, 0, "p:a"), list("filling", 2, 1, 0, ""), list("bare", 3, 1, 0, "")
	replaced.Archived, replaced.ReplacedBy = true, "next plan"
	var forty []todo.Snapshot
	for i := range 40 {
		forty = append(forty, list(fmt.Sprintf("list%02d", i), int64(i), 1, 0, "i:x"))
	}
	fresh := list("fresh", 100, 1, 0, "i:new")
	fresh.List.Created = noon().Add(-2 * time.Hour)
	return map[string][]todo.Snapshot{
		"none":     nil,
		"example":  exampleLists(),
		"release":  releaseHistory(),
		"gone":     {list("gone", 1, 1, 0, "p:x")},
		"away":     {away},
		"words":    {list("long", 1, 1, 0, "i:"+strings.Repeat("many words ", 20))},
		"long":     {list("long", 1, 1, 0, numbered(40, "c")+long+" "+numbered(20, "p"))},
		"old":      {list("old", 6, 2, 50*time.Hour, "c:long ago"), list("older", 5, 2, 80*time.Hour, "c:longer ago")},
		"plans":    {replaced, filling, bare, list("next plan", 4, 1, 0, "p:b")},
		"forty":    forty,
		"fresh":    {fresh},
		"group":    {list("main", 1, 1, 0, "p:Ship"), subList(list("helper", 2, 1, 0, "i:look"), "main"), list("other", 3, 1, 0, "p:Rest")},
		"handed":   handedHistory(),
		"mirrored": {mirrored()},
	}
}

// handedHistory has the revisions of a list whose items and order a person changed;
// an agent overrode some of these changes.
func handedHistory() []todo.Snapshot {
	const when, everybody = "Ship when Ann says so", "Celebrate with everybody who helped"
	h := []todo.Snapshot{
		list("handed", 20, 1, time.Hour, "i:Write tests p:Ship p:Celebrate"),
		list("handed", 21, 2, 50*time.Minute, "i:Write tests p:"+when+" p:"+everybody),
		list("handed", 22, 3, 40*time.Minute, "i:Write tests p:Ship p:"+everybody),
		list("handed", 23, 4, 4*time.Minute, "c:Write tests p:Ship p:"+everybody),
	}
	for i := range h {
		h[i].Writer.Person = i%2 == 1
		if i > 0 {
			h[i].Items[1].PersonEdit = todo.PersonEdit{Text: when, Replaced: "Ship", Revision: 2}
			h[i].Items[2].PersonEdit = todo.PersonEdit{Text: everybody, Replaced: "Celebrate", Revision: 2}
		}
	}
	h[3].Order = todo.PersonEdit{Text: "3,1,2", Revision: 2}
	return h
}

// mirrored is a list that its agent keeps in its host's own todo tool.
func mirrored() todo.Snapshot {
	s := list("mirrored", 1, 2, time.Minute, "i:Write p:Ship")
	s.List.Mirrored = true
	s.Items[1].Owner, s.Items[1].WaitsFor = "reader", "1"
	return s
}

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// list returns a snapshot of a plan in short form, written at noon minus ago. A bar in a text begins the reason.
func list(id string, seq, revision int64, ago time.Duration, plan string) todo.Snapshot {
	s := todo.Snapshot{List: todo.List{ID: id, Name: id, Client: "claude-code", Workspace: "/src/acme-web", Created: noon().Add(-ago - time.Hour)},
		Revision: revision, Seq: seq, Updated: noon().Add(-ago), Worked: noon().Add(-ago), Writer: todo.Writer{Client: "claude-code", Variant: "TodoWrite"}}
	for i, item := range chattest.ParsePlan(strings.TrimSpace(plan)) {
		item.ID = fmt.Sprint(i + 1)
		item.Text, item.Reason, _ = strings.Cut(item.Text, "|")
		if item.Status == todo.InProgress {
			item.Started = s.Updated
		}
		if item.Status == todo.Completed {
			item.Started, item.Ended = s.Updated.Add(-5*time.Minute), s.Updated
		}
		s.Items = append(s.Items, item)
	}
	return s
}

func inFolder(folder string, s todo.Snapshot) todo.Snapshot {
	s.List.Workspace = folder
	return s
}

func subList(s todo.Snapshot, parent string) todo.Snapshot {
	s.List.Parent, s.List.Agent, s.List.Name = parent, s.List.ID, ""
	return s
}

// numbered returns a plan in short form of n steps, with a space at the end for more items.
func numbered(n int, status string) (plan string) {
	for i := range n {
		plan += fmt.Sprintf("%s:step %d ", status, i+1)
	}
	return plan
}

// releaseHistory returns the revisions of one list; the second is a person's.
func releaseHistory() []todo.Snapshot {
	h := []todo.Snapshot{
		list("release", 1, 1, time.Hour, "i:Write tests p:Ship p:Celebrate"),
		list("release", 4, 2, 20*time.Minute, "c:Write tests i:Ship p:Celebrate"),
		list("release", 9, 3, 4*time.Minute, "c:Write tests i:Ship 发布 🚀"),
	}
	h[1].Writer = todo.Writer{Client: "todo-mcp", Variant: "watch", Person: true}
	h[2].Items = append(h[2].Items, todo.Item{ID: "4", Text: "Tell everybody", Status: todo.Pending})
	return h
}

func exampleLists() []todo.Snapshot {
	return []todo.Snapshot{
		releaseHistory()[2],
		list("website", 8, 5, 2*time.Hour, numbered(12, "c")+"i:build the footer p:check it"),
		inFolder("/src/billing-api", list("為替レートのキャッシュを追加する", 12, 2, 90*time.Second, "c:調べる i:テストを書く p:仕上げる")),
		inFolder("/src/billing-api", list("flaky", 11, 2, 6*time.Minute, "c:Reproduce b:Decide|Which browser may go? p:Mend")),
		list("settled", 7, 2, 3*time.Hour, numbered(9, "c")),
		list("half", 13, 2, 2*time.Hour, "c:a f:b x:c"),
		list("old", 6, 2, 50*time.Hour, "c:long ago"),
		inFolder("/src/vendors", list("forgotten", 5, 2, 90*time.Hour, "i:still open p:never begun")),
		subList(list("researcher", 10, 1, time.Minute, "f:find more i:read the papers p:sum up"), "release"),
		subList(list("reviewer", 3, 1, 30*time.Minute, "c:review"), "release"),
	}
}

// modelWith returns a model of lists whose agents are present, except that of the list "forgotten".
func modelWith(width, height int, lists ...todo.Snapshot) *model {
	m := newModel(Options{})
	m.tick(noon())
	m.width, m.height, m.sourceName = width, height, "todo.db"
	m.receiveStandings(map[string]account.ListState{"forgotten": standing(todo.LeftOpen, "")})
	m.receiveLists(lists, true)
	return m
}

func standing(state todo.State, asks string) account.ListState {
	return account.ListState{Standing: todo.Standing{State: state, Asks: asks}}
}

// unpainted returns a text without its roles.
func unpainted(text string) string {
	return strings.Map(func(r rune) rune {
		if isRole(r) {
			return -1
		}
		return r
	}, text)
}

// wrap breaks texts at spaces, and texts without spaces between characters.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"漢字漢字漢字", 5, []string{"漢字", "漢字", "漢字"}},
		{"a b c d e f g h", 3, []string{"a b", "c d", "e …"}},
		{"漢", 1, []string{"…"}},
		{"", 5, []string{""}},
	} {
		checktest.Same(t, fmt.Sprintf("%q in %d (-want +got)", c.text, c.width), gocmp.Diff(c.want, wrap(c.text, c.width, maxWrapped)), "")
	}
}

// No key has two bindings in one place.
func TestBindings(t *testing.T) {
	for _, p := range []place{onBoard, onList, onPage} {
		seen := map[string]string{}
		for _, b := range bindings() {
			for k := range strings.FieldsSeq(b.keys) {
				if b.where&p != 0 && seen[k] != "" {
					t.Errorf("%q means %q and %q", k, seen[k], b.help)
				} else if b.where&p != 0 {
					seen[k] = b.help + " "
				}
			}
		}
	}
}
