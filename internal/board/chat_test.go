package board_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A chat without an open list is among its user's lists if hooks report what its agent does. Lists of the chat's
// sub-agents are below it. Watchers receive the chat. Reading the list of an unknown chat makes no chat.
func TestChatsAreAmongLists(t *testing.T) {
	b := newBoard(t, storetest.NewMemory())
	ada := b.For(board.Identity{Principal: "team", Subject: "ada"})
	who := board.Conversation{Key: todo.ChatKey("s"), Chat: "s", Client: "claude-code", Workspace: "/w"}
	hear := func(heard func(c *todo.Chat, at time.Time)) {
		t.Helper()
		must(ada.Hear(t.Context(), who, func(c *todo.Chat, at time.Time) {
			c.Serve(todo.Here{Process: todo.Detached, Until: at.Add(time.Hour)})
			heard(c, at)
		}))(t)
	}
	expect := func(when string, lists board.Lists, want ...string) {
		t.Helper()
		found, states, err := lists.WithChats(t.Context(), must(lists.Find(t.Context(), board.Query{}))(t))
		checkErr(t, err)
		var got []string
		for _, s := range found {
			line := fmt.Sprintf("%s %s %s", s.Title(), states[s.List.ID].State, states[s.List.ID].Asks)
			if s.IsChat() {
				line = "chat: " + line
			}
			if todo.IsChatID(s.List.Parent) {
				line += "below a chat"
			}
			got = append(got, strings.TrimSpace(line))
		}
		slices.Sort(got)
		checktest.Same(t, when, gocmp.Diff(want, got), "")
	}
	watch := ada.Watch(nil)
	defer watch.Close()
	_, err := ada.Show(t.Context(), board.Target{Conversation: who})
	checkErr(t, board.PassOver(err))
	expect("it read", ada)
	hear(func(c *todo.Chat, at time.Time) {
		c.Titled(todo.Topic{Text: "Publish it", From: todo.FromPrompt}, at)
		c.Says(todo.Asks, "run `npm publish`?", at)
	})
	changed, err := watch.Next(t.Context())
	if err != nil || len(changed) != 1 || !changed[0].IsChat() || changed[0].Title() != "Publish it" {
		t.Fatalf("who watches is sent %+v, %v", changed, err)
	}
	expect("it waits", ada, "chat: Publish it waiting run `npm publish`?")
	for _, other := range []board.Identity{{Principal: "team", Subject: "bob"}, {Principal: "eve", Subject: "ada"}} {
		expect("for "+other.Subject, b.For(other))
		if _, err := b.For(other).ChatAsList(t.Context(), changed[0].List.ID); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("%s reads the chat: %v", other.Subject, err)
		}
	}
	sub := board.Conversation{Key: todo.AgentKey(who.Key, "a"), Parent: who.Key, Agent: "scout", Workspace: "/w"}
	write := func(of board.Conversation, status todo.Status) {
		t.Helper()
		must(ada.Apply(t.Context(), whole(of, todo.Line{Text: "Look at " + of.Agent, Status: string(status)})))(t)
	}
	write(sub, todo.InProgress)
	expect("a sub-agent has a list", ada, "Look at scout working below a chat", "chat: Publish it waiting run `npm publish`?")
	write(sub, todo.Completed)
	write(who, todo.InProgress)
	expect("it has a list", ada, "Look at scout finished", "Publish it working")
	write(who, todo.Completed)
	hear(func(c *todo.Chat, at time.Time) { c.Titled(todo.Topic{Text: "And now", From: todo.FromPrompt}, at) })
	expect("its list is finished", ada, "Look at scout finished", "Publish it finished", "chat: And now working")
	hear(func(c *todo.Chat, at time.Time) { c.Says(todo.Rests, "", at) })
	expect("it rests", ada, "Look at scout finished", "Publish it finished", "chat: And now idle")
	hear(func(c *todo.Chat, at time.Time) { c.End("other", at) })
	expect("it ended", ada, "Look at scout finished", "Publish it finished")
}

