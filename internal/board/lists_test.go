package board_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Purge removes more lists than fit in one transaction, but none if one id is unknown.
func TestPurgeMany(t *testing.T) {
	d := newDesk(t)
	ids := []string{"unknown"}
	for n := range 120 {
		id := fmt.Sprint(n)
		must(storetest.Save(t.Context(), d.store, todo.Snapshot{List: todo.List{ID: id}, Revision: 1}))(t)
		ids = append(ids, id)
	}
	lists := d.board("p1").Everyone()
	if n, err := lists.Purge(t.Context(), todo.Writer{}, ids...); n != 0 || !errors.Is(err, board.ErrNotFound) {
		t.Errorf("with an unknown one: %d, %v", n, err)
	}
	n, err := lists.Purge(t.Context(), todo.Writer{}, ids[1:]...)
	if left, _ := lists.Find(t.Context(), board.Query{}); n != 120 || err != nil || len(left) > 0 {
		t.Errorf("purged %d, %v; %d are left", n, err, len(left))
	}
}

// An update by Everyone has AllPrincipals in its key, so that the store runs no other update at the
// same time.
func TestUpdatesOfEveryone(t *testing.T) {
	g := &guarded{Store: storetest.NewMemory()}
	must(storetest.Save(t.Context(), g, todo.Snapshot{List: todo.List{ID: "a", Principal: "p"}, Revision: 1}))(t)
	b := board.NewBoard(g)
	t.Cleanup(b.Close)
	edit := todo.Edit{Do: todo.EditAdd, Text: "more"}
	must(b.Everyone().Edit(t.Context(), "a", edit, todo.Writer{}))(t)
	must(b.Everyone().Purge(t.Context(), todo.Writer{}, "a"))(t)
	for _, write := range g.writes[1:] {
		if want := fmt.Sprintf("Update of {Principal:%s ", board.AllPrincipals); !strings.HasPrefix(write, want) {
			t.Errorf("%q, want %q", write, want)
		}
	}
}

// BAD-INPUT 65: Lists without end; 100 small changes of a list of 256 kB → `--max-lists`,
// `--max-size` and 1,000 lists of a conversation a day [bound them](../lists.md#nothing-is-lost):
// old lists make room, else new ones are refused, with what to do
func TestLookedAtListsStay(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A").After
	a.lists().Look(t.Context(), list)
	a.writes("p:X p:Y")
	on, err := d.store.SeenOn(context.Background(), "", list.List.ID)
	if err != nil || len(on) != 2 {
		t.Errorf("65: seen %+v, %v", on, err)
	}
}

// BAD-INPUT 107: A person and an agent change one item a hundred times → Each is told each time;
// an item remembers eight earlier wordings
func TestAHundredChangesOfOneItem(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	first := a.writes("p:A p:B").After
	view := todo.CoreView()
	for n := range 100 {
		d.personEdits(first.List.ID, reword("2", fmt.Sprint("person ", n)))
		text := fmt.Sprint("agent ", n)
		if n%3 == 0 {
			text = "B" // the agent's old wording
		}
		lines := []todo.Line{{ID: "2", Text: text, Active: text, Status: []string{"pending", "in_progress"}[n%2]}}
		out := must(a.apply(board.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Put(view, lines...); return nil }))(t)
		if len(out.Unseen) != 1 || out.After.List.ID != first.List.ID || len(out.After.Items) != 2 {
			t.Fatalf("107: change %d: %q, told %+v", n, show(out.After), out.Report)
		}
		if item, _ := out.After.Item("2"); len(item.PersonEdit.Replaced) > 8*20 {
			t.Fatalf("107: after %d changes %d bytes of earlier wordings", n, len(item.PersonEdit.Replaced))
		}
	}
	if now, err := d.store.Load(t.Context(), first.List.ID, 0); err != nil || now.Revision > 201 {
		t.Errorf("107: revision %d, %v", now.Revision, err)
	}
}

