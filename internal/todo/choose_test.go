package todo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// desk is several processes on one store, each with a board, and the tests'
// words for what conversations do there. A list is written as its items with the
// first letter of each status: "p:A c:B".
type desk struct {
	t      *testing.T
	store  todo.Store
	open   func() todo.Store // what a process opens; nil is store
	now    time.Time
	boards map[string]*todo.Board
	closes map[string]func() // closes what a process opened
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, store: memory.New(), now: time.Now().UTC().Truncate(time.Second), boards: map[string]*todo.Board{}, closes: map[string]func(){}}
	t.Cleanup(func() {
		for name := range d.boards {
			d.stop(name)
		}
	})
	return d
}

// save saves a snapshot as an import does.
func (d *desk) save(next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = d.store.Update(context.Background(), todo.Key{Conversation: next.List.ID}, func(tx todo.Tx) error {
		saved, err = tx.Save(context.Background(), next)
		return err
	})
	return saved, err
}

func (d *desk) board(process string) *todo.Board {
	if d.boards[process] == nil {
		store := d.store
		if d.open != nil {
			store = d.open()
			d.closes[process] = func() { store.Close() }
		}
		d.boards[process] = todo.NewBoard(store, todo.WithClock(func() time.Time { return d.now }))
	}
	return d.boards[process]
}

// stop ends a process.
func (d *desk) stop(process string) {
	d.boards[process].Close()
	delete(d.boards, process)
	if closes := d.closes[process]; closes != nil {
		closes()
		delete(d.closes, process)
	}
}

// chat is a conversation in a process.
type chat struct {
	*desk
	process string
	who     todo.Conversation
}

// proof returns a conversation with a key of its own; hint one whose key may
// stand for another chat than before; shared one whose key several chats have.
func (d *desk) proof(key string) chat { return chat{d, "p1", todo.Conversation{Key: key}} }

func (d *desk) hint(process, key string) chat {
	return chat{d, process, todo.Conversation{Key: key, Hint: true, Client: "cli", Workspace: "/w"}}
}

func (d *desk) shared(process string) chat {
	c := d.hint(process, todo.SharedKey("process:"+process))
	c.who.Shared = true
	return c
}

var coreWords = map[string]todo.Status{"p": todo.Pending, "i": todo.InProgress, "c": todo.Completed, "b": todo.Blocked, "f": todo.Failed}

func parseLines(list string) []todo.Line {
	lines := []todo.Line{}
	for _, field := range strings.Fields(list) {
		letter, text, _ := strings.Cut(field, ":")
		lines = append(lines, todo.Line{Text: text, Status: string(coreWords[letter])})
	}
	return lines
}

func show(s todo.Snapshot) string {
	var out []string
	for _, i := range s.Items {
		out = append(out, string(i.Status[0])+":"+i.Text)
	}
	return strings.Join(out, " ")
}

func (c chat) lists() todo.Lists { return c.board(c.process).As("") }

func (c chat) apply(target todo.Target, change todo.Change) (todo.Outcome, error) {
	c.t.Helper()
	target.Conversation = c.who
	return c.lists().Apply(context.Background(), todo.Write{Target: target, Change: change})
}

// writes replaces the list and returns what became of it.
func (c chat) writes(list string) todo.Outcome {
	c.t.Helper()
	out, err := c.tryWrite(list)
	if err != nil {
		c.t.Fatalf("%s writes %q: %v", c.who.Key, list, err)
	}
	return out
}

func (c chat) tryWrite(list string) (todo.Outcome, error) {
	view := todo.CoreView()
	view.Active = false
	lines := parseLines(list)
	return c.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
}

