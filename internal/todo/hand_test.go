package todo_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/todo"
)

// reword gives an item another text.
func reword(id, text string) todo.Change {
	return func(d *todo.Draft) error { d.SetText(id, text); return nil }
}

// H2: an agent that was told of a person's wording and sends the old one is told again,
// three times; then its wish counts, and the person's words are kept with the item until
// a person brings them back.
func TestAReplacedWordingIsAHabit(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	d.personEdits(list, reword("2", "Z"))
	if out := a.writes("i:A p:B"); len(out.Unseen) != 1 || len(out.Kept) != 0 || show(out.After) != "i:A p:Z" {
		t.Errorf("before it was told: %q, %+v", show(out.After), out.Report)
	}
	for n := range todo.MaxRepeats {
		out := a.writes([]string{"c:A p:B", "i:A p:B", "p:A p:B"}[n])
		if len(out.Kept) != 1 || out.Kept[0].After.Text != "Z" || out.Kept[0].Before.Text != "B" || len(out.Unseen) != 0 {
			t.Errorf("repeat %d: %q, %+v", n+1, show(out.After), out.Report)
		}
	}
	out := a.writes("i:A p:B")
	item, _ := out.After.Item("2")
	if item.Text != "B" || !item.Overridden() || item.Hand.Text != "Z" || len(out.Kept) != 0 {
		t.Errorf("after %d repeats: %+v, %+v", todo.MaxRepeats, item, out.Report)
	}
	d.personEdits(list, reword("2", item.Hand.Text))
	a.reads()
	if out := a.writes("c:A p:B"); show(out.After) != "c:A p:Z" || len(out.Kept) != 1 {
		t.Errorf("brought back: %q, %+v", show(out.After), out.Report)
	}
}

// H2: the same of an order that a person made; what the agent adds at the end stays
// there.
func TestAReplacedOrderIsAHabit(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B p:C").After.List.ID
	d.personEdits(list, func(d *todo.Draft) error { d.Move("3", 0); return nil })
	if out := a.writes("i:A p:B p:C"); show(out.After) != "p:C i:A p:B" || fmt.Sprint(out.Ordered) != "[C A B]" {
		t.Errorf("before it was told: %q, %+v", show(out.After), out.Report)
	}
	if out := a.writes("c:A p:B p:C p:D"); show(out.After) != "p:C c:A p:B p:D" || len(out.Kept) != 1 {
		t.Errorf("told, with a new item: %q, %+v", show(out.After), out.Report)
	}
	a.writes("i:A p:B p:C p:D")
	a.writes("c:A p:B p:C p:D")
	if out := a.writes("i:A p:B p:C p:D"); show(out.After) != "i:A p:B p:C p:D" || !out.After.Order.Overridden() {
		t.Errorf("after %d repeats: %q, %+v", todo.MaxRepeats, show(out.After), out.After.Order)
	}
	d.personEdits(list, func(d *todo.Draft) error { d.Move("4", 0); return nil })
	a.reads()
	if out := a.writes("p:B p:A p:D p:C"); show(out.After) != "p:B p:A p:D p:C" || len(out.Kept) != 0 {
		t.Errorf("another order: %q, %+v", show(out.After), out.Report)
	}
}

// H2: what a person replaced are all orders that the agent may know, also where the
// person put the items back as they were.
func TestEveryReplacedOrderIsAHabit(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B p:C").After.List.ID
	last := func(id string) { d.personEdits(list, func(d *todo.Draft) error { d.Move(id, 3); return nil }) }
	last("1")
	a.reads() // the order is B C A
	last("2")
	a.reads() // the order is C A B
	last("3") // the order is A B C again
	a.reads()
	for _, habit := range []string{"p:B p:C i:A", "i:C p:A p:B"} {
		if out := a.writes(habit); show(out.After)[2:3] != "A" || len(out.Kept) != 1 {
			t.Errorf("%s: %q, %+v", habit, show(out.After), out.Report)
		}
	}
}

// H2: so is the agent's own order after a person moved an item step by step, and none
// that a person's move said nothing of.
func TestAnOrderThatWasMovedStepByStep(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B p:C p:D p:E").After.List.ID
	for at := 3; at >= 0; at-- {
		d.personEdits(list, func(d *todo.Draft) error { d.Move("5", at); return nil })
	}
	a.reads()
	if out := a.writes("i:A p:B p:C p:D p:E"); show(out.After) != "p:E i:A p:B p:C p:D" || len(out.Kept) != 1 {
		t.Errorf("its own order: %q, %+v", show(out.After), out.Report)
	}
	a.writes("i:A p:B p:F p:G")
	if out := a.writes("i:A p:B p:G p:F"); show(out.After) != "i:A p:B p:G p:F" || len(out.Kept) != 0 {
		t.Errorf("an order of items that no person moved: %q, %+v", show(out.After), out.Report)
	}
}

// A wording that is neither the person's nor the one before is the agent's new one.
func TestAnotherWordingIsTheAgents(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	d.personEdits(list, reword("2", "Z"))
	a.reads()
	view := todo.CoreView()
	lines := []todo.Line{{ID: "2", Text: "Y", Active: "Y", Status: "pending"}}
	out, err := a.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Patch(view, lines); return nil })
	checkErr(t, err)
	if item, _ := out.After.Item("2"); item.Text != "Y" || item.Hand != (todo.Hand{}) {
		t.Errorf("%+v", item)
	}
}

