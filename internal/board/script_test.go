package board_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "write what the scripts print into them")

// script is a desk that plays the scenes of testdata. Lists are numbered in the order in which they appear.
type script struct {
	*desk
	chats map[string]chat
	ids   []string
	edits int       // number of people's edits so far
	edit  todo.Edit // the last of these edits
	of    string    // the id of its list

	followed map[string]*board.Chain
}

// TestChatScripts plays the scenes in testdata ([chattest.Scene]) (T5, H2, BAD-INPUT 106, 57). Commands:
//
//	a b = proof               two conversations with a key each
//	a = hint p2 chat=x        a conversation in process p2; its key may later mean another chat
//	a writes i:A p:B/Doing    a write of a whole list: a plan in short form, with active texts
//	a adds C @1               adds an item, to list 1 instead of the chat's own
//	person text 1.2 Z @3      an edit of list 1, or of its item 2, by a person who saw its revision
//	                          3; each edit is sent twice, as if the first had no answer
//	repeat !                  sends the last edit again, with "!" appended to its text
//	follow x 1                a front end, x, begins to follow list 1
//	a says asks push?         a hook says that a's agent asks "push?"
//	list 1, lists, follows x, states, unseen 1, wait 1h, stop p1, archive-after 24h
//
// A write prints the number and the revision of the list, its items and the answer.
func TestChatScripts(t *testing.T) {
	chattest.Scenes(t, "testdata/*.txtar", *update, func(t *testing.T, scene chattest.Scene) {
		s := newScript(t)
		scene.Play(t, nil, func(command string, _ bool) (string, error) { return s.run(strings.Fields(command)), nil })
	})
}

func newScript(t *testing.T) *script {
	return &script{desk: newDesk(t), chats: make(map[string]chat), followed: make(map[string]*board.Chain)}
}

func (s *script) run(words []string) string {
	if i := slices.Index(words, "="); i > 0 {
		for _, name := range words[:i] {
			s.chats[name] = s.conversation(name, words[i+1:])
		}
		return ""
	}
	switch words[0] {
	case "stop":
		s.stop(words[1])
	case "wait":
		by := must(time.ParseDuration(words[1]))(s.t)
		s.now = s.now.Add(by)
	case "archive-after":
		s.archiveAfter = must(time.ParseDuration(words[1]))(s.t)
	case "import":
		items := []todo.Item{{ID: "1", Text: words[1], Status: todo.Pending}}
		l := must(s.save(todo.Snapshot{List: todo.List{ID: "imported"}, Revision: 1, Items: items}))(s.t)
		s.number(l.List.ID)
	case "lists":
		return strings.Join(s.all(), " | ")
	case "list":
		return s.details(s.load(words[1]))
	case "states":
		return s.states()
	case "group":
		lists := s.board("viewer").As("")
		subs, _, err := lists.Together(s.t.Context(), s.load(words[1]))
		checkErr(s.t, err)
		chain := must(lists.Chain(s.t.Context(), s.id(words[1])))(s.t)
		out := fmt.Sprint("followed by ", s.number(chain.Newest), "; sub-agents")
		for _, l := range subs {
			out += fmt.Sprint(" ", s.number(l.List.ID))
		}
		return out
	case "follow":
		s.followed[words[1]] = must(s.board("viewer").As("").Chain(s.t.Context(), s.id(words[2])))(s.t)
	case "follows":
		return s.follows(s.followed[words[1]])
	case "unseen":
		l := s.load(words[1])
		return differences(todo.Diff(must(s.board("viewer").As("").Saw(s.t.Context(), l))(s.t), l))
	case "person":
		return s.person(words[1], words[2], words[3:])
	case "repeat":
		s.edit.Text += strings.Join(words[1:], " ")
		return s.sends()
	default:
		c, ok := s.chats[words[0]]
		if !ok {
			s.t.Fatalf("nobody is called %q", words[0])
		}
		return s.calls(c, words[1], words[2:])
	}
	return ""
}

func (s *script) states() string {
	var all []todo.Snapshot
	for n := range s.ids {
		all = append(all, s.load(fmt.Sprint(n+1)))
	}
	lists := s.board("viewer").As("")
	states := must(lists.States(s.t.Context(), all...))(s.t)
	var out []string
	for n, l := range all {
		alone := must(lists.States(s.t.Context(), l))(s.t)
		state := states[l.List.ID]
		checktest.Same(s.t, fmt.Sprintf("list %d is", n+1), alone[l.List.ID], state)
		checktest.Same(s.t, fmt.Sprintf("list %d asks since %s: %+v", n+1, state.Since, state), state.Since.IsZero(), state.Asks == "")
		out = append(out, strings.TrimSpace(fmt.Sprint(n+1, " ", state.State, " ", state.Asks)))
	}
	return strings.Join(out, ", ")
}