func (c chat) adds(texts ...string) todo.Outcome {
	c.t.Helper()
	out, err := c.apply(todo.Target{Append: true}, func(d *todo.Draft) error { d.Append(texts...); return nil })
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// reads returns the list as its agent is shown it; "none" when there is none.
func (c chat) reads() string {
	c.t.Helper()
	s, err := c.lists().Show(context.Background(), todo.Target{Conversation: c.who})
	if errors.Is(err, todo.ErrNotFound) {
		return "none"
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return show(s)
}

func (c chat) resumes(s todo.Snapshot) {
	c.t.Helper()
	if err := c.lists().Hold(context.Background(), c.who, s); err != nil {
		c.t.Fatal(err)
	}
}

// personEdits is what a person does to a list.
func (d *desk) personEdits(list string, change todo.Change) {
	d.t.Helper()
	if _, err := d.board("person").As("").Apply(context.Background(), todo.Write{
		Target: todo.Target{List: list}, Writer: todo.Writer{Person: true}, Change: change}); err != nil {
		d.t.Fatal(err)
	}
}

func setStatus(id string, s todo.Status) todo.Change {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

// all returns all lists, the last written first.
func (d *desk) all() (out []string) {
	lists, err := d.store.Find(context.Background(), todo.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, l := range lists {
		out = append(out, show(l))
	}
	return out
}

func (d *desk) expect(want ...string) {
	d.t.Helper()
	if got := d.all(); fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("the lists are %q, want %q", got, want)
	}
}

// A conversation that is known for sure writes its own list, whatever it
// writes, and no other.
func TestAProofHoldsItsList(t *testing.T) {
	d := newDesk(t)
	a, b := d.proof("a"), d.proof("b")
	a.writes("p:A p:B")
	b.writes("p:A p:X")
	a.writes("p:B")
	d.expect("p:B", "p:A p:X")
	if got := b.reads(); got != "p:A p:X" {
		t.Error(got)
	}
	if got := d.proof("c").reads(); got != "none" {
		t.Errorf("a new conversation reads %q", got)
	}
}

// A settled list stays as it ended. The next plan is a list of its own, also an
// equal one and one that is added to; writing the settled list again changes
// nothing.
func TestSettledMeansSettled(t *testing.T) {
	for name, a := range map[string]func(*desk) chat{
		"proof": func(d *desk) chat { return d.proof("a") },
		"hint":  func(d *desk) chat { return d.hint("p1", "process:1") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			a := a(d)
			a.writes("p:A p:B")
			a.writes("c:A c:B")
			if out := a.writes("c:A c:B"); out.Changed || out.After.Revision != 2 {
				t.Errorf("written again: %+v", out)
			}
			d.expect("c:A c:B")
			a.writes("p:A p:B")
			d.expect("p:A p:B", "c:A c:B")
			a.writes("c:A c:B")
			a.adds("C")
			d.expect("p:C", "c:A c:B", "c:A c:B")
			a.writes("c:C")
			d.expect("c:C", "c:A c:B", "c:A c:B")
			if out := a.writes(""); len(out.After.Items) != 0 {
				t.Errorf("cleared: %+v", out)
			}
			if got := a.reads(); got != "" {
				t.Errorf("after clearing a settled list it reads %q", got)
			}
			d.expect("", "c:C", "c:A c:B", "c:A c:B")
			a.writes("p:D")
			d.expect("p:D", "c:C", "c:A c:B", "c:A c:B")
		})
	}
}

// A named list is replaced in place, also wholly and when it is settled.
func TestANamedListIsReplacedInPlace(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	a.who.Name = "release"
	a.writes("p:A p:B")
	a.writes("p:C")
	a.writes("c:C")
	a.writes("p:D")
	a.writes("")
	a.writes("p:E")
	d.expect("p:E")
}

// A certain conversation, one with proof or one that has written in its connection,
// replaces the list it holds however little it keeps. A plan that has nothing of it
// begins the next list, and puts the earlier one away until it is written again.
func TestACertainConversation(t *testing.T) {
	for kind, of := range map[string]func(*desk) chat{
		"proof": func(d *desk) chat { return d.proof("a") },
		"hint":  func(d *desk) chat { return d.hint("p1", "process:1") },
	} {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			a := of(d)
			first := a.writes("p:A p:B p:C").After.List
			out := a.writes("i:B")
			if out.After.List.ID != first.ID || len(out.Dropped) != 2 {
				t.Errorf("cut down: list %s for %s, dropped %v", out.After.List.ID, first.ID, out.Dropped)
			}
			out = a.writes("i:B p:C")
			if show(out.After) != "i:B p:C" || out.After.List.ID != first.ID {
				t.Errorf("grown again: %q", show(out.After))
			}
			out = a.writes("i:X p:Y")
			if out.After.List.ID == first.ID || out.After.List.Previous != first.ID || out.PutAway.Title != "B" || len(out.PutAway.Open) != 2 {
				t.Errorf("replanned: %+v, put away %+v", out.After.List, out.PutAway)
			}
			if ids := []string{out.After.Items[0].ID, out.After.Items[1].ID}; fmt.Sprint(ids) != "[5 6]" { // after C came again
				t.Errorf("numbers of the next list: %v", ids)
			}
			old, err := d.store.Load(t.Context(), first.ID, 0)
			if err != nil || !old.Archived || old.ReplacedBy != out.After.List.ID {
				t.Errorf("the earlier list: %+v, %v", old, err)
			}
			second := out.After.List.ID
			out = a.writes("c:B i:C")
			if out.After.List.ID != first.ID || out.After.Archived || out.After.ReplacedBy != "" || out.PutAway.Title != "X" {
				t.Errorf("written again: %+v", out)
			}
			if now, err := d.store.Load(t.Context(), second, 0); err != nil || !now.Archived {
				t.Errorf("the second plan: %+v, %v", now, err)
			}
			d.expect("c:B i:C", "i:X p:Y")
		})
	}
}