// What a person did to a list is told when its agent begins another plan, too, and not
// again when it comes back to the list.
func TestEditsAreToldWithTheNextPlan(t *testing.T) {
	for _, edit := range []struct {
		name   string
		change todo.Change
		lists  string
	}{
		{"reworded", reword("2", "Z"), "[p:X p:Y p:A p:Z]"},
		{"settled", func(d *todo.Draft) error {
			d.SetStatus("1", todo.Completed)
			d.SetStatus("2", todo.Completed)
			return nil
		}, "[p:X p:Y c:A c:B]"},
	} {
		t.Run(edit.name, func(t *testing.T) {
			d := newDesk(t)
			a := d.proof("a")
			list := a.writes("p:A p:B").After.List.ID
			d.personEdits(list, edit.change)
			out := a.writes("p:X p:Y")
			if len(out.Unseen) == 0 || out.By != todo.People || fmt.Sprint(d.all()) != edit.lists {
				t.Errorf("told %+v; the lists are %q", out.Report, d.all())
			}
			if edit.name != "reworded" {
				return
			}
			if out := a.writes("p:A p:Z"); out.After.List.ID != list || len(out.Unseen) != 0 {
				t.Errorf("back: %q, told %+v", show(out.After), out.Unseen)
			}
		})
	}
}

// A list that a person settled unseen is cleared like any other, and the agent told.
func TestClearingWhatAPersonSettled(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A").After.List.ID
	d.personEdits(list, setStatus("1", todo.Completed))
	if out := a.writes(""); len(out.After.Items) != 0 || len(out.Unseen) != 1 {
		t.Errorf("%q, told %+v", show(out.After), out.Report)
	}
	if got := a.reads(); got != "" {
		t.Errorf("it reads %q", got)
	}
	d.expect("", "c:A")
}

// An item of a list that was put away can be changed by its number; the list stays away.
func TestAnItemOfAPlanPutAway(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	a.writes("p:X p:Y")
	_, err := a.apply(todo.Target{Item: "2"}, setStatus("2", todo.Completed))
	checkErr(t, err)
	if s, err := d.store.Load(t.Context(), list, 0); err != nil || !s.Archived || s.ReplacedBy == "" || show(s) != "p:A c:B" {
		t.Errorf("%+v, %v", s, err)
	}
	if got := a.reads(); got != "p:X p:Y" {
		t.Errorf("its list is %q", got)
	}
}

// What a person blocked unseen stays as it was, whoever began it before.
func TestABlockKeepsWhoBegan(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("c:A p:B").After.List.ID
	d.personEdits(list, func(d *todo.Draft) error { d.Block("2", "no key"); return nil })
	if out := a.writes("c:A i:B"); out.Changed || len(out.Unseen) != 1 {
		t.Errorf("changed %v: %+v", out.Changed, out.Report)
	}
}

// What a person did to a list is told once, also if its agent goes to another one, or
// back to an earlier one, with the answer that tells it.
func TestToldOnceWhenAListIsLeft(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	first := a.writes("p:A p:B p:C").After.List.ID
	d.personEdits(first, func(d *todo.Draft) error { d.Rename("T"); d.Move("3", 0); return nil })
	if out := a.writes("p:X p:Y"); out.Titled != "T" || len(out.Ordered) != 3 {
		t.Errorf("told %+v", out.Report)
	}
	d.personEdits(a.chatsList(), reword("4", "Z"))
	out := a.writes("p:C p:A p:B")
	if out.After.List.ID != first || out.Titled != "" || len(out.Unseen) != 1 || out.Unseen[0].After.Text != "Z" {
		t.Errorf("back: told %+v", out.Report)
	}
}

// chatsList returns the id of the list that a chat holds.
func (c chat) chatsList() string {
	c.t.Helper()
	s, err := c.lists().Held(c.t.Context(), todo.Target{Conversation: c.who})
	if err != nil {
		c.t.Fatal(err)
	}
	return s.List.ID
}

// An active text that describes what a person replaced is a habit, too.
func TestAnActiveTextOfTheOldWording(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	view := todo.CoreView()
	write := func(text, active string) todo.Snapshot {
		t.Helper()
		lines := []todo.Line{{Text: text, Active: active, Status: "in_progress"}, {Text: "B", Active: "B", Status: "pending"}}
		out, err := a.apply(todo.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
		checkErr(t, err)
		return out.After
	}
	list := write("Use MySQL", "Setting up MySQL")
	d.personEdits(list.List.ID, reword("1", "Use Postgres"))
	a.reads()
	if item := write("Use Postgres", "Setting up MySQL").Items[0]; item.ActiveText() != "Use Postgres" {
		t.Errorf("%+v", item)
	}
}

// What a person archived stays so while its agent only repeats its habits.
func TestAHabitBringsNothingBack(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	d.personEdits(list, reword("1", "Z"))
	a.reads()
	if _, err := a.lists().Archive(t.Context(), list, true, person()); err != nil {
		t.Fatal(err)
	}
	if out := a.writes("p:A p:B"); !out.After.Archived {
		t.Errorf("%+v", out.After)
	}
}
