package board_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// BAD-INPUT 69
func TestAWriteAfterManyEditsOfAPerson(t *testing.T) {
	for name, next := range map[string]board.Write{
		"of the conversation that saw the list": {Target: target("a"), Change: add("B")},
		"of one that never saw it":              {Target: target("b"), Change: add("B")},
	} {
		t.Run(name, func(t *testing.T) {
			store := &counter{Store: memory.New()}
			b := newBoard(t, store)
			first := apply(t, b, board.Write{Target: target("a"), Change: add("A")})
			list := first.After.List.ID
			for n := range 298 {
				apply(t, b, board.Write{Target: board.Target{List: list}, Writer: person(), Change: reword("1", fmt.Sprint("A", n))})
			}
			next.List = list
			store.reads = 0
			out, err := b.As("").Apply(t.Context(), next)
			if err != nil || len(out.Unseen) != 1 || out.By != todo.People {
				t.Errorf("70: report %+v, %v", out.Report, err)
			}
			if store.reads > 6 {
				t.Errorf("70: the write read %d revisions", store.reads)
			}
		})
	}
}

// What an agent read at one board counts for its next write at another, and is stored once.
func TestWhatWasReadIsStored(t *testing.T) {
	store := &counter{Store: memory.New()}
	one, other := newBoard(t, store), newBoard(t, store)
	first := apply(t, one, board.Write{Target: target("a"), Change: add("A")})
	apply(t, one, board.Write{Target: board.Target{List: first.After.List.ID}, Change: add("by another")})
	store.updates = 0
	for range 3 {
		if shown, err := one.As("").Show(t.Context(), target("a")); err != nil || len(shown.Items) != 2 {
			t.Fatalf("shown %v, %v", shown.Items, err)
		}
	}
	checktest.Same(t, "times stored", store.updates, 1)
	out, err := other.As("").Apply(t.Context(), whole(target("a").Conversation, todo.Line{Text: "A", Active: "A", Status: "pending"}))
	if err != nil || len(out.Unseen) > 0 || len(out.After.Items) != 1 {
		t.Errorf("told of %v, %v, %v", out.Unseen, out.After.Items, err)
	}
}

// A write that is refused has stored nothing before, also if it would begin another plan.
func TestARefusedWriteStoresNothing(t *testing.T) {
	store := &counter{Store: memory.New()}
	d := newDesk(t)
	d.store = store
	a := d.proof("a")
	list := a.writes("p:A p:B").After.List.ID
	d.personEdits(list, setStatus("1", todo.Completed))
	store.stored = 0
	refusal := &todo.InputError{Problems: []todo.Problem{{Message: "refused"}}}
	_, err := a.apply(board.Target{Lines: parseLines("p:X p:Y"), View: todo.CoreView()}, func(*todo.Draft) error { return refusal })
	if !errors.Is(err, refusal) || store.stored != 0 {
		t.Errorf("%d rows are stored, %v", store.stored, err)
	}
	if out := a.writes("p:X p:Y"); len(out.Unseen) != 1 || len(a.writes("p:X p:Z").Unseen) != 0 {
		t.Errorf("the person's edit is told %+v", out.Report)
	}
}

// The states of a few open lists among many read who holds these lists, not who holds any. The
// system is asked once for each process.
func TestStatesAskForOpenLists(t *testing.T) {
	for _, open := range []int{3, 40} {
		store := &counter{Store: memory.New()}
		b := newBoard(t, store)
		for n := range 100 {
			plan := add("A")
			if n >= open {
				plan = func(d *todo.Draft) error { d.Append("A"); d.SetStatus("1", todo.Completed); return nil }
			}
			apply(t, b, board.Write{Target: target(fmt.Sprint("chat ", n)), Change: plan})
		}
		reader := newBoard(t, store)
		every := must(reader.As("").Find(t.Context(), board.Query{}))(t)
		*store = counter{Store: store.Store}
		states := must(reader.As("").States(t.Context(), every...))(t)
		working := 0
		for _, s := range states {
			if s.State == todo.Working {
				working++
			}
		}
		if working != open || (open == 3) == (store.all > 0) || store.alive > 1 {
			t.Errorf("%d of %d lists are worked on; %d times who holds any was read, %d times processes asked for", working, open, store.all, store.alive)
		}
	}
}

// Who is calling, rule 4: of the lists that earlier sessions left in a folder only as many are
// looked at as are needed: one to find the newest, two to know whether there are several.
func TestListsLeftAreReadUntilItIsKnown(t *testing.T) {
	store := &counter{Store: memory.New()}
	d := newDesk(t)
	d.store = store
	var newest string
	for n := range 20 {
		process := fmt.Sprint("p", n)
		newest = d.hint(process, "process:"+process).writes(fmt.Sprint("p:A", n)).After.List.ID
		d.stop(process)
		d.now = d.now.Add(time.Second)
	}
	next := d.hint("next", "process:next")
	store.on = 0
	left, err := next.lists().Left(t.Context(), board.Target{Conversation: next.who}, "")
	if err != nil || left.List.ID != newest || store.on != 1 {
		t.Errorf("left is %q, %v; %d lists were looked at, one is enough", show(left), err, store.on)
	}
	store.on = 0
	_, err = next.lists().Current(t.Context(), board.Target{Conversation: next.who, Item: "1"})
	if !errors.Is(err, board.ErrNotFound) || store.on != 2 {
		t.Errorf("a number that may be of several: %v; %d lists were looked at, two are enough", err, store.on)
	}
}

