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

// talk is a conversation that shares a stdio process with others: what it has
// planned, and what its list would be had it been alone.
type talk struct {
	name  string
	next  int
	items []string // texts, in order
	done  map[string]bool
	alone todo.Snapshot
	began bool
}

// step makes the chat's next whole-list write: it keeps at least half of its
// items, ticks some, adds some.
func (c *talk) step(t *rapid.T) []byte {
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
	// Something stays open: what happens to settled lists is another rule.
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

// For any interleaving of 2–5 conversations in one shared scope that share no
// item and keep at least half of their items between writes, every list ends as
// it would have alone (ARCHITECTURE.md, affinity). Restarts of the process
// between any two writes make no difference.
func TestConversationsShareAScope(t *testing.T) {
	list := tools.Find(must(tools.New(tools.Defaults())), "SetTodoList")
	rapid.Check(t, func(t *rapid.T) {
		board := todo.NewBoard(memory.New())
		defer board.Close()
		scope := todo.Scope{Conversation: "stdio:x:/w"}
		var chats []*talk
		for i := range rapid.IntRange(2, 5).Draw(t, "chats") {
			chats = append(chats, &talk{name: string(rune('A' + i)), done: map[string]bool{}})
		}
		current := ""
		for range rapid.IntRange(1, 25).Draw(t, "writes") {
			c := rapid.SampledFrom(chats).Draw(t, "who")
			call, err := list.Read(c.step(t))
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
			// The same write on the list the chat has had all along.
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
		for _, c := range chats {
			if !c.began {
				continue
			}
			began++
			if !slices.ContainsFunc(lists, func(l todo.Snapshot) bool { return says(l.Items) == says(c.alone.Items) }) {
				t.Fatalf("%s would have alone\n%s\nthere are\n%s", c.name, says(c.alone.Items), allSay(lists))
			}
		}
		if len(lists) != began {
			t.Fatalf("%d conversations have %d lists:\n%s", began, len(lists), allSay(lists))
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func says(items []todo.Item) (out string) {
	for _, i := range items {
		out += "[" + i.ID + " " + i.Text + " " + string(i.Status) + "]"
	}
	return out
}

func allSay(lists []todo.Snapshot) (out string) {
	for _, l := range lists {
		out += says(l.Items) + "\n"
	}
	return out
}