// All spellings of a Windows folder by hosts, hooks and shells mean one folder; other paths are
// not changed.
func TestFolder(t *testing.T) {
	b := newBoard(t, storetest.NewMemory())
	for n, spelled := range []string{`C:\work\app`, `c:\work\app\`, "C:/work/app", "c:/work/app/", "/c:/work/app"} {
		c := board.Conversation{Key: fmt.Sprint("chat:", n), Client: "c", Workspace: spelled}
		apply(t, b, board.Write{Target: board.Target{Conversation: c}, Change: add("A")})
		if found, err := b.As("").Find(t.Context(), board.Query{Workspace: &spelled}); err != nil || len(found) != n+1 || found[0].List.Workspace != `C:\work\app` {
			t.Errorf("%s: %+v, %v", spelled, found, err)
		}
	}
	for path, want := range map[string]string{`d:\`: `D:\`, "/work/app/": "/work/app/", "/c/work": "/c/work", "c:": "c:", `\\host\src`: `\\host\src`, "": ""} {
		checktest.Same(t, path, todo.Folder(path), want)
	}
}

// Pages yields each list once, also lists that are saved or begin meanwhile.
func TestPages(t *testing.T) {
	store := storetest.NewMemory()
	lists := board.NewBoard(store).As("")
	save := func(from, to int, revision int64) {
		t.Helper()
		for n := from; n < to; n++ {
			must(storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: strconv.Itoa(n)}, Revision: revision, Items: []todo.Item{}}))(t)
		}
	}
	save(0, 1000, 1)
	seen, pages := make(map[string]int), 0
	for page, err := range lists.Pages(t.Context(), board.Query{}) {
		checkErr(t, err)
		if pages++; pages == 1 {
			save(0, 450, 2) // these are among the newest now
			save(1000, 1001, 1)
		}
		for _, s := range page {
			seen[s.List.ID]++
		}
	}
	for n := range 1001 {
		checktest.Same(t, fmt.Sprintf("list %d was read", n), seen[strconv.Itoa(n)], 1)
	}
	for range lists.Pages(t.Context(), board.Query{}) {
		break // a caller that stops is not called again
	}
	for page, err := range board.NewBoard(storetest.NewMemory()).As("").Pages(t.Context(), board.Query{}) {
		t.Errorf("a page of an empty store: %v, %v", page, err)
	}
}

func later(s todo.Snapshot) (texts string) {
	for _, i := range s.Later {
		texts += " " + i.Text
	}
	return texts
}

// An edit that is too large, or that lacks lines, is refused.
func TestEditLimits(t *testing.T) {
	for want, e := range map[string]todo.Edit{
		"lines must be an array":                       {Do: todo.EditItems},
		"at most 1000 items":                           {Do: todo.EditItems, Lines: make([]todo.Line, todo.MaxItems+1)},
		"more than 4000 characters":                    {Do: todo.EditAdd, Text: strings.Repeat("x", todo.MaxText+1)},
		"title: the text has more than 200 characters": {Do: todo.EditRename, Text: strings.Repeat("x", todo.MaxTitle+1)},
		"the text has more than 4000 characters":       {Do: todo.EditBlock, Item: "1", Text: strings.Repeat("x", todo.MaxText+1)},
	} {
		_, err := e.Clean()
		var input *todo.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", e.Do, err, want)
		}
	}
}

// ends is a store whose Alive returns true the first time, and false from then on, as if a
// process ended during a write.
type ends struct {
	board.Store
	questions int
}

func (e *ends) Alive(string) bool { e.questions++; return e.questions == 1 }

// A whole-list write on a list with a name keeps all items of another agent, or none, even if
// that agent ends during the write.
func TestAWriteKeepsAllOfAnAgentThatEnds(t *testing.T) {
	store := storetest.NewMemory()
	writes := func(on board.Store, session string, lines ...todo.Line) todo.Snapshot {
		who := board.Conversation{Key: todo.ChatKey(session), Chat: session, Name: "plan"}
		view := todo.CoreView()
		return apply(t, newBoard(t, on), board.Write{Target: board.Target{Conversation: who, Lines: lines, View: view},
			Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }}).After
	}
	writes(store, "one", todo.Line{Text: "A", Status: string(todo.Pending)})
	writes(store, "other", todo.Line{Text: "X", Status: string(todo.Pending)}, todo.Line{Text: "Y", Status: string(todo.InProgress)}, todo.Line{Text: "Z", Status: string(todo.Pending)})
	writes(store, "one", todo.Line{Text: "A", Status: string(todo.InProgress)}) // its agent is shown the other items
	asked := &ends{Store: store}
	after := writes(asked, "one", todo.Line{Text: "A", Status: string(todo.Completed)})
	if len(after.Items) != 4 || asked.questions == 0 {
		t.Errorf("after %d questions the list has %d items, want all 4", asked.questions, len(after.Items))
	}
}

// BAD-INPUT 69: a write after 298 edits of a person reads at most six revisions.
func TestAWriteAfterManyEditsOfAPerson(t *testing.T) {
	for name, next := range map[string]board.Write{
		"of the conversation that saw the list": {Target: target("a"), Change: add("B")},
		"of one that never saw it":              {Target: target("b"), Change: add("B")},
	} {
		t.Run(name, func(t *testing.T) {
			store := &counter{Store: storetest.NewMemory()}
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
				t.Errorf("69: report %+v, %v", out.Report, err)
			}
			if store.reads > 6 {
				t.Errorf("69: the write read %d revisions", store.reads)
			}
		})
	}
}

// A revision that an agent read through one board counts as seen when it writes through another, and is stored once.
func TestWhatWasReadIsStored(t *testing.T) {
	store := &counter{Store: storetest.NewMemory()}
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

// A refused write stores nothing, even if it would have begun another list.
func TestARefusedWriteStoresNothing(t *testing.T) {
	store := &counter{Store: storetest.NewMemory()}
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

// For a few open lists, States reads the holders of each; for many, the holders of all lists. WithChats reads the chats
// once, for their rows and for the states.
func TestStatesAskForOpenLists(t *testing.T) {
	for _, open := range []int{3, 40} {
		store := &counter{Store: storetest.NewMemory()}
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
		if working != open || (open == 3) == (store.all > 0) {
			t.Errorf("%d of %d lists are worked on; %d times who holds any was read", working, open, store.all)
		}
		*store = counter{Store: store.Store}
		if _, with, err := reader.As("").WithChats(t.Context(), every); err != nil || len(with) < 100 || store.many != 1 || len(store.chats) > 0 {
			t.Errorf("with chats: %d states, %v; all chats are read %d times, others by themselves: %v", len(with), err, store.many, store.chats)
		}
	}
}

// Who is calling, rule 4: of the lists that earlier sessions left in a folder, Left looks at one,
// to find the newest, and Current at two, to know whether there are several.
func TestListsLeftAreReadUntilItIsKnown(t *testing.T) {
	store := &counter{Store: storetest.NewMemory()}
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

// counter counts the reads and the updates of a store and, inside updates, the snapshots
// that are read and the rows that are stored.
type counter struct {
	board.Store
	chats                  []string
	all, on, many          int    // reads of the holders of all lists, of the holders of one list, and of many chats
	own                    string // the id of a list
	updates, reads, others int    // others are the reads of any list but own
	stored                 int    // snapshots, and what chats have seen
}

func (c *counter) Chat(ctx context.Context, id string) (todo.Chat, error) {
	c.chats = append(c.chats, id)
	return c.Store.Chat(ctx, id)
}

func (c *counter) Chats(ctx context.Context, q board.ChatQuery) ([]todo.Chat, error) {
	c.many++
	return c.Store.Chats(ctx, q)
}

func (c *counter) SeenOn(ctx context.Context, principal, list string) ([]board.Seen, error) {
	if list == "" {
		c.all++
	} else {
		c.on++
	}
	return c.Store.SeenOn(ctx, principal, list)
}

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

// BAD-INPUT 69: a write by a conversation that holds its list reads no other list. (A write of
// new texts does if the key is only a hint: see docs/rough-edges.md.)
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
		d, store := newDesk(t), &counter{Store: storetest.NewMemory()}
		d.store = store
		c := chat{desk: d, process: "p1", who: kinds[write.kind]}
		for n := range 3 {
			other := d.proof(fmt.Sprint("large", n))
			large := other.writes("p:X p:Y").After
			if c.who.Hint { // with proof it would write the last large list, not begin its own
				checkErr(t, c.lists().SetCurrent(t.Context(), c.who, large))
			}
		}
		list := c.writes("p:A p:B p:C").After
		store.own, store.others = list.List.ID, 0
		write.make(c, list)
		checktest.Same(t, fmt.Sprintf("69: %s of a conversation known by %s: it reads", write.what, write.kind), store.others, 0)
	}
}

// If many chats share a key, a write with all texts of one of their lists is compared with that list alone, even if it
// is the oldest.
func TestOwnTextsAreFoundFirst(t *testing.T) {
	cost := func(chats int) float64 {
		c := chat{desk: newDesk(t), process: "p1", who: board.Conversation{Key: "chat", Hint: true, Shared: true}}
		return testing.AllocsPerRun(1, func() {
			for n := range chats {
				c.writes(fmt.Sprintf("p:first-of-%[1]d p:second-of-%[1]d p:third-of-%[1]d p:fourth-of-%[1]d", n))
			}
		}) / float64(chats)
	}
	if few, many := cost(2), cost(16); many > 3*few {
		t.Errorf("a write by one of 16 chats costs %.0f allocations, by one of 2 %.0f", many, few)
	}
}

// The allocations for a plan grow in proportion to its steps, since no line is compared with every item. In a scene,
// "c:old*" stands for one item per step.
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
				s := newScript(t)
				for command := range strings.SplitSeq(large, "\n") {
					if printed := s.run(strings.Fields(command)); strings.Contains(printed, "refused") {
						t.Fatal(printed)
					}
				}
			})
		}
		if small, large := cost(50), cost(200); large > 8*small { // with a quadratic part the factor nears 16
			t.Errorf("%s: four times as many steps cost %.1f times as many allocations: %.0f and %.0f", name, large/small, small, large)
		}
	}
}
