package board_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A chat of which hooks say what it does is among the lists of its own user, until it has a list
// that is open and after that is finished, with the lists of its sub-agents; who watches is sent it.
// A read makes none.
func TestChatsAreAmongLists(t *testing.T) {
	b := newBoard(t, memory.New())
	ada := b.For(board.Identity{Principal: "team", Subject: "ada"})
	who := board.Conversation{Key: todo.ChatKey("s"), Chat: "s", Client: "claude-code", Workspace: "/w"}
	hear := func(heard func(c *todo.Chat, at time.Time)) {
		t.Helper()
		_, err := ada.Hear(t.Context(), who, func(c *todo.Chat, at time.Time) {
			c.Serve(todo.Here{Process: todo.Detached, Until: at.Add(time.Hour)})
			heard(c, at)
		})
		checkErr(t, err)
	}
	expect := func(when string, lists board.Lists, want ...string) {
		t.Helper()
		found := must(lists.WithChats(t.Context(), must(lists.Find(t.Context(), board.Query{}))(t)))(t)
		states := must(lists.States(t.Context(), found...))(t)
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
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
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
		w := whole(of, todo.Line{Text: "Look at " + of.Agent, Status: string(status)})
		w.Agent, w.Begin.ParentConversation = of.Agent, of.Parent
		must(ada.Apply(t.Context(), w))(t)
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

// What is heard of a chat reads one chat, and writes only where that changes something. A hook
// knows the chat and not the name of its list: it finds the list all the same.
func TestHearingReadsOneChat(t *testing.T) {
	store := &counter{Store: memory.New()}
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
	if got, err := lists.Current(t.Context(), board.Target{Conversation: who}); err != nil || got.List.ID != list.List.ID {
		t.Errorf("it finds %q, %v", got.List.ID, err)
	}
}

// Who is calling: two chats with ids of their host's never become one, in any order of what is
// heard of them and what they and their process write. What a process wrote before any proof
// passes, whole, to the chat that is proved first, and to no other.
func TestChatsNeverMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := memory.New()
		b := board.NewBoard(store)
		defer b.Close()
		lists, ctx := b.As(""), context.Background()
		process := board.Conversation{Key: "process:p", Hint: true, Client: "claude-code", Workspace: "/w"}
		proof := "" // the chat that was proved first, to which the server says that it takes over
		proved := func(id string) board.Conversation {
			who := board.Conversation{Key: todo.ChatKey(id), Chat: id, Client: "claude-code", Workspace: "/w"}
			if proof = cmp.Or(proof, id); proof == id {
				who.Takes = process.Key
			}
			return who
		}
		var unproved, first []string // the lists of the process, and what of them passed on
		owner := map[string]string{} // of a list: the chat that may hold it
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
				if proof != "" { // its key leads to the chat then, as the server knows
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

// writeLines has a conversation write a whole list.
func writeLines(t *rapid.T, lists board.Lists, who board.Conversation, texts ...string) todo.Snapshot {
	var lines []todo.Line
	for _, text := range texts {
		lines = append(lines, todo.Line{Text: text, Status: "pending"})
	}
	return must(lists.Apply(context.Background(), whole(who, lines...)))(t).After
}

// heldBy returns the lists that a chat holds or held.
func heldBy(t *rapid.T, store board.Store, chat string) map[string]bool {
	held := make(map[string]bool)
	found := must(store.Find(context.Background(), board.Query{}))(t)
	for _, l := range found {
		on := must(store.SeenOn(context.Background(), "", l.List.ID))(t)
		for _, c := range on {
			if c.Chat == chat && c.Held > 0 {
				held[l.List.ID] = true
			}
		}
	}
	return held
}