// What a person reworded is still the same item, whichever wording is sent.
func TestWordingsOfAPersonCount(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	reword := func(d *todo.Draft) error { d.SetText("1", "Z"); return nil }
	d.personEdits(list, reword)
	if out := a.writes("i:A"); out.After.List.ID != list || show(out.After) != "i:Z" {
		t.Errorf("before it was told: %q, %+v", show(out.After), out)
	}
	if out := a.writes("p:A p:C"); out.After.List.ID != list || show(out.After) != "p:Z p:C" || len(out.Kept) != 1 {
		t.Errorf("after it was told: %q, %+v", show(out.After), out)
	}
}

// Several chats that share a connection go on with a list only by writing four fifths
// of all its items, two at least, and of a list that has finished items one of these.
func TestASharedConnection(t *testing.T) {
	for _, c := range []struct {
		name, list, write string
		continues         bool
	}{
		{"four fifths", "p:A p:B p:C p:D p:E", "c:A p:B p:C p:D p:New", true},
		{"less", "p:A p:B p:C p:D", "p:A p:B p:C", false},
		{"finished items count", "c:A c:B p:C", "c:A c:B c:C", true},
		{"open items alone", "c:A c:B c:C p:D", "i:D", false},
		{"the same steps for another task", "c:Test i:Fix p:Run p:Commit", "i:Test p:Fix p:Run p:Commit", false},
		{"its only item", "p:A", "c:A p:B p:C", true},
		{"one of two", "p:Run-tests p:B", "p:Run-tests p:X", false},
		{"nothing", "p:A p:B", "p:X p:Y", false},
		{"folded texts", "p:Write-tests p:Ship-it", "p:write_tests p:SHIP-IT!", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			a := d.shared("p1")
			first := a.writes(c.list).After.List.ID
			out := a.writes(c.write)
			if continues := out.After.List.ID == first; continues != c.continues {
				t.Errorf("continues: %v", continues)
			}
			if out.Continues != "" || out.PutAway.Title != "" {
				t.Errorf("told of an earlier session: %+v", out.Report)
			}
			if !c.continues {
				d.expect(c.write, c.list)
			}
		})
	}
}

// Each of two chats in one connection goes on with its own list.
func TestTwoChatsInOneConnection(t *testing.T) {
	d := newDesk(t)
	a, b := d.shared("p1"), d.shared("p1")
	a.writes("i:A p:B p:C")
	b.writes("i:X p:Y")
	a.writes("c:A i:B p:C")
	b.writes("c:X i:Y")
	d.expect("c:X i:Y", "c:A i:B p:C")
}

// T5: a write in which every line names an item of the held list by its id means
// that list, whatever the texts say.
func TestAHintKeepsAListByItsIDs(t *testing.T) {
	d := newDesk(t)
	a := d.shared("p1")
	a.writes("p:A p:B p:C")
	view := todo.CoreView()
	view.Active = false
	lines := []todo.Line{{ID: "2", Text: "Reworded", Status: "completed"}}
	if _, err := a.apply(todo.Target{Lines: lines}, func(d *todo.Draft) error { d.Patch(view, lines); return nil }); err != nil {
		t.Fatal(err)
	}
	d.expect("p:A c:Reworded p:C")
}