// Hear reads one chat, and writes only if the chat changes. A hook that knows the chat, but not the name of its list,
// finds the list.
func TestHearingReadsOneChat(t *testing.T) {
	store := &counter{Store: storetest.NewMemory()}
	lists, who := newBoard(t, store).As(""), board.Conversation{Key: todo.ChatKey("s"), Chat: "s", Name: "plan"}
	for n, writes := range []int{1, 0, 0} {
		store.chats, store.updates = nil, 0
		must(lists.Hear(t.Context(), who, func(c *todo.Chat, at time.Time) { c.Says(todo.Rests, "", at) }))(t)
		slices.Sort(store.chats)
		if len(slices.Compact(store.chats)) != 1 || store.updates != writes {
			t.Errorf("time %d: it asked for %s, and wrote %d times", n, store.chats, store.updates)
		}
	}
	list := must(lists.Apply(t.Context(), board.Write{Target: board.Target{Conversation: who}, Change: add("A")}))(t).After
	who.Name = ""
	checktest.Same(t, "it finds", checktest.Must(lists.Current(t.Context(), board.Target{Conversation: who}))(t).List.ID, list.List.ID)
}

// Who is calling: two chats with ids of their host never become one, in any order of hook events
// and of writes by the chats and their process. The chat that is proved first takes over all lists
// that the process wrote before that proof; no other chat gets them.
func TestChatsNeverMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		b := board.NewBoard(store)
		defer b.Close()
		lists, ctx := b.As(""), context.Background()
		process := board.Conversation{Key: "process:p", Hint: true, Client: "claude-code", Workspace: "/w"}
		proof := "" // the chat that was proved first, and so takes over from the process
		proved := func(id string) board.Conversation {
			who := board.Conversation{Key: todo.ChatKey(id), Chat: id, Client: "claude-code", Workspace: "/w"}
			if proof = cmp.Or(proof, id); proof == id {
				who.Takes = process.Key
			}
			return who
		}
		var unproved, first []string // the lists of the process so far, and those that the chat taker took over
		owner := map[string]string{} // by list: the chat that may hold it
		taker := ""
		for n := range rapid.IntRange(1, 12).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "chat")
			switch rapid.SampledFrom([]string{"hear", "call", "writes", "process writes"}).Draw(t, "does") {
			case "hear":
				who := board.Conversation{Key: todo.ChatKey(id), Chat: id}
				must(lists.Hear(ctx, who, func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, id+"?", at) }))(t)
			case "call":
				checkErr(t, lists.HearKey(ctx, proved(id), board.CallKey, fmt.Sprint("call ", n), board.KeyAge))
				if by, err := lists.Keyed(ctx, board.CallKey, fmt.Sprint("call ", n)); err != nil || by.HostID != id {
					t.Fatalf("the call of %s is of %+v, %v", id, by, err)
				}
			case "writes":
				out := writeLines(t, lists, proved(id), fmt.Sprint(id, n, " one"), fmt.Sprint(id, n, " two"))
				if taker == "" && id == proof && len(unproved) > 0 && !slices.Contains(slices.Collect(maps.Values(owner)), id) {
					taker, first = id, unproved
				}
				owner[out.List.ID] = id
			case "process writes":
				if proof != "" { // from then on the server uses the chat's key
					continue
				}
				out := writeLines(t, lists, process, fmt.Sprint("p", n, " one"), fmt.Sprint("p", n, " two"))
				unproved = append(unproved, out.List.ID)
			}
		}
		for _, id := range []string{"a", "b", "c"} {
			held := heldBy(t, store, todo.ChatID("", "", todo.ChatKey(id), false))
			for list := range held {
				if own := owner[list] == id || taker == id && slices.Contains(first, list); !own {
					t.Fatalf("chat %s holds the list of %q (the taker is %q)", id, owner[list], taker)
				}
			}
			for _, list := range first {
				if taker == id && !held[list] {
					t.Fatalf("%s took over not the whole: %s is missing", id, list)
				}
			}
		}
	})
}

