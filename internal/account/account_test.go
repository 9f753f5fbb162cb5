package account_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// list returns a list that began and changed a number of hours before noon. The id "main/sub"
// makes it a sub-agent's list. Each word of statuses is an item's status.
func list(id string, hours int, statuses string) todo.Snapshot {
	at := noon().Add(-time.Duration(hours) * time.Hour)
	s := todo.Snapshot{List: todo.List{ID: id, Created: at, Workspace: "/src/app"}, Revision: 1, Updated: at, Seq: int64(1000 - hours)}
	if parent, agent, ok := strings.Cut(id, "/"); ok {
		s.List.Parent, s.List.Agent = parent, agent
	}
	for i, status := range strings.Fields(statuses) {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: id + " " + status, Status: todo.Status(status)})
	}
	return s
}

func states(text string) map[string]todo.Standing {
	out := make(map[string]todo.Standing)
	for _, one := range strings.Split(text, ", ") {
		id, state, _ := strings.Cut(one, ": ")
		out[id] = todo.Standing{State: todo.State(state)}
	}
	return out
}

func ids(fs []account.Group) string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Main.List.ID)
	}
	return strings.Join(out, " ")
}

// A group has the state of its list that a person should look at first.
func TestGroupState(t *testing.T) {
	archived := func(s todo.Snapshot) todo.Snapshot { s.Archived = true; return s }
	open, done, blocked, empty := list("m", 2, "pending"), list("m", 2, "completed"), list("m/s", 1, "blocked"), list("m/s", 1, "")
	for _, c := range []struct {
		name   string
		main   todo.Snapshot
		sub    todo.Snapshot
		states string
		want   todo.State
		waits  string // the text of the item that Waits returns, or empty
	}{
		{"the sub-agent waits", open, blocked, "m: working, m/s: waiting", todo.Waiting, "m/s blocked"},
		{"the main agent waits", list("m", 2, "blocked"), list("m/s", 1, "pending"), "m: waiting, m/s: working", todo.Waiting, "m blocked"},
		{"the main agent idles", open, list("m/s", 1, "pending"), "m: idle, m/s: working", todo.Working, ""},
		{"the main agent is gone", open, list("m/s", 1, "pending"), "m: left open, m/s: idle", todo.Idle, ""},
		{"the sub-agent is gone", done, blocked, "m: finished, m/s: left open", todo.LeftOpen, ""},
		{"the sub-agent failed", done, list("m/s", 1, "failed"), "m: finished, m/s: failed", todo.InVain, ""},
		{"the sub-agent has no list yet", done, empty, "m: finished, m/s: working", todo.Finished, ""},
		{"nobody has a list yet", list("m", 2, ""), empty, "m: finished, m/s: working", todo.Working, ""},
		{"the sub-agent's list is archived", open, archived(blocked), "m: working, m/s: waiting", todo.Working, ""},
		{"the main list is archived", archived(open), blocked, "m: left open, m/s: waiting", todo.LeftOpen, ""},
	} {
		f := account.Of(c.main, []todo.Snapshot{c.sub}, states(c.states))
		checktest.Same(t, c.name, f.State(), c.want)
		if item, ok := f.Waits(); ok != (c.waits != "") || item.Text != c.waits {
			t.Errorf("%s: waits for %q", c.name, item.Text)
		}
	}
}

// A sub-agent's list is in the group of its main list. Without a main list, or below another
// sub-agent's list, it has a group of its own.
//
// BAD-INPUT 106: The same hooks set up twice; sub-agents that are each other's main agents, chats
// that hold each other's lists → No list is doubled; each can be settled and deleted
func TestGroups(t *testing.T) {
	cycle := []todo.Snapshot{list("a", 1, ""), list("b", 1, ""), list("c", 1, "")}
	cycle[0].List.Parent, cycle[1].List.Parent, cycle[2].List.Parent = "b", "a", "c"
	below := list("x", 1, "")
	below.List.Parent = "m/one"
	fs := account.Groups(append(cycle, list("m/two", 2, "completed"), list("gone/s", 1, ""), list("m", 9, ""), list("m/one", 3, "pending"), below), nil)
	if got, want := ids(fs), "a b c gone/s m x"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	m := fs[4]
	if len(m.Subs) != 2 || m.Subs[0].List.ID != "m/one" || m.Progress() != (todo.Progress{Done: 1, Total: 2}) ||
		m.Seq() != 998 || !m.Updated().Equal(noon().Add(-2*time.Hour)) {
		t.Errorf("%d sub-agents, %+v, seq %d, %s", len(m.Subs), m.Progress(), m.Seq(), m.Updated())
	}
}