// A restarted process, whose key is new, continues an unfinished list of the
// same client and workspace by writing most of it again, unless a live
// conversation holds it.
func TestContinuingWithoutAKey(t *testing.T) {
	d := newDesk(t)
	before := d.hint("p1", "process:1")
	before.writes("i:A p:B p:C")
	during := d.hint("p2", "process:2")
	during.writes("c:A i:B p:C")
	d.expect("c:A i:B p:C", "i:A p:B p:C")
	d.stop("p1")
	d.stop("p2")
	after := d.hint("p3", "process:3")
	if got := after.reads(); got != "none" {
		t.Errorf("before its first write it reads %q", got)
	}
	if out := after.writes("c:A c:B p:C"); out.Continues != "B" {
		t.Errorf("not told whose list it is: %+v", out.Report)
	}
	d.expect("c:A c:B p:C", "i:A p:B p:C")
	other := d.hint("p4", "process:4")
	other.who.Workspace = "/elsewhere"
	other.writes("c:A c:B p:C")
	d.expect("c:A c:B p:C", "c:A c:B p:C", "i:A p:B p:C")
	// What was only similar a week ago is not continued.
	d.now = d.now.Add(todo.CandidateAge + time.Hour)
	d.stop("p3")
	d.hint("p5", "process:5").writes("c:A c:B p:C p:D")
	d.expect("c:A c:B p:C p:D", "c:A c:B p:C", "c:A c:B p:C", "i:A p:B p:C")
}

// A list that a conversation holds for sure, or that has a name, is never
// continued by a guess.
func TestNoGuessTakesAListThatIsHeld(t *testing.T) {
	d := newDesk(t)
	a := d.proof("session:a")
	a.who.Client, a.who.Workspace = "cli", "/w"
	a.writes("p:A p:B")
	named := d.proof("session:b")
	named.who.Client, named.who.Workspace, named.who.Name = "cli", "/w", "release"
	named.writes("p:C p:D")
	d.hint("p2", "process:2").writes("c:A c:B p:C p:D")
	d.expect("c:A c:B p:C p:D", "p:C p:D", "p:A p:B")
}

// The host's ids of two chats keep their lists apart, also after their processes.
func TestHostsIDsKeepChatsApart(t *testing.T) {
	d := newDesk(t)
	chat := func(process, id string) chat {
		c := d.hint(process, "chat:"+id)
		c.who.Chat = id
		return c
	}
	chat("p1", "one").writes("i:A p:B")
	d.stop("p1")
	chat("p2", "two").writes("c:A i:B")
	d.expect("c:A i:B", "i:A p:B")
	d.stop("p2")
	if out := chat("p3", "one").writes("c:A i:B"); out.Continues != "A" {
		t.Errorf("the first chat again: %+v", out.Report)
	}
	d.expect("c:A i:B", "c:A i:B")
}

// A hint says whose list reads, additions and single items mean, also in a
// restarted process.
func TestAHintReads(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "env:CLAUDE_CODE_SESSION_ID:x")
	a.writes("p:A p:B")
	d.stop("p1")
	a = d.hint("p2", a.who.Key)
	if got := a.reads(); got != "p:A p:B" {
		t.Error(got)
	}
	a.adds("C")
	d.expect("p:A p:B p:C")
	a.writes("p:Other p:Plan")
	d.expect("p:Other p:Plan", "p:A p:B p:C")
	// An item that the list does not have is looked for in the ones before.
	out, err := a.apply(todo.Target{Item: "3"}, setStatus("3", todo.Completed))
	if err != nil || out.Elsewhere == "" {
		t.Fatal(out, err)
	}
	d.expect("p:A p:B c:C", "p:Other p:Plan")
	if got := a.reads(); got != "p:Other p:Plan" {
		t.Errorf("its list is %q then", got)
	}
}

// Where several chats share a key and have several open lists, clearing changes
// nothing and names them.
func TestClearingASharedKey(t *testing.T) {
	d := newDesk(t)
	a := d.shared("p1")
	first := a.writes("p:A p:B").After.List.ID
	second := a.writes("p:X p:Y").After.List.ID
	_, err := a.tryWrite("")
	if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Errorf("refused with %v", err)
	}
	d.expect("p:X p:Y", "p:A p:B")
	a.writes("c:A c:B")
	a.writes("")
	if got := a.reads(); got != "" {
		t.Errorf("reads %q", got)
	}
}