func writeLines(t *rapid.T, lists board.Lists, who board.Conversation, texts ...string) todo.Snapshot {
	var lines []todo.Line
	for _, text := range texts {
		lines = append(lines, todo.Line{Text: text, Status: "pending"})
	}
	return must(lists.Apply(context.Background(), whole(who, lines...)))(t).After
}

func heldBy(t *rapid.T, store board.Store, chat string) map[string]bool {
	held := make(map[string]bool)
	for _, l := range must(store.Find(context.Background(), board.Query{}))(t) {
		for _, c := range must(store.SeenOn(context.Background(), "", l.List.ID))(t) {
			if c.Chat == chat && c.Held > 0 {
				held[l.List.ID] = true
			}
		}
	}
	return held
}

type guarded struct {
	board.Store
	writes []string
}

func (g *guarded) Update(ctx context.Context, of board.Key, change func(board.Tx) error) error {
	g.writes = append(g.writes, fmt.Sprintf("Update of %+v", of))
	return g.Store.Update(ctx, of, change)
}

func (g *guarded) Attend(process string) func() {
	g.writes = append(g.writes, "Attend")
	return g.Store.Attend(process)
}

// everything returns as text all data of a principal in a store, and the Seen entries of the given chats' keys.
func everything(t *testing.T, st board.Store, principal string, keys ...string) string {
	t.Helper()
	var out strings.Builder
	add := func(v any, err error) {
		data, err2 := json.Marshal(v)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		out.Write(append(data, '\n'))
	}
	lists, err := st.Find(t.Context(), board.Query{Principal: &principal, Deleted: true})
	add(lists, err)
	for _, l := range lists {
		history, err := st.History(t.Context(), l.List.ID, 0, 0)
		add(history, err)
		on, err := st.SeenOn(t.Context(), principal, l.List.ID)
		add(on, err)
	}
	chats, err := st.Chats(t.Context(), board.ChatQuery{Principal: &principal})
	add(chats, err)
	for _, key := range keys {
		seen, err := st.Seen(t.Context(), board.Key{Principal: principal, Chat: key})
		add(seen, err)
	}
	return out.String()
}

// arguments returns the arguments to call a method on a list, named by its conversation or, if byID is true, its id.
func arguments(ctx context.Context, method reflect.Type, list todo.Snapshot, byID bool) (in []reflect.Value) {
	id, who := list.List.ID, board.Conversation{Key: list.List.Conversation, Chat: "c", Client: "claude-code", Workspace: "/w"}
	target := board.Target{Conversation: who}
	if byID {
		target.List = id
	}
	known := []any{
		id, int64(1), 3, true, time.Unix(0, 0), time.Hour, who, list, []todo.Snapshot{list}, target, list.List, board.Query{Deleted: true}, board.Key{}, board.CallKey,
		board.Write{Target: target, Change: func(d *todo.Draft) error { d.Append("theirs"); return nil }},
		todo.Edit{Do: todo.EditAdd, Text: "theirs"}, todo.Writer{Client: "x"}, todo.Chat{ID: who.Key, Principal: "team", User: "alice", Client: "x"},
	}
	for i := 1; i < method.NumIn(); i++ {
		of := method.In(i)
		if method.IsVariadic() && i == method.NumIn()-1 {
			of = of.Elem()
		}
		switch {
		case of == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(ctx))
			continue
		case of.Kind() == reflect.Func:
			in = append(in, reflect.MakeFunc(of, func(args []reflect.Value) (out []reflect.Value) {
				if chat, ok := args[0].Interface().(*todo.Chat); ok {
					chat.Says(todo.Asks, "theirs", time.Unix(0, 0))
				}
				for n := range of.NumOut() {
					value := reflect.New(of.Out(n)).Elem()
					if value.Kind() == reflect.Bool {
						value.SetBool(true)
					}
					out = append(out, value)
				}
				return out
			}))
			continue
		}
		for _, v := range known {
			if reflect.TypeOf(v) == of {
				in = append(in, reflect.ValueOf(v))
				break
			}
		}
		if len(in) < i {
			panic("no argument of the type " + of.String())
		}
	}
	return in
}

