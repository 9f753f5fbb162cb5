package board_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// world is several agents in several processes, and people, at work on one store. Each
// agent knows of its list what it was last shown.
type world struct {
	*desk
	r      *rapid.T
	agents []*agent
	words  int                 // texts given so far, so that each is another one
	orders map[string][]string // the ids of items as people put them, by list
	edits  map[string]string   // the words that people gave items, by list and item, as long as they stand
	free   map[string]bool     // lists that people put away or brought back, or that agents resumed
}

type agent struct {
	chat
	certain bool // its client keeps a connection for one chat
	list    string
	shown   []todo.Item
	first   map[string]string // the text by which it knew an item first, by list and item
	fresh   bool              // it has not written since its process was started again
}

func (w *world) text() string { w.words++; return fmt.Sprint("Step ", w.words) }

func (w *world) pick() *agent { return rapid.SampledFrom(w.agents).Draw(w.r, "agent") }

func (a *agent) lines() (lines []todo.Line) {
	for _, i := range a.shown {
		lines = append(lines, todo.Line{Text: i.Text, Active: i.ActiveText(), Status: string(i.Status)})
	}
	return lines
}

// write makes a whole-list write and checks what holds of every answer.
func (w *world) write(a *agent, lines []todo.Line) board.Outcome {
	view := todo.CoreView()
	before := a.list
	out, err := a.apply(board.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
	if err != nil {
		if _, refused := err.(interface{ Unwrap() error }); refused && len(lines) == 0 && !a.certain {
			return board.Outcome{}
		}
		w.r.Fatal(err)
	}
	if out.After.Revision == 0 {
		return out
	}
	a.list, a.shown = out.After.List.ID, out.After.Items
	for _, i := range a.shown {
		if _, known := a.first[a.list+"/"+i.ID]; !known {
			a.first[a.list+"/"+i.ID] = i.Text
		}
	}
	fresh := a.fresh
	if a.fresh = false; fresh {
		return out
	}
	if before != "" && before != a.list && a.certain && !w.free[before] {
		if s := w.load(before); s.Open() && !s.Archived {
			w.r.Fatalf("%s went on from %q to %q, and left it open", a.who.Key, show(s), show(out.After))
		}
	}
	return out
}

func (w *world) load(list string) todo.Snapshot {
	s, err := w.store.Load(context.Background(), list, 0)
	if err != nil && list != "" {
		w.r.Fatal(err)
	}
	return s
}

// keepsPeoplesWords checks that what people wrote stands, on the lists that no agent has
// overridden.
func (w *world) keepsPeoplesWords() {
	for key, text := range w.edits {
		list, id, _ := strings.Cut(key, "/")
		s := w.load(list)
		if item, ok := s.Item(id); ok && item.Text != text && item.PersonEdit.Repeats < todo.MaxRepeats {
			w.r.Fatalf("a person wrote %q, and item %s of %q is %q: %+v", text, id, show(s), item.Text, item.PersonEdit)
		}
	}
}

// keepsPeoplesOrder checks that the items stand as people put them.
func (w *world) keepsPeoplesOrder() {
	for list, order := range w.orders {
		s := w.load(list)
		last := -1
		for _, item := range s.Items {
			if at := slices.Index(order, item.ID); at >= 0 && at < last && !s.OrderOverridden() {
				w.r.Fatalf("a person put the items as %v, and they stand as %q: %+v", order, show(s), s.Order)
			} else if at >= 0 {
				last = at
			}
		}
	}
}

func (w *world) oneOpenList() {
	lists := must(w.store.Find(context.Background(), board.Query{}))(w.r)
	open := make(map[string][]string)
	for _, l := range lists {
		if l.Open() && !l.Archived && !w.free[l.List.ID] {
			open[l.List.Conversation] = append(open[l.List.Conversation], show(l))
		}
	}
	for _, a := range w.agents {
		if a.certain && len(open[a.who.Key]) > 1 {
			w.r.Fatalf("%s has %q", a.who.Key, open[a.who.Key])
		}
	}
}

// One chat has one open list, a person's words stand and reach the agent once, and
// nobody's list is taken, whatever several agents, people and processes do, and
// whenever these are restarted (docs/spec/architecture.md, "Who is calling", rules 1 to 6;
// docs/spec/variants.md, H1 and H2).
func TestChats(t *testing.T) { rapid.Check(t, func(r *rapid.T) { checkChats(r, newDesk(t)) }) }

// checkChats lets agents and people do at random what they do, and checks that it holds.
func checkChats(r *rapid.T, d *desk) {
	w := &world{desk: d, r: r, edits: map[string]string{}, orders: map[string][]string{}, free: map[string]bool{}}
	for n := range 2 {
		proof := w.proof(fmt.Sprint("session:", n))
		proof.process = fmt.Sprint("server", n)
		hint := w.hint(fmt.Sprint("cli", n), fmt.Sprint("process:first", n))
		for _, c := range []chat{proof, hint, w.shared("desktop")} {
			w.agents = append(w.agents, &agent{chat: c, certain: !c.who.Shared, first: map[string]string{}})
		}
	}
	actions := map[string]func(*agent){
		"an agent plans":          w.plans,
		"an agent goes on":        w.goesOn,
		"an agent drops steps":    w.dropsSteps,
		"an agent has its habits": w.hasHabits,
		"an agent repeats itself": w.repeatsItself,
		"an agent clears":         w.clears,
		"a person rewords":        w.personRewords,
		"a person moves an item":  w.personMoves,
		"a process restarts":      w.restarts,
	}
	for range rapid.IntRange(10, 60).Draw(r, "steps") {
		actions[rapid.SampledFrom(slices.Sorted(maps.Keys(actions))).Draw(r, "action")](w.pick())
		w.keepsPeoplesWords()
		w.keepsPeoplesOrder()
		w.oneOpenList()
	}
	for name := range w.boards {
		w.stop(name)
	}
}

func (w *world) plans(a *agent) {
	var lines []todo.Line
	for range rapid.IntRange(1, 4).Draw(w.r, "items") {
		lines = append(lines, todo.Line{Text: w.text(), Status: "pending"})
	}
	w.write(a, lines)
}

func (w *world) goesOn(a *agent) {
	lines := a.lines()
	if len(lines) == 0 {
		return
	}
	list := a.list
	n := rapid.IntRange(0, len(lines)-1).Draw(w.r, "item")
	lines[n].Status = rapid.SampledFrom([]string{"in_progress", "completed"}).Draw(w.r, "status")
	now := w.load(list)
	settled := now.Settled()
	if a.fresh && (len(lines) < 2 || now.Archived || len(now.Items) != len(lines)) {
		settled = true // too little to tell
	}
	for _, i := range now.Items {
		settled = settled || a.fresh && i.Status.Settled() // one of them would have to be sent as finished
	}
	if out := w.write(a, lines); a.certain && !settled && out.After.List.ID != list {
		w.r.Fatalf("%s wrote %v of %q, which became %q", a.who.Key, lines, show(now), show(out.After))
	}
}

func (w *world) dropsSteps(a *agent) {
	lines := a.lines()
	if len(lines) < 2 {
		return
	}
	list := a.list
	now := w.load(list)
	fresh := a.fresh
	if out := w.write(a, lines[:1]); a.certain && !fresh && !now.Settled() && out.After.List.ID != list {
		w.r.Fatalf("cut down, %q became the list %q", show(now), show(out.After))
	}
}

func (w *world) hasHabits(a *agent) {
	if len(a.shown) == 0 || !a.certain || a.fresh {
		return
	}
	a.shown = slices.Clone(a.shown)
	for n, i := range a.shown {
		a.shown[n].Text, a.shown[n].Active = a.first[a.list+"/"+i.ID], ""
	}
	slices.SortFunc(a.shown, func(x, y todo.Item) int {
		return cmp.Or(cmp.Compare(len(x.ID), len(y.ID)), cmp.Compare(x.ID, y.ID))
	})
	list := a.list
	now := w.load(list)
	out := w.write(a, a.lines())
	for _, i := range now.Items {
		if _, stays := out.After.Item(i.ID); !now.Settled() && (out.After.List.ID != list || !stays) {
			w.r.Fatalf("by its habits %q became %q", show(now), show(out.After))
		}
	}
}

func (w *world) repeatsItself(a *agent) {
	w.write(a, a.lines())
	if a.list == "" || len(a.shown) == 0 {
		return
	}
	if out := w.write(a, a.lines()); out.Changed || len(out.Unseen) > 0 {
		w.r.Fatalf("%s wrote what it was shown, %q: changed %v, told %v", a.who.Key, show(out.After), out.Changed, out.Unseen)
	}
}

func (w *world) clears(a *agent) {
	if !a.certain {
		return
	}
	out := w.write(a, []todo.Line{})
	if got := a.reads(); got != "" && got != "none" && len(out.Unseen) == 0 { // what a person did stays
		w.r.Fatalf("cleared, it reads %q", got)
	}
}

func (w *world) personRewords(a *agent) {
	s := w.load(a.list)
	if len(s.Items) == 0 || s.Archived {
		return
	}
	item := rapid.SampledFrom(s.Items).Draw(w.r, "item")
	text := w.text()
	w.personEdits(a.list, func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditText, Item: item.ID, Text: text}) })
	w.edits[a.list+"/"+item.ID] = text
}

func (w *world) personMoves(a *agent) {
	s := w.load(a.list)
	if len(s.Items) < 2 || s.Archived {
		return
	}
	w.personEdits(a.list, func(d *todo.Draft) error {
		return d.Edit(todo.Edit{Do: todo.EditMove, Item: s.Items[0].ID, To: len(s.Items)})
	})
	w.orders[a.list] = nil
	for n := range s.Items {
		w.orders[a.list] = append(w.orders[a.list], s.Items[(n+1)%len(s.Items)].ID)
	}
}

func (w *world) restarts(a *agent) {
	if w.boards[a.process] != nil {
		w.stop(a.process)
	}
	if a.who.Hint { // its connection ends with it
		w.words++
		a.process = fmt.Sprint("again", w.words)
		a.who.Key = fmt.Sprint(a.who.Key, ".", w.words)
		a.fresh = true
	}
}