// Resuming binds the conversation to the list: twice in one conversation, back
// again, and from any kind of key.
func TestResume(t *testing.T) {
	for name, of := range map[string]func(*desk) chat{
		"proof":  func(d *desk) chat { return d.proof("a") },
		"hint":   func(d *desk) chat { return d.hint("p2", "process:2") },
		"shared": func(d *desk) chat { return d.shared("p2") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			b := d.proof("b").writes("p:B1 p:B2").After
			c := d.proof("c").writes("p:C1 p:C2").After
			a := of(d)
			a.writes("p:A1 p:A2")
			a.resumes(b)
			a.writes("c:B1 p:B2")
			d.expect("c:B1 p:B2", "p:A1 p:A2", "p:C1 p:C2")
			a.resumes(c)
			a.writes("c:C1 p:C2")
			d.expect("c:C1 p:C2", "c:B1 p:B2", "p:A1 p:A2")
			newest, err := d.store.Load(context.Background(), b.List.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			a.resumes(newest)
			a.writes("c:B1 c:B2")
			d.expect("c:B1 c:B2", "c:C1 p:C2", "p:A1 p:A2")
		})
	}
}

// Two conversations that hold one list on purpose are merged: each write is
// made from what its conversation saw, and reports once what the other changed.
func TestTwoConversationsHoldOneList(t *testing.T) {
	d := newDesk(t)
	named := func(key string) chat { c := d.proof(key); c.who.Name = "release"; return c }
	a, b := named("a"), named("b")
	a.writes("p:A p:B")
	out := b.writes("p:C")
	if show(out.After) != "p:A p:B p:C" && show(out.After) != "p:C p:A p:B" {
		t.Errorf("a write by who never saw the list: %q", show(out.After))
	}
	if len(out.Unseen) != 2 || out.By != todo.Agents {
		t.Errorf("reported %+v by %q", out.Unseen, out.By)
	}
	out = a.writes("c:A p:B")
	if len(out.Unseen) != 1 || out.Unseen[0].After.Text != "C" || len(out.After.Items) != 3 {
		t.Errorf("%q, reported %+v", show(out.After), out.Unseen)
	}
	if out = a.writes("c:A p:B p:C"); len(out.Unseen) != 0 {
		t.Errorf("reported again: %+v", out.Unseen)
	}
}

// A conversation that read another's list by its id does not hold it.
func TestReadingDoesNotHold(t *testing.T) {
	d := newDesk(t)
	list := d.proof("a").writes("p:A").After.List.ID
	b := d.proof("b")
	if _, err := b.lists().Show(t.Context(), todo.Target{Conversation: b.who, List: list}); err != nil {
		t.Fatal(err)
	}
	d.proof("c").writes("p:C") // stores what was shown
	if got := b.reads(); got != "none" {
		t.Errorf("it reads %q", got)
	}
	b.writes("p:B")
	d.expect("p:B", "p:C", "p:A")
}

// A list with a name that was resumed by a key that is a hint goes on.
func TestResumeOfANamedList(t *testing.T) {
	d := newDesk(t)
	named := d.proof("a")
	named.who.Name = "release"
	list := named.writes("p:A p:B").After
	c := d.hint("p1", "process:1")
	c.resumes(list)
	c.writes("c:A p:B")
	d.expect("c:A p:B")
}

// A person who adds to a list that its agent saw settled is not passed over: the
// agent's next plan joins it, and the addition is reported.
func TestAPersonReopensTheList(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("c:A").After.List.ID
	d.personEdits(list, func(d *todo.Draft) error { d.Append("C"); return nil })
	out := a.writes("p:X")
	if out.After.List.ID != list || len(out.Unseen) != 1 || show(out.After) != "p:X p:C" && show(out.After) != "p:C p:X" {
		t.Errorf("%q, reported %+v", show(out.After), out.Unseen)
	}
}