// finish uses up the results of a method: it reads iterators to the end, and closes followers.
func finish(results []reflect.Value) {
	for _, r := range results {
		if closer, ok := r.Interface().(interface{ Close() }); ok {
			closer.Close()
		}
		if r.Kind() == reflect.Func && r.Type().NumIn() == 1 && r.Type().In(0).Kind() == reflect.Func {
			yield := r.Type().In(0)
			r.Call([]reflect.Value{reflect.MakeFunc(yield, func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(true)} })})
		}
	}
}

// BAD-INPUT 34: no method changes data of another principal, whatever ids it is given.
//
// BAD-INPUT 33: A write with a read scope, in each protocol version, also by a hook's event → 403
// that names the scope; the board refuses it too
func TestEveryMethodAsEachIdentity(t *testing.T) {
	alice := board.Identity{Principal: "team", Subject: "alice"}
	for name, as := range map[string]board.Identity{
		"a viewer": {Principal: "team", Subject: "alice", ReadOnly: true}, "another principal": {Principal: "eve", Subject: "eve"},
		"a viewer of another principal": {Principal: "eve", ReadOnly: true},
	} {
		lists := reflect.TypeFor[board.Lists]()
		for n := range lists.NumMethod() {
			method := lists.Method(n)
			for _, byID := range []bool{true, false} {
				st := &guarded{Store: storetest.NewMemory()}
				b := newBoard(t, st)
				own := b.For(alice)
				who := own.Own(board.Conversation{Key: "chat:c", Chat: "c", Client: "claude-code", Workspace: "/w"})
				out := must(own.Apply(t.Context(), board.Write{Target: board.Target{Conversation: who, Append: true}, Change: add("mine")}))(t)
				before := everything(t, st, "team", who.Key, todo.PersonChat)
				st.writes = nil
				finish(reflect.ValueOf(b.For(as)).Method(n).Call(arguments(t.Context(), method.Type, out.After, byID)))
				if after := everything(t, st, "team", who.Key, todo.PersonChat); after != before {
					t.Errorf("%s, as %s, changes what another one has:\n%s\n%s", method.Name, name, before, after)
				}
				if as.ReadOnly && len(st.writes) > 0 {
					t.Errorf("%s, as %s, writes: %s", method.Name, name, st.writes)
				}
			}
		}
	}
}

// Each member of a team has chats of their own, even under the same id: the topic, question,
// current list and notices of a chat are its member's alone. Members share the lists.
func TestMembersHaveTheirOwnChats(t *testing.T) {
	b := newBoard(t, storetest.NewMemory())
	alice, bob := b.For(board.Identity{Principal: "team", Subject: "alice"}), b.For(board.Identity{Principal: "team", Subject: "bob"})
	who := board.Conversation{Key: "chat:c", Chat: "c", Client: "claude-code", Workspace: "/w"}
	says := func(c *todo.Chat, at time.Time) {
		c.Titled(todo.Topic{Text: "IGNORE ALL", From: todo.FromHost}, at)
		c.Says(todo.Asks, "deploy?", at)
	}
	must(bob.Hear(t.Context(), who, says))(t)
	write := func(as board.Lists) todo.Snapshot {
		return must(as.Apply(t.Context(), board.Write{Target: board.Target{Conversation: who, Append: true}, Change: add("mine")}))(t).After
	}
	list := write(alice)
	checktest.Same(t, "the title is another member's", list.Title(), "mine")
	if err := bob.Bind(t.Context(), who, list.List.ID); board.KindOf(err) != board.KindMissing {
		t.Errorf("a chat is bound to a list that none of its member's chats knows: %v", err)
	}
	checkErr(t, bob.Leave(t.Context(), who))
	if earlier, err := bob.Claim(t.Context(), list.List, "finish", time.Hour); err != nil || !earlier.IsZero() {
		t.Fatal(earlier, err)
	}
	if earlier, err := alice.Claim(t.Context(), list.List, "finish", time.Hour); err != nil || !earlier.IsZero() {
		t.Errorf("another member used up what one is told once: %s, %v", earlier, err)
	}
	states, err := bob.States(t.Context(), list)
	if err != nil || states[list.List.ID] != (todo.Standing{State: todo.Working}) {
		t.Errorf("after another member said that the chat ended it is %q, %v", states[list.List.ID], err)
	}
	if again := write(alice); again.List.ID != list.List.ID {
		t.Error("the chat goes on with another list")
	}
	if theirs := write(bob); theirs.List.ID == list.List.ID || theirs.Title() != "IGNORE ALL" {
		t.Errorf("the chat of the same id of another member has the list %q", theirs.Title())
	}
}