// Active groups are sorted by state (waiting for a person, working, idle), then by start;
// all other groups are sorted by their last change.
func TestBoard(t *testing.T) {
	away, elsewhere := list("away", 1, "pending"), list("elsewhere", 0, "pending")
	away.Archived, elsewhere.List.Workspace = true, "/src/web"
	all := account.Groups([]todo.Snapshot{away, elsewhere, list("idle", 1, "pending"), list("old", 3, "pending"), list("new", 2, "pending"), list("waits", 9, "blocked"),
		list("left", 30, "pending"), list("gone/s", 6, "pending"), list("left later", 50, "pending"), list("left later/s", 5, "completed"),
		list("today", 4, "completed"), list("yesterday", 25, "completed"), list("same day", 30, "completed"), list("before", 70, "completed")},
		states("away: left open, elsewhere: working, idle: idle, old: working, new: working, waits: waiting, left: left open, gone/s: left open, left later: left open, "+
			"left later/s: finished, today: finished, yesterday: finished, same day: finished, before: finished"))
	b := account.Sort(all, noon())
	for _, c := range []struct{ what, got, want string }{
		{"active", ids(b.Active), "waits elsewhere new old idle"},
		{"left open", ids(b.Left), "left later left"},
		{"finished", ids(b.Finished), "today"},
		{"past", ids(b.Past), "today left later gone/s yesterday left same day before"},
		{"archived", ids(b.Archived), "away"},
		{"last day", ids(account.LastDay(b.Past[1:], noon())), "yesterday same day"},
		{"of one folder", ids(b.Only(func(f account.Group) bool { return f.Main.List.Workspace == "/src/web" }).Active), "elsewhere"},
	} {
		checktest.Same(t, c.what, c.got, c.want)
	}
	p := b.Projects()
	if len(p) != 2 || p[1].Folder != "/src/web" || ids(p[0].Groups) != "waits new old idle" {
		t.Errorf("the folder where one waits is not the first: %+v", p)
	}
	answered := b.Only(func(f account.Group) bool { return f.State() != todo.Waiting })
	if p := answered.Projects(); len(p) != 2 || p[0].Folder != "/src/web" {
		t.Errorf("the folder with the newest list is not the first: %+v", p)
	}
	for hours, want := range map[int]int{14 * 24: 1, 14*24 + 11: 1, 14*24 + 13: 0} { // hours before noon
		lapsed := list("lapsed", hours, "pending")
		lapsed.Archived, lapsed.Lapsed = true, true
		if n := account.Sort(account.Groups([]todo.Snapshot{lapsed, away}, nil), noon()).Lapsed(noon()); n != want {
			t.Errorf("%d lapsed today of %d hours", n, hours)
		}
	}
	if n := account.Counts(b.Active); n[todo.Working] != 3 || n[todo.Waiting] != 1 {
		t.Errorf("%v", n)
	}
}

