//go:build e2e && linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 54: what five processes on one file answer to clients in HTTP sessions
// and on stdio, who write and read the same named lists at once, could have been
// answered one call after the other, each between its call and its return. One of
// the processes is killed again and again.
//
// The model is one list: its revision, and its items with whether each is done.
// Every answer has both, so nothing hides in the model: it says exactly what each
// call must answer on the list as it is. A whole-list write does not set the list,
// as it is merged with what others did. What it does is what differs between the
// list that its agent last saw and the list that it wrote, so that is the operation:
// items added, done and dropped. These are chosen so that no two can contradict each
// other: texts are unique, items only become done, and only done ones are dropped.
//
// Each client has one conversation with one process, as what an agent saw by reading
// is known to the process that read. Calls of the process that was killed may have
// happened or not; it only adds, as an agent whose call failed does not know what it
// may assume.
//
// BAD-INPUT 54: Two replicas write one list, or begin one for the same conversation →
// One is first, the other is merged onto it; none is lost, and one list begins
func TestLinearizable(t *testing.T) {
	rounds, each := size(1, 10), size(40, 220)
	total := row{Fault: "linearizability", Tried: "reads, additions, updates, whole-list writes of 2 named lists by 9 clients, 5 processes"}
	var kills, unknown, happened int
	for round := range rounds {
		h := recordCalls(t, each, uint64(round))
		if t.Failed() {
			return
		}
		if got := porcupine.CheckOperationsTimeout(listModel(), h.calls, time.Minute); got != porcupine.Ok {
			_, info := porcupine.CheckOperationsVerbose(listModel(), h.calls, time.Minute)
			page := filepath.Join(os.TempDir(), "not-linearizable.html")
			err := porcupine.VisualizePath(listModel(), info, page)
			t.Errorf("round %d: the calls are not linearizable: %s; see %s (%v)", round, got, page, err)
			total.Lost++
		}
		if round == 0 {
			checkFalsified(t, h.calls)
		}
		kills, unknown, happened = kills+h.kills, unknown+h.unknown, happened+h.happened
		total.Acknowledged += len(h.calls) - h.happened
	}
	total.Times = fmt.Sprintf("%d rounds, %d kills", rounds, kills)
	total.Notes = fmt.Sprintf("checked by porcupine; %d outcomes unknown, of which %d had happened", unknown, happened)
	report.Add(t, total)
}

// listOp is what a call does to a list. One that only reads has neither of its
// fields.
type listOp struct {
	list        string
	adds        []string
	does, drops []string
	update      bool // does one item, and is refused when that is not there
	whole       bool // may also move items, which makes a revision
}

// listState is what an answer says of a list, and the state of the model. Items is
// one text a line in order of the alphabet, with "x " before those that are done.
type listState struct {
	revision int64
	items    string
	refused  bool // of an answer: the item was not there
	unknown  bool // of an answer: there was none
}

func stateOf(revision int64, items map[string]bool) listState {
	var lines []string
	for text, done := range items {
		if done {
			text = "x " + text
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	return listState{revision: revision, items: strings.Join(lines, "\n")}
}

func (s listState) set() map[string]bool {
	items := map[string]bool{}
	for line := range strings.SplitSeq(s.items, "\n") {
		if text, done := strings.CutPrefix(line, "x "); text != "" {
			items[text] = done
		}
	}
	return items
}

// after returns the list after an operation, with the revision that it has if that
// changed the list; and whether the operation is refused.
func (s listState) after(op listOp) (next listState, refused bool) {
	items := s.set()
	if _, there := items[firstOf(op.does)]; op.update && !there {
		return s, true
	}
	for _, text := range op.adds {
		items[text] = false
	}
	for _, text := range op.does {
		if _, there := items[text]; there {
			items[text] = true
		}
	}
	for _, text := range op.drops {
		delete(items, text)
	}
	next = stateOf(s.revision, items)
	if next.items != s.items {
		next.revision++
	}
	return next, false
}

func firstOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// listModel is the sequential specification of one list; calls of different lists
// are checked apart.
func listModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(calls []porcupine.Operation) [][]porcupine.Operation {
			byList := map[string][]porcupine.Operation{}
			for _, c := range calls {
				byList[c.Input.(listOp).list] = append(byList[c.Input.(listOp).list], c)
			}
			return slices.Collect(maps.Values(byList))
		},
		Init: func() any { return listState{} },
		Step: func(state, input, output any) (bool, any) {
			s, op, got := state.(listState), input.(listOp), output.(listState)
			next, refused := s.after(op)
			switch {
			case got.unknown:
				return true, next
			case refused || got.refused:
				return refused && got.refused, s
			case op.whole && next == s && got.revision == s.revision+1:
				next.revision++ // it moved items
			}
			return next == got, next
		},
	}
}

// recorded is the calls of a round.
type recorded struct {
	mu             sync.Mutex
	began          time.Time
	calls          []porcupine.Operation
	kills, unknown int
	happened       int // of the unknown ones
}