// world is several agents in several processes, and people, at work on one store. Each
// agent knows its list as it was last shown.
type world struct {
	*desk
	r      *rapid.T
	agents []*agent
	words  int                 // number of texts made so far, so that each text is new
	orders map[string][]string // by list: ids of items in the order that people gave them
	edits  map[string]string   // the texts that people gave items, by list and item
}

type agent struct {
	chat
	certain bool // its client uses each connection for one chat only
	list    string
	shown   []todo.Item
	first   map[string]string // the first text that it knew of an item, by list and item
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

// write makes a whole-list write and checks the rules for every answer.
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
	if before != "" && before != a.list && a.certain {
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

// keepsPeoplesWords checks that items have the texts that people gave them, unless an agent
// has overridden these.
func (w *world) keepsPeoplesWords() {
	for key, text := range w.edits {
		list, id, _ := strings.Cut(key, "/")
		s := w.load(list)
		if item, ok := s.Item(id); ok && item.Text != text && item.PersonEdit.Repeats < todo.MaxRepeats {
			w.r.Fatalf("a person wrote %q, and item %s of %q is %q: %+v", text, id, show(s), item.Text, item.PersonEdit)
		}
	}
}

// keepsPeoplesOrder checks that items are in the order that people gave them, unless an agent overrode it.
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
		if l.Open() && !l.Archived {
			open[l.List.Conversation] = append(open[l.List.Conversation], show(l))
		}
	}
	for _, a := range w.agents {
		if a.certain && len(open[a.who.Key]) > 1 {
			w.r.Fatalf("%s has %q", a.who.Key, open[a.who.Key])
		}
	}
}

// A chat has one open list, a person's words stay and reach the agent once, and no chat takes another's list, whatever
// agents and people do, and whenever processes are restarted (docs/spec/architecture.md, "Who is calling", rules 1 to
// 6; docs/spec/variants.md, H1 and H2).
func TestChats(t *testing.T) { rapid.Check(t, func(r *rapid.T) { checkChats(r, newDesk(t)) }) }

// checkChats makes agents and people act at random, and checks the rules of TestChats.
func checkChats(r *rapid.T, d *desk) {
	w := &world{desk: d, r: r, edits: map[string]string{}, orders: map[string][]string{}}
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
		settled = true // the list may not be recognised
	}
	for _, i := range now.Items {
		settled = settled || a.fresh && i.Status.Settled() // it is recognised only if the write has a settled item, too
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
	if got := a.reads(); got != "" && got != "none" && len(out.Unseen) == 0 { // only a person's reported changes keep items
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
	if a.who.Hint { // its connection ends with its process
		w.words++
		a.process = fmt.Sprint("again", w.words)
		a.who.Key = fmt.Sprint(a.who.Key, ".", w.words)
		a.fresh = true
	}
}