// A call that names another list by id does not move a name to that list.
func TestANameStaysWithItsList(t *testing.T) {
	d := newDesk(t)
	other := d.proof("b").writes("p:X").After
	a := d.proof("a")
	a.who.Name = "release"
	a.writes("p:A")
	if _, err := a.apply(todo.Target{List: other.List.ID, Append: true}, func(d *todo.Draft) error { d.Append("Y"); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := a.reads(); got != "p:A" {
		t.Errorf("the name leads to %q", got)
	}
	d.expect("p:X p:Y", "p:A")
}

// What a person changed is reported once, also by an answer that changes
// nothing, also after a restart, and not at all once the agent has read it.
// Afterwards the agent may do with it as it likes.
func TestAPersonsEditIsReportedOnce(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "env:X:1")
	list := a.writes("i:A p:B").After.List.ID
	d.personEdits(list, setStatus("2", todo.Completed))
	out := a.writes("i:A p:B")
	if out.Changed || len(out.Unseen) != 1 || out.By != todo.People || show(out.After) != "i:A c:B" {
		t.Errorf("%q, reported %+v by %q", show(out.After), out.Unseen, out.By)
	}
	d.stop("p1")
	a = d.hint("p2", "env:X:1")
	if out := a.writes("i:A c:B"); len(out.Unseen) != 0 {
		t.Errorf("reported again: %+v", out.Unseen)
	}
	d.personEdits(list, setStatus("1", todo.Completed))
	d.personEdits(list, func(d *todo.Draft) error { d.Append("C"); return nil })
	if got := a.reads(); got != "c:A c:B p:C" {
		t.Error(got)
	}
	if out := a.writes("p:A c:B p:C"); len(out.Unseen) != 0 || show(out.After) != "p:A c:B p:C" {
		t.Errorf("after it was read: %q, reported %+v", show(out.After), out.Unseen)
	}
	// Also when the process that showed it ended in good order.
	d.personEdits(list, setStatus("2", todo.Pending))
	a.reads()
	d.stop("p2")
	a = d.hint("p3", "env:X:1")
	if out := a.writes("p:A c:B p:C"); len(out.Unseen) != 0 || show(out.After) != "p:A c:B p:C" {
		t.Errorf("after it was read before a restart: %q, reported %+v", show(out.After), out.Unseen)
	}
}

// A person who settles the rest of a list does not make the agent's next write
// begin another one: the agent does not know yet.
func TestAPersonSettlesTheList(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("c:A p:B").After.List.ID
	d.personEdits(list, setStatus("2", todo.Completed))
	out := a.writes("c:A i:B")
	if show(out.After) != "c:A c:B" || len(out.Unseen) != 1 {
		t.Errorf("%q, reported %+v", show(out.After), out.Unseen)
	}
	d.expect("c:A c:B")
	a.writes("c:A i:B")
	d.expect("c:A i:B", "c:A c:B")
}

// A sub-agent's list is archived when it ends or when the main list settles; its
// next plan is a list of its own.
func TestSubAgentsList(t *testing.T) {
	d := newDesk(t)
	sub := d.proof("a/agent:x")
	main := d.proof("a")
	writeSub := func(list string) todo.Outcome {
		t.Helper()
		lines := parseLines(list)
		view := todo.CoreView()
		view.Active = false
		out, err := sub.lists().Apply(context.Background(), todo.Write{
			Target: todo.Target{Conversation: sub.who, Lines: lines, Agent: "x"}, Begin: todo.List{ParentConversation: "a"},
			Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := writeSub("p:S"); out.After.List.Parent != "" || out.After.List.Agent != "x" {
		t.Errorf("before the main list: %+v", out.After.List)
	}
	id := main.writes("p:A").After.List.ID
	first := writeSub("p:S p:T").After
	if first.List.Parent != id {
		t.Errorf("its parent is %q", first.List.Parent)
	}
	main.writes("c:A")
	if now, err := d.store.Load(context.Background(), first.List.ID, 0); err != nil || !now.Archived || now.OnBoard(d.now) {
		t.Errorf("after the main list settled: %+v, %v", now, err)
	}
	if out := writeSub("p:S p:T p:U"); out.After.List.ID == first.List.ID || out.After.Archived {
		t.Errorf("its next plan: %+v", out.After)
	}
}

// A list that a person brought back and its chat writes again, just as it is, takes the
// place of the one that had replaced it.
func TestAListThatAPersonBroughtBack(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	first := a.writes("p:A p:B").After.List.ID
	second := a.writes("p:X p:Y").After.List.ID
	if _, err := a.lists().Archive(t.Context(), first, false, todo.Writer{Person: true}); err != nil {
		t.Fatal(err)
	}
	if out := a.writes("p:A p:B"); out.After.List.ID != first {
		t.Errorf("written again: %q in list %s", show(out.After), out.After.List.ID)
	}
	if now, err := d.store.Load(t.Context(), second, 0); err != nil || !now.Archived || now.ReplacedBy != first {
		t.Errorf("the other plan: %+v, %v", now, err)
	}
}

// A finished list that is written again as it is stays one list, whatever active text and
// whichever wording of a person's is sent.
func TestAFinishedListWrittenAgain(t *testing.T) {
	for name, of := range map[string]func(*desk) chat{
		"proof":  func(d *desk) chat { return d.proof("a") },
		"hint":   func(d *desk) chat { return d.hint("p1", "process:1") },
		"shared": func(d *desk) chat { return d.shared("p1") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			a := of(d)
			list := a.writes("i:A p:B").After.List.ID
			d.personEdits(list, reword("1", "Z"))
			a.writes("i:A p:B")
			a.writes("c:A c:B")
			if out := a.writes("c:A c:B"); out.After.List.ID != list || show(out.After) != "c:Z c:B" {
				t.Errorf("written again: %q in list %s", show(out.After), out.After.List.ID)
			}
			view, lines := todo.CoreView(), []todo.Line{{Text: "Z", Active: "Zed", Status: "completed"}, {Text: "B", Active: "Bee", Status: "completed"}}
			out, err := a.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
			if err != nil || out.After.List.ID != list {
				t.Errorf("with other active texts: %+v, %v", out.After, err)
			}
		})
	}
}

// A plan that shares generic steps with one that was put away is another plan; nothing of
// the old one goes with it.
func TestAPlanLikeOneThatWasPutAway(t *testing.T) {
	for _, plan := range []string{"i:Refactor p:Run-tests p:Commit", "i:Run-tests"} {
		d := newDesk(t)
		a := d.proof("a")
		first := a.writes("c:Design c:Implement p:Run-tests p:Commit").After
		a.writes("i:Fix p:Write-changelog")
		if out := a.writes(plan); out.After.List.ID == first.List.ID {
			t.Errorf("%q revived %q", plan, show(first))
		}
		if now, err := d.store.Load(t.Context(), first.List.ID, 0); err != nil || show(now) != show(first) {
			t.Errorf("after %q: %q, %v", plan, show(now), err)
		}
	}
}

// A list that another chat works on is not put away when the one that began it goes on
// to another plan.
func TestAListOfTwoChatsIsNotPutAway(t *testing.T) {
	d := newDesk(t)
	a, b := d.proof("a"), d.proof("b")
	list := a.writes("i:A p:B").After
	b.resumes(list)
	b.writes("c:A i:B")
	if out := a.writes("p:X p:Y"); out.PutAway.Title != "" {
		t.Errorf("put away %+v", out.PutAway)
	}
	if now, err := d.store.Load(t.Context(), list.List.ID, 0); err != nil || now.Archived {
		t.Errorf("%+v, %v", now, err)
	}
}

// Two processes that serve one chat at the same time go on with a list each.
func TestTwoProcessesOfOneChat(t *testing.T) {
	d := newDesk(t)
	chat := func(process string) chat {
		c := d.hint(process, "chat:x")
		c.who.Chat = "x"
		return c
	}
	one, two := chat("p1"), chat("p2")
	first := one.writes("i:A p:B p:C").After.List.ID
	second := two.writes("p:X p:Y").After.List.ID
	if out := one.writes("c:A"); out.After.List.ID != first {
		t.Errorf("the first process writes %q", show(out.After))
	}
	if out := two.writes("c:X"); out.After.List.ID != second {
		t.Errorf("the second process writes %q", show(out.After))
	}
}

// A sub-agent's plan that was put away comes back like any other.
func TestASubAgentsPlanComesBack(t *testing.T) {
	d := newDesk(t)
	sub := d.proof("a/agent:x")
	write := func(list string) todo.Snapshot {
		t.Helper()
		view, lines := todo.CoreView(), parseLines(list)
		view.Active = false
		out, err := sub.apply(todo.Target{Agent: "x", Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
		checkErr(t, err)
		return out.After
	}
	first := write("i:A p:B").List.ID
	write("i:X p:Y")
	if back := write("c:A i:B"); back.List.ID != first || back.Archived {
		t.Errorf("%+v", back)
	}
}

// A title that the host suggests takes no title from the list that a person gave it
// unseen.
func TestASuggestedTitle(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	if _, err := a.lists().Edit(t.Context(), list, todo.Edit{Do: todo.EditRename, Text: "Mine"}, person()); err != nil {
		t.Fatal(err)
	}
	view, lines := todo.CoreView(), parseLines("i:A p:B")
	view.Active = false
	out, err := a.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error {
		d.Suggest("The host's")
		d.Replace(view, lines)
		return nil
	})
	if err != nil || out.After.Title() != "Mine" || out.Titled != "Mine" {
		t.Errorf("titled %q, told %q, %v", out.After.Title(), out.Titled, err)
	}
}