func (h *recorded) add(client int, op listOp, called time.Duration, got listState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	returned := int64(time.Since(h.began))
	if got.unknown {
		returned = math.MaxInt64 // see settleUnknown
		h.unknown++
	}
	h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: op, Call: int64(called), Output: got, Return: returned})
}

// recordCalls has all clients make so many calls each, and records them.
func recordCalls(t *testing.T, each int, seed uint64) *recorded {
	t.Helper()
	path := filepath.Join(t.TempDir(), "todos.db")
	h := &recorded{began: time.Now()}
	var clients []*listClient
	join := func(list string, c *chattest.Chat) *listClient {
		l := &listClient{Chat: c, number: len(clients), list: list, h: h, ids: map[string]string{}, random: rand.New(rand.NewPCG(seed, uint64(len(clients))))}
		clients = append(clients, l)
		return l
	}
	lists := []string{"red", "blue"}
	var panels []string
	options := []string{"--store", "sqlite:" + path, "--max-items", "0", "--item-ids"}
	for range 2 {
		s := mustServe(t, options...)
		panels = append(panels, s.url)
		for i := range 3 {
			join(lists[i%2], s.session(t, lists[i%2]))
		}
	}
	for _, list := range lists {
		a, err := newAgent(t, append(options, "--list", list)...)
		if err != nil {
			t.Fatal(err)
		}
		join(list, a.Chat)
	}
	mortal := join("red", nil)
	mortal.start = func() (*agent, error) {
		return newAgent(t, append(options, "--list", "red")...)
	}
	// An item that is never done keeps each list from being settled, after which the
	// name would have another.
	for _, c := range clients[:2] {
		if err := c.do("create_todos", chattest.Steps("anchor "+c.list), listOp{adds: []string{"anchor " + c.list}}); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for _, c := range clients {
		c.panels = panels
		all.Go(func() {
			if err := c.work(each); err != nil {
				t.Errorf("client %d: %v", c.number, err)
			}
		})
	}
	all.Wait()
	for _, c := range clients[:2] {
		if err := c.read(); err != nil {
			t.Fatal(err)
		}
	}
	h.settleUnknown()
	return h
}

// settleUnknown says of each call without an answer what became of it. Nothing that
// it would have added was seen, up to the reads at the end: then it did not happen.
// Or it was: then it happened before the answer of the first who saw it. Without
// this the checker tries every set of them at every step, which no machine ends.
func (h *recorded) settleUnknown() {
	seen := map[string]int64{} // when an item was first in an answer
	for _, c := range h.calls {
		for text := range c.Output.(listState).set() {
			if at, before := seen[text]; !before || c.Return < at {
				seen[text] = c.Return
			}
		}
	}
	h.calls = slices.DeleteFunc(h.calls, func(c porcupine.Operation) bool {
		_, happened := seen[firstOf(c.Input.(listOp).adds)]
		return c.Output.(listState).unknown && !happened
	})
	for i, c := range h.calls {
		if c.Output.(listState).unknown {
			h.calls[i].Return = seen[c.Input.(listOp).adds[0]]
			h.happened++
		}
	}
}

// listClient makes calls on a list and records them.
type listClient struct {
	*chattest.Chat
	number int
	list   string
	h      *recorded
	random *rand.Rand
	start  func() (*agent, error) // of the client whose process is killed
	panels []string               // the addresses of all servers
	id     string                 // of the list
	serial int
	seen   map[string]bool   // the list as its agent last saw it
	order  []string          // its texts
	ids    map[string]string // the numbers of items, by text
}

func (c *listClient) work(times int) error {
	if c.start != nil {
		return c.addUntilKilled(times)
	}
	for range times {
		var err error
		switch n := c.random.IntN(10); {
		case n < 1:
			err = c.look()
		case n < 3:
			err = c.read()
		case n < 5:
			err = c.add()
		case n < 7:
			err = c.update()
		default:
			err = c.write()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text returns a text that no other item has.
func (c *listClient) text() string {
	c.serial++
	return fmt.Sprintf("c%d-%d", c.number, c.serial)
}

func (c *listClient) read() error { return c.do("SetTodoList", `{}`, listOp{}) }

// look reads the list as a person's browser does, through any of the servers. Its
// agent does not see that.
func (c *listClient) look() error {
	if c.id == "" {
		return c.read()
	}
	called := time.Since(c.h.began)
	status, body := get(c.panels[c.random.IntN(len(c.panels))] + "/api/lists/" + c.id)
	var got chattest.List
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		return fmt.Errorf("read a list by HTTP: %d %w", status, err)
	}
	items := map[string]bool{}
	for _, i := range got.Items {
		items[i.Text] = i.Status == todo.Completed
	}
	c.h.add(c.number, listOp{list: c.list}, called, stateOf(got.Revision, items))
	return nil
}

func (c *listClient) add() error {
	text := c.text()
	return c.do("create_todos", chattest.Steps(text), listOp{adds: []string{text}})
}

// update sets an item that its agent saw to done, which it may be already.
func (c *listClient) update() error {
	text := c.pick(func(text string) bool { return c.ids[text] != "" })
	if text == "" {
		return c.add()
	}
	return c.do("update_todo", fmt.Sprintf(`{"id":%q,"status":"completed"}`, c.ids[text]), listOp{does: []string{text}, update: true})
}

// write writes the whole list that its agent saw: with an item done, the done ones
// dropped now and then, and a new one at the end.
func (c *listClient) write() error {
	op := listOp{whole: true, adds: []string{c.text()}}
	if text := c.pick(func(text string) bool { return !c.seen[text] }); text != "" {
		op.does = []string{text}
	}
	drops := c.random.IntN(3) == 0 || len(c.seen) > 30
	plan := ""
	for _, text := range append(slices.Clone(c.order), op.adds...) {
		switch {
		case c.seen[text] && drops:
			op.drops = append(op.drops, text)
		case c.seen[text] || slices.Contains(op.does, text):
			plan += " c:" + text
		default:
			plan += " p:" + text
		}
	}
	return c.do("TodoWrite", chattest.Arguments("TodoWrite", plan), op)
}

// pick returns one of the items that its agent saw, but for the anchor; empty when
// there is none.
func (c *listClient) pick(which func(text string) bool) string {
	var some []string
	for _, text := range c.order {
		if !strings.HasPrefix(text, "anchor") && which(text) {
			some = append(some, text)
		}
	}
	if len(some) == 0 {
		return ""
	}
	return some[c.random.IntN(len(some))]
}

// do makes a call and records it. A call that is refused for another reason than
// the model's is an error.
func (c *listClient) do(tool, args string, op listOp) error {
	op.list = c.list
	called := time.Since(c.h.began)
	a, err := c.Try(tool, args)
	if errors.Is(err, chattest.ErrGone) {
		c.h.add(c.number, op, called, listState{unknown: true})
	}
	if err != nil {
		return err
	}
	if refused := a.Refused(); refused != nil {
		if !op.update || !strings.Contains(refused.Error(), "there is no step with id") {
			return refused
		}
		c.h.add(c.number, op, called, listState{refused: true})
		return c.read()
	}
	c.id, c.seen, c.order = a.List(), map[string]bool{}, nil
	for _, i := range a.Items() {
		c.seen[i.Text] = i.Status == todo.Completed
		c.order = append(c.order, i.Text)
		if i.ID != "" {
			c.ids[i.Text] = i.ID
		}
	}
	c.h.add(c.number, op, called, stateOf(a.Revision(), c.seen))
	return nil
}

// addUntilKilled adds items by a process that is killed in some of the calls, or just
// after, and started again.
func (c *listClient) addUntilKilled(times int) error {
	var a *agent
	for n := range times {
		if a == nil {
			var err error
			if a, err = c.start(); err != nil {
				return err
			}
			c.Chat = a.Chat
		}
		dies := n%10 == 9
		if dies {
			mortal := a.Cmd.Process
			time.AfterFunc(time.Duration(c.random.IntN(8000))*time.Microsecond, func() { _ = mortal.Kill() })
		}
		if err := c.add(); err != nil && !(dies && errors.Is(err, chattest.ErrGone)) {
			return err
		}
		if dies {
			a.Kill()
			a, c.h.kills = nil, c.h.kills+1
		}
	}
	return nil
}

// checkFalsified checks that the checker finds what is wrong: a read that answers
// what a later call had replaced before it was called, a write that was lost, and
// one that was applied twice.
func checkFalsified(t *testing.T, calls []porcupine.Operation) {
	t.Helper()
	var reads, adds []int
	for i, c := range calls {
		op, got := c.Input.(listOp), c.Output.(listState)
		if got.unknown || got.refused || op.list != "blue" || got.revision < 5 {
			continue
		}
		switch {
		case len(op.adds)+len(op.does)+len(op.drops) == 0:
			reads = append(reads, i)
		case len(op.adds) == 1 && !op.whole:
			adds = append(adds, i)
		}
	}
	if len(reads) == 0 || len(adds) == 0 {
		t.Fatal("there are no calls to falsify")
	}
	read, add := reads[len(reads)-1], adds[len(adds)/2]
	for name, falsify := range map[string]func(calls []porcupine.Operation){
		"a stale read": func(calls []porcupine.Operation) {
			for _, c := range calls {
				if got := c.Output.(listState); c.Input.(listOp).list == "blue" && got.revision == 2 {
					calls[read].Output = got
				}
			}
		},
		"a lost write": func(calls []porcupine.Operation) {
			op := calls[add].Input.(listOp)
			op.adds = []string{"another text"}
			calls[add].Input = op
		},
		"a write applied twice": func(calls []porcupine.Operation) {
			got := calls[add].Output.(listState)
			got.revision++
			calls[add].Output = got
		},
	} {
		wrong := slices.Clone(calls)
		falsify(wrong)
		if got := porcupine.CheckOperationsTimeout(listModel(), wrong, time.Minute); got != porcupine.Illegal {
			t.Errorf("%s was not found: %s", name, got)
		}
	}
}