// counter counts what a store is asked for, its updates, and in them the snapshots that are
// read and what is stored.
type counter struct {
	board.Store
	chats                  []string
	all, on, alive         int    // who holds any list, who knows one, processes
	own                    string // the id of a list
	updates, reads, others int    // others are the reads of any list but own
	stored                 int    // snapshots, and what chats have seen
}

func (c *counter) Chat(ctx context.Context, id string) (todo.Chat, error) {
	c.chats = append(c.chats, id)
	return c.Store.Chat(ctx, id)
}

func (c *counter) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	if list == "" {
		c.all++
	} else {
		c.on++
	}
	return c.Store.SeenOn(ctx, principal, list)
}

func (c *counter) Alive(process string) bool { c.alive++; return c.Store.Alive(process) }

func (c *counter) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	c.updates++
	return c.Store.Update(ctx, key, func(tx board.Tx) error { return change(countingTx{tx, c}) })
}

type countingTx struct {
	board.Tx
	of *counter
}

func (tx countingTx) count(lists []todo.Snapshot, err error) ([]todo.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		tx.of.reads++
		if l.List.ID != tx.of.own {
			tx.of.others++
		}
	}
	return lists, nil
}

func (tx countingTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	tx.of.stored++
	return tx.Tx.Save(ctx, next)
}

func (tx countingTx) See(ctx context.Context, c board.Seen) error {
	tx.of.stored++
	return tx.Tx.See(ctx, c)
}

func (tx countingTx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	l, err := tx.Tx.Load(ctx, list, revision)
	_, _ = tx.count([]todo.Snapshot{l}, err)
	return l, err
}

func (tx countingTx) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return tx.count(tx.Tx.History(ctx, list, after, limit))
}

func (tx countingTx) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	return tx.count(tx.Tx.Find(ctx, q))
}

func conversation(key string) board.Conversation {
	return board.Conversation{Key: key, Client: "tester", Workspace: "/w"}
}

// BAD-INPUT 69: a conversation that holds its list reads no other one when it writes it. (For
// new texts by a hint alone see docs/rough-edges.md.)
func TestSmallWritesReadNoOtherList(t *testing.T) {
	kinds := map[string]board.Conversation{"proof": {Key: "chat"}, "hint": {Key: "chat", Hint: true},
		"shared hint": {Key: "chat", Hint: true, Shared: true}}
	whole := func(plan string) func(c chat, _ todo.Snapshot) {
		return func(c chat, _ todo.Snapshot) { c.writes(plan) }
	}
	item := func(c chat, list todo.Snapshot) {
		must(c.apply(board.Target{Item: list.Items[0].ID}, setStatus(list.Items[0].ID, todo.InProgress)))(t)
	}
	begins := func(c chat, _ todo.Snapshot) { c.who.Key = "other"; c.writes("p:A p:B") }
	for _, write := range []struct {
		kind, what string
		make       func(c chat, list todo.Snapshot)
	}{
		{"proof", "the whole list", whole("p:A p:B p:D")}, {"proof", "an item", item}, {"proof", "the first list", begins},
		{"hint", "its own texts", whole("p:A p:B p:C")}, {"hint", "an item", item},
		{"shared hint", "its own texts", whole("p:A p:B p:C")}, {"shared hint", "an item", item},
	} {
		d, store := newDesk(t), &counter{Store: memory.New()}
		d.store = store
		c := chat{desk: d, process: "p1", who: kinds[write.kind]}
		for n := range 3 {
			other := d.proof(fmt.Sprint("large", n))
			large := other.writes("p:X p:Y").After
			if c.who.Hint { // with proof it would write the last of them, not begin its own
				checkErr(t, c.lists().SetCurrent(t.Context(), c.who, large))
			}
		}
		list := c.writes("p:A p:B p:C").After
		store.own, store.others = list.List.ID, 0
		write.make(c, list)
		checktest.Same(t, fmt.Sprintf("69: %s of a conversation known by %s: it reads", write.what, write.kind), store.others, 0)
	}
}

// A plan of four times as many steps costs four times as much: no line is compared with every
// item, which allocates. Each "c:old*" of a scene is as many items.
func TestLargeWrites(t *testing.T) {
	for name, scene := range map[string]string{
		"a finished plan after a finished one":     "a = proof\na writes c:old*\na writes c:new*",
		"a plan of the shape of a finished one":    "a b = hint p1\na writes c:same* p:same*\nb writes p:same* c:same*",
		"a plan in a named list that others wrote": "a b = hint p1 name=x\na writes p:old*\nb writes p:new*",
		"a plan merged with a person's":            "a = proof\na writes p:old*\nperson items 1 b:theirs* p:theirs*\na writes p:old* c:old*",
	} {
		cost := func(steps int) float64 {
			large := regexp.MustCompile(`\S+\*`).ReplaceAllStringFunc(scene, func(item string) (items string) {
				for n := range steps {
					items += fmt.Sprint(strings.TrimSuffix(item, "*"), "-step-", n, strings.Repeat("-look-at-it", 8), " ")
				}
				return items
			})
			return testing.AllocsPerRun(1, func() {
				if played := play(t, strings.Split(large, "\n"), ""); strings.Contains(played, "refused") {
					t.Fatal(played)
				}
			})
		}
		if small, large := cost(50), cost(200); large > 5*small {
			t.Errorf("%s: four times as many steps cost %.1f times as many allocations: %.0f and %.0f", name, large/small, small, large)
		}
	}
}
