package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// BAD-INPUT 34: by whatever message, another principal's list is answered like one
// that does not exist, is not changed, not held afterwards, and in no list of
// lists.
func TestForeignListIsUnknownOverTheWire(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		foreign := foreignList(t, r.store)
		const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
		for _, conn := range []*chat{r.connect(), open().connect()} {
			for i, c := range []*chat{conn, conn.conversation("a"), conn.conversation("a").and(`"todo-mcp/agent":"x"`)} {
				for name, m := range map[string][2]string{
					"read":        {"tools/call", `{"name":"SetTodoList","arguments":{"list_id":"LIST"}}`},
					"write":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[{"content":"theirs","activeForm":"x","status":"completed"}]}}`},
					"clear":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[]}}`},
					"add":         {"tools/call", `{"name":"create_todos","arguments":{"list_id":"LIST","items":["A"]}}`},
					"one item":    {"tools/call", `{"name":"update_todo","arguments":{"list_id":"LIST","id":"1","status":"completed"}}`},
					"page":        {"tools/call", `{"name":"todo_list_view","arguments":{"list_id":"LIST"}}`},
					"tick":        {"tools/call", `{"name":"todo_list_tick","arguments":{"list_id":"LIST","item_id":"1","status":"completed","revision":1}}`},
					"resource":    {"resources/read", `{"uri":"todo://lists/LIST"}`},
					"resume":      {"prompts/get", `{"name":"resume","arguments":{"list":"LIST"}}`},
					"completion":  {"completion/complete", `{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"list","value":"LIST"}}`},
					"subscribing": {"resources/subscribe", `{"uri":"todo://lists/LIST"}`},
				} {
					ask := func(list string) string {
						return strings.ReplaceAll(c.asks(m[0], strings.ReplaceAll(m[1], "LIST", list)).Raw, list, "LIST")
					}
					if got, want := ask(foreign), ask(missing); got != want {
						t.Errorf("34: %d %s: %s\nunknown: %s", i, name, got, want)
					}
				}
				if got := c.resource("todo://lists"); strings.Contains(got, foreign) {
					t.Errorf("34: todo://lists: %s", got)
				}
				if got := c.held(); got != "" {
					t.Errorf("34: the conversation holds %s", got)
				}
			}
		}
		if l := r.load(foreign); l.Revision != 1 || inShort(l) != "p:theirs" {
			t.Errorf("34: the list is %s at revision %d", inShort(l), l.Revision)
		}
		r.expect()
	})
}

// BAD-INPUT 34: keys of conversations, ids of operations and words of hooks belong
// to a principal: what another one holds, did or said is not found by them.
func TestKeysBelongToAPrincipal(t *testing.T) {
	over(t, func(r *rig) {
		b := todo.NewBoard(r.store)
		defer b.Close()
		for _, key := range []string{"conversation:todo-mcp/conversation:a", "conversation:threadId:a", "name:release", "chat:s-1"} {
			if _, err := b.As("somebody").Apply(t.Context(), todo.Write{
				Target: todo.Target{Conversation: todo.Conversation{Key: key}, Append: true},
				Change: func(d *todo.Draft) error { d.Append("theirs"); return nil }}); err != nil {
				t.Fatal(err)
			}
		}
		conn := r.connect()
		for _, c := range []*chat{conn.conversation("a"), conn.with(`"threadId":"a"`)} {
			c.shows("")
			c.adds("ours")
			c.shows("p:ours")
		}
		if got := conn.prompt("resume", `{"list":"release"}`); strings.Contains(got, "theirs") {
			t.Errorf("34: resume: %s", got)
		}
		r.expect("p:ours", "p:ours")
	})
}

// BAD-INPUT 42: names of lists that are none are refused, at the start of a server
// and by resume; ids of lists and of conversations may be anything and find
// nothing that they should not.
func TestOddNames(t *testing.T) {
	odd := []string{"a/b", "..", ".", "*", "%", "'; drop table lists; --", strings.Repeat("x", 10_000), "a\nb", " a", "-a", "a\u0000b", "\u202ename"}
	over(t, func(r *rig) {
		conn := r.connect()
		conn.conversation("main").writes("p:Unrelated")
		for i, name := range odd {
			c := conn.conversation(fmt.Sprint("reader", i))
			if got := c.prompt("resume", fmt.Sprintf(`{"list":%s}`, quoted(name))); !strings.Contains(got, "no unfinished todo list of that id or name") {
				t.Errorf("42: %d: resume: %s", i, got)
			}
			a := c.asks("tools/call", fmt.Sprintf(`{"name":"SetTodoList","arguments":{"list_id":%s}}`, quoted(name)))
			if !a.Result.IsError || !strings.HasPrefix(a.Text(), "Error") || len(a.Raw) > 2000 {
				t.Errorf("42: %d: list_id: %.300s", i, a.Raw)
			}
			if a := c.asks("resources/read", fmt.Sprintf(`{"uri":%s}`, quoted("todo://lists/"+url.PathEscape(name)))); a.Error == nil {
				t.Errorf("42: %d: resource: %.300s", i, a.Raw)
			}
			other := conn.with(`"todo-mcp/conversation":%s`, quoted(name))
			sub := other.and(`"todo-mcp/agent":%s`, quoted(name))
			other.writes(fmt.Sprintf("p:M%d", i))
			sub.writes(fmt.Sprintf("p:S%d", i))
			other.shows(fmt.Sprintf("p:M%d", i))
			sub.shows(fmt.Sprintf("p:S%d", i))
		}
		lists, err := r.store.Find(t.Context(), todo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lists {
			if len(l.List.Conversation) > 400 || len(l.List.Agent) > 64*4 {
				t.Errorf("42: a key of %d bytes, an agent of %d", len(l.List.Conversation), len(l.List.Agent))
			}
		}
		if got := len(lists); got != 1+2*len(odd) {
			t.Errorf("42: %d lists", got)
		}
	})
	for _, name := range odd {
		c := server.Config{Board: todo.NewBoard(memory.New()), List: name}
		if _, err := server.New(c); err == nil || !strings.Contains(err.Error(), "letters, digits") {
			t.Errorf("42: --list %.20q: %v", name, err)
		}
		c.Board.Close()
	}
}

// quoted returns a text as JSON.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return out.String() + `"`
}