// Since is the time of an agent's last write. A person's later change counts only if it
// finished the lists, or if no time of an agent's write is known.
func TestSince(t *testing.T) {
	for _, c := range []struct {
		name      string
		main, sub int // how many hours ago an agent wrote; 0: not known
		state     todo.State
		since     int // how many hours ago
	}{
		{"the main agent", 5, 7, todo.Idle, 5},
		{"the sub-agent", 5, 2, todo.Working, 2},
		{"not known", 0, 0, todo.LeftOpen, 1},
		{"finished by a person", 5, 7, todo.Finished, 1},
	} {
		main, sub := list("m", 1, "pending"), list("m/s", 8, "completed")
		for s, hours := range map[*todo.Snapshot]int{&main: c.main, &sub: c.sub} {
			if hours > 0 {
				s.Worked = noon().Add(-time.Duration(hours) * time.Hour)
			}
		}
		f := account.Of(main, []todo.Snapshot{sub}, map[string]todo.Standing{"m": {State: c.state}, "m/s": {State: todo.Finished}})
		checktest.Same(t, fmt.Sprintf("%s: since", c.name), noon().Sub(f.Since()), time.Duration(c.since)*time.Hour)
	}
}

type handed struct {
	revisions []todo.Snapshot
}

func (h *handed) last() todo.Snapshot { return h.revisions[len(h.revisions)-1] }

func (h *handed) next(person bool, change func(s *todo.Snapshot)) {
	s := h.last()
	s.Items = slices.Clone(s.Items)
	s.Revision++
	s.Writer.Person = person
	if !person {
		s.Worked = noon()
	}
	change(&s)
	h.revisions = append(h.revisions, s)
}