func (s *script) conversation(name string, words []string) chat {
	process := "p1"
	if len(words) > 1 && !strings.Contains(words[1], "=") {
		process = words[1]
	}
	c := s.proof(name)
	switch words[0] {
	case "hint":
		c = s.hint(process, "process:"+process)
	case "shared":
		c = s.shared(process)
	}
	c.process = process
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "key":
			c.who.Key = value
		case "name":
			c.who.Name = value
		case "chat":
			c.who.Chat, c.who.Key = value, "chat:"+value
		case "takes":
			c.who.Takes = value
		case "client":
			c.who.Client = value
		case "workspace":
			c.who.Workspace = value
		case "agent":
			c.who.Agent = value
		case "parent":
			c.who.Parent = value
		case "mirrors":
			c.who.Mirrors = true
		case "lasts":
			c.who.Lasts, c.who.Detached = time.Hour, value == "detached"
		}
	}
	return c
}

// follows returns the lists that a front end follows, and the list that was the newest when it began to follow.
func (s *script) follows(chain *board.Chain) string {
	out := ""
	for n := range s.ids {
		if chain.Has(s.load(fmt.Sprint(n + 1)).List) {
			out += fmt.Sprint(n+1, " ")
		}
	}
	return out + fmt.Sprint("from ", slices.Index(s.ids, chain.Newest)+1)
}

// load returns a list as a board shows it or, if it is deleted, as the store has it.
func (s *script) load(number string) todo.Snapshot {
	l, err := s.board("viewer").As("").Load(s.t.Context(), s.id(number), 0)
	if errors.Is(err, board.ErrNotFound) {
		l, err = s.store.Load(s.t.Context(), s.id(number), 0)
	}
	checkErr(s.t, err)
	return l
}

func (s *script) id(number string) string {
	if n, err := strconv.Atoi(number); err == nil {
		return s.ids[n-1]
	}
	return number // an id that no list has
}

func (s *script) number(id string) int {
	if id != "" && !slices.Contains(s.ids, id) {
		s.ids = append(s.ids, id)
	}
	return slices.Index(s.ids, id) + 1
}

func (s *script) calls(c chat, verb string, words []string) string {
	target := board.Target{View: todo.CoreView()}
	target.View.Active = slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "/") })
	if n := len(words); n > 0 && words[n-1][0] == '@' {
		target.List, words = s.id(words[n-1][1:]), words[:n-1]
	}
	lines := parseLines(strings.Join(words, " "))
	var change todo.Change
	switch verb {
	case "reads":
		target.Conversation = c.who
		l, err := c.lists().Show(s.t.Context(), target)
		if errors.Is(err, board.ErrNotFound) {
			return "none"
		}
		checkErr(s.t, err)
		return cmp.Or(show(l), "an empty list")
	case "says":
		must(c.lists().Hear(s.t.Context(), c.who, func(c *todo.Chat, at time.Time) { c.Says(todo.Doing(words[0]), strings.Join(words[1:], " "), at) }))(s.t)
		return ""
	case "ends":
		must(c.lists().Hear(s.t.Context(), c.who, func(c *todo.Chat, at time.Time) { c.End("other", at) }))(s.t)
		return ""
	case "news":
		target.Conversation = c.who
		l, news, err := c.lists().News(s.t.Context(), target, true)
		return s.outcome(board.Outcome{After: l, Report: news}, err)
	case "resumes":
		checkErr(s.t, c.lists().SetCurrent(s.t.Context(), c.who, s.load(words[0])))
		return ""
	case "stays":
		checkErr(s.t, c.lists().Stay(s.t.Context(), c.who))
		return ""
	case "leaves":
		checkErr(s.t, c.lists().Leave(s.t.Context(), c.who))
		return ""
	case "writes":
		target.Lines = lines
		change = func(d *todo.Draft) error { d.Replace(target.View, lines); return nil }
	case "suggests":
		c.title, target.Lines = words[0], parseLines(strings.Join(words[1:], " "))
		change = func(d *todo.Draft) error { d.Replace(target.View, target.Lines); return nil }
	case "patches":
		target.Lines = lines
		change = func(d *todo.Draft) error { d.Put(target.View, lines...); return nil }
	case "adds":
		target.Append = true
		change = add(words...)
	case "sets":
		target.Item = words[0]
		change = setStatus(words[0], todo.Status(words[1]))
	default:
		s.t.Fatalf("no verb %q", verb)
	}
	return s.outcome(c.apply(target, change))
}

