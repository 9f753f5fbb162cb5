package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// conversation shares a stdio process with others.
type conversation struct {
	name  string
	next  int      // number of the last item made
	items []string // texts, in order
	done  map[string]bool
	alone todo.Snapshot // the list it would have without the others
	began bool
}

// nextWrite returns the arguments of the conversation's next whole-list write,
// which keeps at least half of its items, completes some and adds some.
func (c *conversation) nextWrite(t *rapid.T) []byte {
	keep := len(c.items)
	if keep > 0 {
		keep = rapid.IntRange((keep+1)/2, keep).Draw(t, c.name+" keeps")
	}
	c.items = slices.Clone(c.items[len(c.items)-keep:])
	for range rapid.IntRange(0, 2).Draw(t, c.name+" adds") {
		c.next++
		c.items = append(c.items, fmt.Sprintf("%s step %d", c.name, c.next))
	}
	if len(c.items) == 0 {
		c.next++
		c.items = append(c.items, fmt.Sprintf("%s step %d", c.name, c.next))
	}
	// One item stays open, because another rule applies to settled lists.
	if len(c.items) > 1 && rapid.Bool().Draw(t, c.name+" ticks") {
		c.done[c.items[0]] = true
	}
	var out []map[string]string
	for _, text := range c.items {
		status := "pending"
		if c.done[text] && text != c.items[len(c.items)-1] {
			status = "done"
		}
		out = append(out, map[string]string{"title": text, "status": status})
	}
	raw, _ := json.Marshal(map[string]any{"todos": out})
	return raw
}

// Two to five conversations in one shared scope have no item in common and keep
// at least half of their items from write to write. Whatever the order of their
// writes, each list ends as it would without the others
// (docs/spec/architecture.md, affinity), also when the process restarts between
// two writes.
func TestConversationsShareAScope(t *testing.T) {
	list := tools.Find(must(tools.New(tools.Defaults())), "SetTodoList")
	rapid.Check(t, func(t *rapid.T) {
		board := todo.NewBoard(memory.New())
		defer board.Close()
		scope := todo.Scope{Conversation: "stdio:x:/w"}
		var conversations []*conversation
		for i := range rapid.IntRange(2, 5).Draw(t, "conversations") {
			conversations = append(conversations, &conversation{name: string(rune('A' + i)), done: map[string]bool{}})
		}
		current := ""
		for range rapid.IntRange(1, 25).Draw(t, "writes") {
			c := rapid.SampledFrom(conversations).Draw(t, "who")
			call, err := list.Read(c.nextWrite(t))
			if err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				current = ""
			}
			out, err := board.As("").Apply(context.Background(), todo.Write{
				Target: todo.Target{Scope: scope, Choose: todo.Affinity(call.Lines, current, time.Now())}, Change: call.Change})
			if err != nil {
				t.Fatal(err)
			}
			current = out.After.List.ID
			// Apply the same write to the list without the others.
			before := c.alone
			d := todo.NewDraft(before, time.Now())
			if err := call.Change(d); err != nil {
				t.Fatal(err)
			}
			c.alone.Items, c.began = slices.Clone(d.Items()), true
			for _, i := range d.Items() {
				var n int
				fmt.Sscan(i.ID, &n)
				c.alone.LastID = max(c.alone.LastID, n)
			}
		}
		lists, err := board.As("").Find(context.Background(), todo.Query{Scope: scope.Key()})
		if err != nil {
			t.Fatal(err)
		}
		began := 0
		for _, c := range conversations {
			if !c.began {
				continue
			}
			began++
			if !slices.ContainsFunc(lists, func(l todo.Snapshot) bool { return formatItems(l.Items) == formatItems(c.alone.Items) }) {
				t.Fatalf("%s without the others has\n%s\nthe store has\n%s", c.name, formatItems(c.alone.Items), formatLists(lists))
			}
		}
		if len(lists) != began {
			t.Fatalf("%d conversations have %d lists:\n%s", began, len(lists), formatLists(lists))
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func formatItems(items []todo.Item) (out string) {
	for _, i := range items {
		out += "[" + i.ID + " " + i.Text + " " + string(i.Status) + "]"
	}
	return out
}

func formatLists(lists []todo.Snapshot) (out string) {
	for _, l := range lists {
		out += formatItems(l.Items) + "\n"
	}
	return out
}