// BAD-INPUT 45: when the principal has as many lists as allowed, a call that would
// begin one more is refused in words for the model, changes nothing and leaves the
// conversation with the list it held. What goes on with a list still works, and
// other processes on the file keep to the same limit.
func TestTooManyLists(t *testing.T) {
	for name, stores := range map[string]func(t *testing.T) [2]todo.Store{
		"memory": func(*testing.T) [2]todo.Store {
			s := memory.NewKeeping(todo.Keep{Lists: 3})
			return [2]todo.Store{s, s}
		},
		"file": func(t *testing.T) (both [2]todo.Store) {
			path := t.TempDir() + "/todo.db"
			for i := range both {
				s, err := sqlite.Open(path, sqlite.WithKeep(todo.Keep{Lists: 3}))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				both[i] = s
			}
			return both
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range someOrAll(nil) {
				t.Run(string(by), func(t *testing.T) {
					both := stores(t)
					r := &rig{t, by, both[0]}
					one, two := r.connect(), (&rig{t, by, both[1]}).connect()
					one.conversation("a").writes("c:A")
					one.conversation("b").writes("p:B")
					two.conversation("c").writes("p:C")
					refused := func(c *chat, tool, args string) {
						t.Helper()
						a := c.asks("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
						if !a.Result.IsError || !strings.HasPrefix(a.Text(), "Error") || !strings.Contains(a.Text(), "No further list can begin") {
							t.Errorf("45: %s", a.Raw)
						}
					}
					for _, conn := range []*chat{one, two} {
						refused(conn.conversation("d"), "TodoWrite", plan("p:D"))
						refused(conn.conversation("d"), "create_todos", `{"items":["D"]}`)
						refused(conn.conversation("b").and(`"todo-mcp/agent":"x"`), "TodoWrite", plan("p:S"))
						refused(conn.conversation("a"), "TodoWrite", plan("p:Next")) // its own is finished
						conn.conversation("a").shows("c:A")
						conn.conversation("d").shows("")
					}
					two.conversation("b").writes("p:B p:B2")
					two.conversation("d").resumes(one.conversation("c").held())
					two.conversation("d").writes("c:C")
					r.expect("c:C", "p:B p:B2", "c:A")
				})
			}
		})
	}
}

// BAD-INPUT 54: two processes write one conversation's list at once, each its own
// statuses and items of a plan that both know: no write fails, no item is lost or
// doubled, and what one settled stays settled.
func TestOneConversationInTwoProcesses(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		chats := []*chat{r.connect().conversation("a"), open().connect().conversation("a")}
		const each = 12
		var texts []string
		for n := range 2 * each {
			texts = append(texts, fmt.Sprintf("Step-%02d", n))
		}
		chats[0].adds(texts...)
		var work sync.WaitGroup
		for i, c := range chats {
			own := make([]int, each)
			for n := range own {
				own[n] = 1 + i*each + n
			}
			rand.Shuffle(each, func(i, j int) { own[i], own[j] = own[j], own[i] })
			work.Go(func() {
				for _, id := range own {
					if got := c.calls("update_todo", fmt.Sprintf(`{"id":"%d","status":"completed"}`, id)); !strings.Contains(got, "→ completed") {
						t.Errorf("54: %s", got)
					}
				}
			})
		}
		work.Wait()
		var want []string
		for _, text := range texts {
			want = append(want, "c:"+text)
		}
		r.expect(strings.Join(want, " "))
		if s := r.load(r.newest()); s.Revision != 1+2*each {
			t.Errorf("54: revision %d", s.Revision)
		}
	}, onStdio, onStdioNew, inSessions, sessionless)
}

// BAD-INPUT 54: two processes that begin the list of one conversation at once
// begin one, which has what both wrote.
func TestOneListBeginsInTwoProcesses(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		chats := []*chat{r.connect(), open().connect()}
		for n := range 20 {
			var work sync.WaitGroup
			for i, c := range chats {
				work.Go(func() { c.conversation(fmt.Sprint("c", n)).adds(fmt.Sprintf("From-%d", i)) })
			}
			work.Wait()
			got := strings.Fields(chats[0].conversation(fmt.Sprint("c", n)).reads())
			slices.Sort(got)
			if fmt.Sprint(got) != "[p:From-0 p:From-1]" {
				t.Errorf("54: %q", got)
			}
		}
		if got := len(r.lists()); got != 20 {
			t.Errorf("54: %d lists", got)
		}
	}, onStdio, sessionless)
}