// person makes an edit of a list, "1", or of one of its items, "1.2", as a person who saw the
// revision "@3". "1.later2" is the second waiting item.
func (s *script) person(kind, of string, words []string) string {
	list, item, _ := strings.Cut(of, ".")
	if n, waits := strings.CutPrefix(item, "later"); waits {
		item = s.load(list).Later[number(n)-1].ID
	}
	s.edits++
	e := todo.Edit{Do: todo.EditKind(kind), Item: item, Operation: fmt.Sprint("edit ", s.edits)}
	if n := len(words) - 1; n >= 0 && words[n][0] == '@' {
		e.Seen, words = number(words[n][1:]), words[:n]
	}
	e.Text = strings.Join(words, " ")
	if text, err := strconv.Unquote(e.Text); err == nil {
		e.Text = text
	}
	switch e.Do {
	case "later":
		e.Do, e.After = todo.EditAdd, true
	case todo.EditStatus:
		e.Status, e.Text = todo.Status(e.Text), ""
	case todo.EditMove:
		e.To, e.Text = int(number(e.Text)), ""
	case todo.EditItems:
		lines, later, waits := strings.Cut(e.Text, "|")
		if e.Lines, e.Text = parseLines(lines), ""; waits {
			e.Later = strings.Fields(later)
		}
	case todo.EditRestore:
		e.Revision, e.Text = number(e.Text), ""
	case todo.EditUndo:
		e.From, e.Seen, e.Text = number(words[0]), number(words[1]), ""
	}
	s.edit, s.of = e, s.id(list)
	return s.sends()
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// sends sends the last edit twice, as a page does that got no answer.
func (s *script) sends() string {
	lists := s.board("person").As("")
	out, err := lists.Edit(s.t.Context(), s.of, s.edit, person())
	again, err2 := lists.Edit(s.t.Context(), s.of, s.edit, person())
	if (err == nil) != (err2 == nil) || again.Changed || again.After.Revision != out.After.Revision || out.Changed && !out.After.Writer.Person {
		s.t.Errorf("%+v, sent twice: %+v, %v", s.edit, again, err2)
	}
	return s.outcome(out, err)
}

// outcome returns the result of a write as text: the list, and all parts of the answer.
func (s *script) outcome(out board.Outcome, err error) string {
	if err != nil {
		text := err.Error()
		for n, id := range s.ids {
			text = strings.ReplaceAll(text, id, fmt.Sprint("list ", n+1))
		}
		return "refused: " + text
	}
	after := out.After
	parts := []string{fmt.Sprintf("%d r%d: %s", s.number(after.List.ID), after.Revision, cmp.Or(show(after), "empty"))}
	say := func(format string, said bool, args ...any) {
		if said {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	r := out.Report
	say("unchanged", !out.Changed)
	say("repeated", out.Repeated)
	say("archived", after.Archived)
	say("deleted", after.Deleted)
	say("later%s", len(after.Later) > 0, later(after))
	say("dropped %s", len(r.Dropped) > 0, texts(r.Dropped))
	say("%s %s", len(r.Unseen) > 0, r.By, differences(r.Unseen))
	say("ordered %s", len(r.Ordered) > 0, strings.Join(r.Ordered, " "))
	say("titled %s", r.Titled != "", r.Titled)
	say("kept %s", len(r.Kept) > 0, differences(r.Kept))
	say("continues %s", r.Continues != "", r.Continues)
	say("put away %s with %s", r.PutAway.Title != "", r.PutAway.Title, texts(r.PutAway.Open))
	say("of list %d", r.Elsewhere != "", s.number(r.Elsewhere))
	return strings.Join(parts, "; ")
}

func (s *script) details(l todo.Snapshot) string {
	out := fmt.Sprintf("%q r%d:", l.Title(), l.Revision)
	for _, i := range l.Items {
		out += " " + chattest.ShowPlanIDs([]todo.Item{i})
		if i.Active != "" {
			out += "/" + i.Active
		}
		if i.Reason != "" {
			out += "(" + i.Reason + ")"
		}
		if i.Overridden() {
			out += "(overrides " + i.PersonEdit.Text + ")"
		}
	}
	flags := []string{}
	for name, of := range map[string]string{"replaced by": l.ReplacedBy, "after": l.List.Previous, "parent": l.List.Parent} {
		if of != "" {
			flags = append(flags, fmt.Sprint(name, " ", s.number(of)))
		}
	}
	for name, is := range map[string]bool{"archived": l.Archived, "deleted": l.Deleted,
		"lapsed": l.Lapsed, "order overridden": l.OrderOverridden(), "on the board": l.OnBoard(s.now)} {
		if is {
			flags = append(flags, name)
		}
	}
	if len(l.Later) > 0 {
		flags = append(flags, "later"+later(l))
	}
	slices.Sort(flags)
	return out + "; " + strings.Join(flags, ", ")
}

func texts(items []todo.Item) string { return strings.TrimSpace(show(todo.Snapshot{Items: items})) }

func differences(all []todo.Difference) string {
	var out []string
	for _, d := range all {
		text := string(d.Kind)
		for _, i := range []todo.Item{d.Before, d.After} {
			if i.ID != "" {
				text += " " + texts([]todo.Item{i})
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// desk is several processes on one store, each with a board. Tests call its methods to act as
// conversations.
type desk struct {
	t      *testing.T
	store  board.Store
	now    time.Time
	boards map[string]*board.Board

	archiveAfter time.Duration
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, store: storetest.NewMemory(), now: time.Now().UTC().Truncate(time.Second), boards: map[string]*board.Board{}}
	t.Cleanup(func() {
		for name := range d.boards {
			d.stop(name)
		}
	})
	return d
}

func (d *desk) save(next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = d.store.Update(context.Background(), board.Key{Chat: next.List.ID}, func(tx board.Tx) error {
		saved, err = tx.Save(context.Background(), next)
		return err
	})
	return saved, err
}

func (d *desk) board(process string) *board.Board {
	if d.boards[process] == nil {
		d.boards[process] = board.NewBoard(d.store, board.WithClock(func() time.Time { return d.now }), board.WithArchiveAfter(d.archiveAfter))
	}
	return d.boards[process]
}

func (d *desk) stop(process string) {
	d.boards[process].Close()
	delete(d.boards, process)
}

type chat struct {
	*desk
	process string
	who     board.Conversation
	title   string // what its host calls the list
}

// proof returns a conversation with a key of its own; hint returns one whose key may stand
// for another chat than before; shared returns one whose key several chats have.
func (d *desk) proof(key string) chat {
	return chat{desk: d, process: "p1", who: board.Conversation{Key: key}}
}

func (d *desk) hint(process, key string) chat {
	return chat{desk: d, process: process, who: board.Conversation{Key: key, Hint: true, Client: "cli", Workspace: "/w"}}
}

func (d *desk) shared(process string) chat {
	c := d.hint(process, "process:"+process)
	c.who.Shared = true
	return c
}

// parseLines reads a plan in short form, with active texts behind a slash. Other text becomes a line without a status.
func parseLines(plan string) []todo.Line {
	lines, plan := []todo.Line{}, strings.TrimSpace(plan)
	for _, i := range chattest.ParsePlan(plan) {
		text, active, _ := strings.Cut(i.Text, "/")
		lines = append(lines, todo.Line{ID: i.ID, Text: text, Active: active, Status: string(i.Status)})
	}
	if plan != "" && len(lines) == 0 {
		lines = append(lines, todo.Line{Text: plan})
	}
	return lines
}

func show(s todo.Snapshot) string { return chattest.ShowPlan(s.Items) }

func (c chat) lists() board.Lists { return c.board(c.process).As("") }

func (c chat) apply(target board.Target, change todo.Change) (board.Outcome, error) {
	c.t.Helper()
	target.Conversation = c.who
	return c.lists().Apply(context.Background(), board.Write{Target: target, Title: c.title, Change: change})
}

func (c chat) writes(list string) board.Outcome {
	c.t.Helper()
	view := todo.CoreView()
	view.Active = false
	lines := parseLines(list)
	out, err := c.apply(board.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
	if err != nil {
		c.t.Fatalf("%s writes %q: %v", c.who.Key, list, err)
	}
	return out
}

func whole(who board.Conversation, lines ...todo.Line) board.Write {
	return board.Write{Target: board.Target{Conversation: who, Lines: lines, View: todo.CoreView()}, Writer: todo.Writer{Client: who.Client},
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }}
}

func (c chat) reads() string {
	c.t.Helper()
	s, err := c.lists().Show(context.Background(), board.Target{Conversation: c.who})
	if errors.Is(err, board.ErrNotFound) {
		return "none"
	}
	checkErr(c.t, err)
	return show(s)
}

func (d *desk) personEdits(list string, change todo.Change) {
	d.t.Helper()
	w := board.Write{Target: board.Target{List: list}, Writer: todo.Writer{Person: true}, Change: change}
	must(d.board("person").As("").Apply(context.Background(), w))(d.t)
}

func setStatus(id string, s todo.Status) todo.Change {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

func (d *desk) all() (out []string) {
	for _, l := range must(d.store.Find(context.Background(), board.Query{}))(d.t) {
		out = append(out, show(l))
	}
	return out
}

func reword(id, text string) todo.Change {
	return func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditText, Item: id, Text: text}) }
}

func person() todo.Writer { return todo.Writer{Client: "panel", Person: true} }

func checkErr(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(tester) T {
	return func(t tester) T { t.Helper(); checkErr(t, err); return v }
}

// tester is a test, also one that rapid repeats.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func newBoard(t testing.TB, store board.Store, options ...board.Option) *board.Board {
	b := board.NewBoard(store, options...)
	t.Cleanup(b.Close)
	return b
}

func apply(t testing.TB, b *board.Board, w board.Write) board.Outcome {
	t.Helper()
	return must(b.As("").Apply(context.Background(), w))(t)
}