// The fate of a person's edits depends on the revision that agents last saw. Each step makes
// a revision; want has the fates of items, of the order, of the title and of each revision
// that a person made.
func TestEdits(t *testing.T) {
	reword := func(id int, from, to string) func(s *todo.Snapshot) {
		return func(s *todo.Snapshot) {
			s.Items[id-1].Text = to
			s.Items[id-1].PersonEdit = todo.PersonEdit{Text: to, Replaced: from, Revision: s.Revision}
		}
	}
	nothing := func(*todo.Snapshot) {}
	move := func(s *todo.Snapshot) {
		s.Items = []todo.Item{s.Items[2], s.Items[0], s.Items[1]}
		s.Order = todo.PersonEdit{Replaced: "1,2,3", Text: "3,1,2", Revision: s.Revision}
	}
	type step struct {
		person bool
		change func(s *todo.Snapshot)
		saw    int64 // the revision that agents last saw
		want   string
	}
	for name, steps := range map[string][]step{
		"a text": {
			{true, reword(2, "B", "X"), 1, "2: waits to be seen; 2 waits to be seen"},
			{true, func(s *todo.Snapshot) { s.Items[0].Status = todo.Completed }, 1, "1: waits to be seen, 2: waits to be seen; 2 waits to be seen, 3 waits to be seen"},
			{false, nothing, 4, "2: seen; 2 seen, 3 seen"},
			{true, func(s *todo.Snapshot) { s.Items[1].Status = todo.Completed }, 4, "2: waits to be seen; 2 seen, 3 seen, 5 waits to be seen"},
			{false, func(s *todo.Snapshot) { s.Items[1].Text = "B" }, 6, "2: overridden; 2 overridden, 3 seen, 5 seen"},
			{true, func(s *todo.Snapshot) { s.Archived = true }, 6, "2: overridden; 2 overridden, 3 seen, 5 seen"},
			{true, reword(2, "B", "X"), 6, "2: waits to be seen; 2 seen, 3 seen, 5 seen, 8 waits to be seen"},
			{true, nothing, 8, "2: seen; 2 seen, 3 seen, 5 seen, 8 seen"},
			{false, func(s *todo.Snapshot) { s.Items[1].Text, s.Items[1].PersonEdit = "Y", todo.PersonEdit{} }, 10, "; 2 seen, 3 seen, 5 seen, 8 seen"},
		},
		"a text that is undone": {
			{true, reword(2, "B", "X"), 1, "2: waits to be seen; 2 waits to be seen"},
			{true, reword(2, "X", "B"), 1, "; 2 waits to be seen, 3 waits to be seen"},
		},
		"the order": {
			{true, move, 1, "3: waits to be seen, order waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "order seen; 2 seen"},
			{false, func(s *todo.Snapshot) {
				s.Items = []todo.Item{s.Items[1], s.Items[2], s.Items[0]}
			}, 4, "order overridden; 2 overridden"},
			{false, func(s *todo.Snapshot) { s.Items = []todo.Item{s.Items[2], s.Items[0], s.Items[1]} }, 5, "order seen; 2 seen"},
		},
		"the title": {
			{true, func(s *todo.Snapshot) { s.GivenTitle = "T" }, 1, "title waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "; 2 seen"},
		},
		"added and removed": {
			{true, func(s *todo.Snapshot) { s.Items = append(s.Items[1:], todo.Item{ID: "4", Text: "D"}) }, 1, "1: waits to be seen, 4: waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "; 2 seen"},
		},
	} {
		first := list("m", 1, "pending pending pending")
		first.Worked = noon()
		for i, text := range []string{"A", "B", "C"} {
			first.Items[i].Text = text
		}
		h := &handed{revisions: []todo.Snapshot{first}}
		for _, c := range steps {
			h.next(c.person, c.change)
			checktest.Same(t, fmt.Sprint(name, ", revision ", h.last().Revision), said(h, c.saw), c.want)
		}
	}
}

func said(h *handed, saw int64) string {
	edits, text := account.EditsOf(h.revisions[saw-1], h.last()), ""
	add := func(what string, fate account.Fate, between string) {
		if fate != "" && text != "" && text[len(text)-2:] != "; " {
			text += ", "
		}
		if fate != "" {
			text += what + between + string(fate)
		}
	}
	for id := range 5 {
		add(fmt.Sprint(id), edits.Of(fmt.Sprint(id)), ": ")
	}
	add("order", edits.Order, " ")
	add("title", edits.Title, " ")
	text += "; "
	for n, r := range h.revisions[1:] {
		if account.Told(h.revisions[n], r) {
			add(fmt.Sprint(r.Revision), edits.OfRevision(r.Revision), " ")
		}
	}
	return text
}

// An edit does not count as seen if no agent is known to have seen the list.
func TestHandWithoutAgent(t *testing.T) {
	h := &handed{revisions: []todo.Snapshot{list("m", 1, "pending")}}
	h.next(true, func(s *todo.Snapshot) {
		s.Items[0].Text, s.Items[0].PersonEdit = "X", todo.PersonEdit{Text: "X", Replaced: "A", Revision: 2}
	})
	checktest.Same(t, "edits", said(h, 2), "; ")
}

// diary is a board whose clock the test sets to times of a day.
type diary struct {
	t     *testing.T
	now   time.Time
	lists board.Lists
}

func newDiary(t *testing.T) *diary {
	d := &diary{t: t}
	store := storetest.NewMemory()
	b := board.NewBoard(store, board.WithClock(func() time.Time { return d.now }))
	t.Cleanup(func() { b.Close(); store.Close() })
	d.lists = b.As("")
	return d
}

// write makes the agent of a chat write a plan, at a time and in a folder. The chat
// "main/helper" is a sub-agent's.
func (d *diary) write(at, chat, folder, items string) {
	d.t.Helper()
	d.at(at)
	var lines []todo.Line
	for _, i := range chattest.ParsePlan(items) {
		lines = append(lines, todo.Line{Text: i.Text, Status: string(i.Status)})
	}
	target := board.Target{Conversation: board.Conversation{Key: chat, Workspace: folder}, Lines: lines, View: todo.CoreView()}
	if main, agent, ok := strings.Cut(chat, "/"); ok {
		target.Conversation.Agent, target.Conversation.Parent = agent, main
	}
	_, err := d.lists.Apply(d.t.Context(), board.Write{Target: target, Writer: todo.Writer{Client: "claude-code"},
		Change: func(c *todo.Draft) error { c.Replace(todo.CoreView(), lines); return nil }})
	if err != nil {
		d.t.Fatal(at, err)
	}
}

func (d *diary) at(text string) {
	day := time.Duration(text[1]-'1') * 24 * time.Hour
	clock := checktest.Must(time.Parse("15:04", text[3:]))(d.t)
	d.now = time.Date(2026, 3, 1, clock.Hour(), clock.Minute(), 0, 0, time.UTC).Add(day)
}

func (d *diary) edit(at, title string, e todo.Edit) {
	d.t.Helper()
	d.at(at)
	for _, l := range checktest.Must(d.lists.Find(d.t.Context(), board.Query{}))(d.t) {
		if l.Title() == title {
			if _, err := d.lists.Edit(d.t.Context(), l.List.ID, e, todo.Writer{}); err != nil {
				d.t.Fatal(at, err)
			}
			return
		}
	}
	d.t.Fatal("no list ", title)
}

func (d *diary) told(at time.Time) (lines []string) {
	d.t.Helper()
	day := checktest.Must(account.DayOf(d.t.Context(), d.lists.During, at, at, d.now))(d.t)
	tally := func(t account.Tally) string {
		return fmt.Sprintf("%d lists, %d done, %d failed, %d wait, %d open, %s", t.Lists, t.Completed, t.Failed, t.Waiting, t.Open, t.Took())
	}
	lines = append(lines, day.Date+": "+tally(day.Tally))
	for _, p := range day.Projects {
		lines = append(lines, p.Project+": "+tally(p.Tally))
		for _, l := range p.Lists {
			line := strings.TrimPrefix(l.Agent+": ", ": ") + l.Title + ": " + string(l.State) + ", " + l.Took().String()
			line += told("c", l.CompletedItems) + told("f", l.FailedItems) + told("b", l.WaitingItems) + told("p", l.OpenItems)
			lines = append(lines, line+strings.TrimSuffix(" asks "+l.Asks, " asks "))
		}
	}
	return lines
}

func told(sign string, items []todo.Item) (text string) {
	for _, i := range items {
		text += " " + sign + ":" + i.Text + strings.TrimSuffix("("+i.Reason+")", "()")
	}
	return text
}

// A day has the items completed or failed on it, the items open at its end, and how long
// lists were working. Items completed on the day before, and changes of the day after, do not
// count.
func TestDay(t *testing.T) {
	d := newDiary(t)
	d.write("01 23:55", "night", "/src/app", "c:yesterday i:late")
	d.write("02 00:04", "night", "/src/app", "c:yesterday c:late p:more")
	d.write("02 09:00", "main", "/src/web", "i:A p:B p:C p:D")
	d.write("02 09:06", "main", "/src/web", "c:A i:B p:C p:D")
	d.write("02 09:07", "main/helper", "/src/web/.claude/worktrees/h", "i:h") // counts for the folder of its main list
	d.write("02 09:08", "main/helper", "/src/web/.claude/worktrees/h", "c:h")
	d.write("02 09:30", "main", "/src/web", "c:A f:B b:C p:D")
	d.write("02 09:31", "main", "/src/web", "i:C c:E")
	d.edit("02 12:00", "A +3", todo.Edit{Do: todo.EditBlock, Item: "3", Text: "no key yet"})
	d.write("02 20:00", "cleared", "/src/web", "c:X c:Y")
	d.write("02 20:01", "cleared", "/src/web", "")
	d.write("03 10:00", "night", "/src/app", "c:yesterday c:late c:more")
	d.edit("03 11:00", "A +3", todo.Edit{Do: todo.EditArchive})
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if diff := cmp.Diff([]string{
		"2026-03-02: 3 lists, 6 done, 1 failed, 1 wait, 1 open, 31m0s",
		"web: 2 lists, 5 done, 1 failed, 1 wait, 0 open, 27m0s",
		"A +3: left open, 26m0s c:A c:E f:B b:C(no key yet)",
		"helper: h: finished, 1m0s c:h",
		"X +1: finished, 0s c:X c:Y",
		"app: 1 lists, 1 done, 0 failed, 0 wait, 1 open, 4m0s",
		"yesterday +1: left open, 4m0s c:late p:more",
	}, d.told(noon)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{ // a person's archiving does not count as work
		"2026-03-03: 1 lists, 1 done, 0 failed, 0 wait, 0 open, 0s",
		"app: 1 lists, 1 done, 0 failed, 0 wait, 0 open, 0s",
		"yesterday +1: finished, 0s c:more",
	}, d.told(d.now)); diff != "" {
		t.Error(diff)
	}
	west := checktest.Must(time.LoadLocation("America/New_York"))(t) // there, "late" was completed on the first
	checktest.Same(t, "told in the west", d.told(noon.In(west))[0], "2026-03-02: 2 lists, 5 done, 1 failed, 1 wait, 0 open, 27m0s")
}

// The JSON of a day's item has its id, text, status, reason and times, and no other field.
func TestDayAsJSON(t *testing.T) {
	d := newDiary(t)
	d.write("02 09:00", "main", "/src/web", "c:Early i:A b:C p:D")
	d.write("02 09:30", "main", "/src/web", "c:A b:C i:D")
	d.edit("02 12:00", "Early +3", todo.Edit{Do: todo.EditBlock, Item: "3", Text: "no key yet"})
	d.edit("02 12:01", "Early +3", todo.Edit{Do: todo.EditText, Item: "4", Text: "E"})
	day := checktest.Must(account.DayOf(t.Context(), d.lists.During, d.now, d.now, d.now))(t)
	day.Projects[0].Lists[0].ID = "list"
	checktest.Same(t, "a list of the day", string(checktest.Must(json.Marshal(day.Projects[0].Lists))(t)), strings.Join([]string{
		`[{"list":"list","title":"Early +3","state":"idle","began":"2026-03-02T09:00:00Z","changed":"2026-03-02T12:01:00Z"`,
		`"list_count":1,"completed":2,"failed":0,"waiting":1,"open":1,"worked":1200`,
		`"completed_items":[{"id":"1","text":"Early","status":"completed","ended":"2026-03-02T09:00:00Z"}`,
		`{"id":"2","text":"A","status":"completed","started":"2026-03-02T09:00:00Z","ended":"2026-03-02T09:30:00Z"}]`,
		`"waiting_items":[{"id":"3","text":"C","status":"blocked","reason":"no key yet"}]`,
		`"open_items":[{"id":"4","text":"E","status":"in_progress","started":"2026-03-02T09:30:00Z"}]}]`}, ","))
}

// A list whose agent works counts working time until now. A list whose agent asks is waiting.
func TestDayNow(t *testing.T) {
	d := newDiary(t)
	d.write("01 10:00", "works", "/src/app", "i:A")
	d.write("01 10:02", "asks", "/src/web", "i:B p:C")
	asks := func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, "push?", at) }
	checktest.Must(d.lists.Hear(t.Context(), board.Conversation{Key: "asks"}, asks))(t)
	d.at("01 10:05")
	if diff := cmp.Diff([]string{
		"2026-03-01: 2 lists, 0 done, 0 failed, 1 wait, 3 open, 5m0s",
		"web: 1 lists, 0 done, 0 failed, 1 wait, 2 open, 0s",
		"B +1: waiting, 0s p:B p:C asks push?",
		"app: 1 lists, 0 done, 0 failed, 0 wait, 1 open, 5m0s",
		"A: working, 5m0s p:A",
	}, d.told(d.now)); diff != "" {
		t.Error(diff)
	}
}

// BAD-INPUT 127: A day that does not exist, has no midnight, is far away or full of lists →
// Refused if missing, else 23 to 25 hours; cut at 1,000 lists or 4 MB of texts, with a note
func TestDays(t *testing.T) {
	for _, c := range []struct {
		zone, date string
		hours      float64
	}{
		{"UTC", "2026-03-29", 24}, {"Europe/Berlin", "2026-03-29", 23}, {"Europe/Berlin", "2026-10-25", 25},
		{"Asia/Beirut", "2023-03-26", 23}, {"Asia/Beirut", "2023-03-25", 24}, {"Africa/Cairo", "2026-04-24", 23},
		{"UTC", "0001-01-01", 24}, {"UTC", "9999-12-31", 24},
		{"UTC", "2026-02-29", 0}, {"UTC", "tomorrow", 0}, {"UTC", "2026-3-1", 0}, {"UTC", strings.Repeat("9", 5000), 0},
	} {
		zone := checktest.Must(time.LoadLocation(c.zone))(t)
		at, err := account.ParseDay(c.date, noon().In(zone))
		if c.hours == 0 {
			if err == nil || len(err.Error()) > 100 {
				t.Errorf("%s: %v", c.date, err)
			}
			continue
		}
		day, _ := account.DayOf(t.Context(), newDiary(t).lists.During, at, at, noon())
		if got := day.To.Sub(day.From).Hours(); err != nil || day.Date != c.date || got != c.hours {
			t.Errorf("%s in %s: %s, %v hours, %v", c.date, c.zone, day.Date, got, err)
		}
	}
	d := newDiary(t)
	for n := range account.MaxDayLists + 1 {
		d.write("01 10:00", fmt.Sprint("chat ", n), "/src/app", fmt.Sprint("c:x", n))
	}
	day, err := account.DayOf(t.Context(), d.lists.During, d.now, d.now, d.now)
	if err != nil || day.Lists != account.MaxDayLists || !day.More {
		t.Errorf("%d lists, more %t, %v", day.Lists, day.More, err)
	}
	d = newDiary(t)
	items, held := strings.Repeat(" c:"+strings.Repeat("y", todo.MaxText), todo.MaxSize/todo.MaxText-1), 0
	for n := range 5<<20/todo.MaxSize + 1 {
		d.write("01 10:00", fmt.Sprint("chat ", n), "/src/app", items)
	}
	day, err = account.DayOf(t.Context(), d.lists.During, d.now, d.now, d.now)
	for _, l := range day.Projects[0].Lists {
		for _, i := range l.CompletedItems {
			held += len(i.Text)
		}
	}
	if err != nil || !day.More || held > 4<<20 || held < 3<<20 || day.Completed*todo.MaxText != held {
		t.Errorf("%d bytes of %d items, more %t, %v", held, day.Completed, day.More, err)
	}
}

// Lists of a project with the same title show their start time, with the date if the account has several days.
func TestListsOfADayThatReadAlike(t *testing.T) {
	d := newDiary(t)
	d.write("02 09:00", "one", "/src/app", "c:fix")
	d.write("02 09:05", "two", "/src/app", "c:fix")
	d.write("02 09:06", "three", "/src/app", "c:other")
	d.write("02 09:07", "four", "/src/web", "c:fix")
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for last, want := range map[time.Time]string{noon: " ;09:00 09:05  ;", noon.AddDate(0, 0, 1): " ;2 Mar 09:00 2 Mar 09:05  ;"} {
		day := checktest.Must(account.DayOf(t.Context(), d.lists.During, noon, last, noon))(t)
		got := ""
		for _, p := range day.Projects {
			for _, l := range p.Lists {
				got += l.Apart + " "
			}
			got += ";"
		}
		checktest.Same(t, "a group", got, want)
	}
}

// A day may be given by its name; a weekday means the latest one, today included.
func TestDaysByName(t *testing.T) {
	for text, want := range map[string]string{"": "2026-03-04", "yesterday": "2026-03-03", "Wednesday": "2026-03-04", "thu": "2026-02-26", "MONDAY": "2026-03-02"} {
		at, err := account.ParseDay(text, noon())
		if got := at.Format(time.DateOnly); err != nil || got != want {
			t.Errorf("%q is %s, want %s, %v", text, got, want, err)
		}
	}
}

// An account of several days sums up all of them.
func TestSeveralDays(t *testing.T) {
	d := newDiary(t)
	d.write("01 10:00", "a", "/src/app", "c:A")
	d.write("02 10:00", "a", "/src/app", "c:B")
	d.write("03 10:00", "b", "/src/app", "c:C p:D")
	d.at("04 10:00")
	day, err := account.DayOf(t.Context(), d.lists.During, d.now.AddDate(0, 0, -2), d.now, d.now)
	if err != nil || day.Date != "2026-03-02" || day.Completed != 2 || day.Open != 1 || day.To != todo.Midnight(d.now.AddDate(0, 0, 1)) {
		t.Errorf("%+v, %v", day, err)
	}
}
