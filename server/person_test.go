package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

const personChanged = "The user changed the list: "

// toldOnce checks that of two equal writes the first one tells what a person
// changed.
func toldOnce(c *chat, write func(*chat) string, want string) {
	c.Helper()
	if got := write(c); !strings.Contains(got, "\n"+personChanged+want) {
		c.Errorf("not told: %s, want %s", got, want)
	}
	if got := write(c); strings.Contains(got, personChanged) {
		c.Errorf("told again: %s", got)
	}
}

// What a person changed is told with the agent's next write, exactly once,
// whatever that write is: one that changes the list, one that changes nothing, a
// single item, an addition.
func TestPersonsEditIsToldOnce(t *testing.T) {
	for name, write := range map[string]func(c *chat) string{
		"a change":    func(c *chat) string { return c.writes("c:A p:B p:C") },
		"no change":   func(c *chat) string { return c.writes("i:A p:B p:C") },
		"write_todos": func(c *chat) string { return c.calls("write_todos", plan("i:A p:B p:C")) },
		"an item":     func(c *chat) string { return c.calls("update_todo", `{"id":"1","status":"running"}`) },
		"an addition": func(c *chat) string { return c.adds("D") },
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				conn := r.connect()
				for _, c := range []*chat{conn.conversation("a"), conn} {
					if c == conn && r.by == sessionless {
						continue // reopening the one finished item is another plan there (rule 4)
					}
					c.writes("i:A p:B p:C")
					id := c.held()
					r.personEdits(id, sets("2", todo.Completed))
					toldOnce(c, write, `set "B" to completed`)
					r.personEdits(id, func(d *todo.Draft) error { d.SetText("3", "C, but better"); return nil })
					toldOnce(c, write, `reworded "C" to "C, but better"`)
				}
			})
		})
	}
}

// A write made without knowing a person's edit never undoes it; the next one may
// do with it as it likes: reopen, reword and drop.
func TestAfterItWasToldTheAgentMayUndo(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect().conversation("a")
		c.writes("i:A p:B p:C")
		r.personEdits(c.held(), func(d *todo.Draft) error {
			d.SetStatus("2", todo.Completed)
			d.Append("D")
			return nil
		})
		c.writes("i:A p:B p:C") // as it knew the list: "(no change)"
		r.expect("i:A c:B p:C p:D")
		if got := c.writes("i:A p:B p:C"); !strings.Contains(got, `Dropped while open: "D"`) {
			t.Errorf("dropped: %s", got)
		}
		r.expect("i:A p:B p:C")
	})
}

// Who read the list knows a person's edit: it is not told with the next write.
// Reading by a resource or a tool counts, looking on by the app's page does not.
func TestPersonsEditIsNotToldAfterARead(t *testing.T) {
	for name, c := range map[string]struct {
		read func(c *chat)
		told bool
	}{
		"todo://list":    {read: func(c *chat) { c.reads() }},
		"SetTodoList":    {read: func(c *chat) { c.calls("SetTodoList", `{}`) }},
		"by id":          {read: func(c *chat) { c.resource("todo://lists/" + c.newest()) }},
		"list_id":        {read: func(c *chat) { c.calls("SetTodoList", fmt.Sprintf(`{"list_id":%q}`, c.newest())) }},
		"resume":         {read: func(c *chat) { c.resumes(c.newest()) }},
		"todo_list_view": {read: func(c *chat) { c.calls("todo_list_view", fmt.Sprintf(`{"list_id":%q}`, c.newest())) }, told: true},
		"todo_list_tick": {read: func(c *chat) {
			c.calls("todo_list_tick", fmt.Sprintf(`{"list_id":%q,"item_id":"1","status":"in_progress"}`, c.newest()))
		}, told: true},
		"todo://lists":   {read: func(c *chat) { c.resource("todo://lists") }, told: true},
		"another's read": {read: func(c *chat) { c.conversation("b").resource("todo://lists/" + c.newest()) }, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				a := r.connect().conversation("a")
				a.writes("i:A p:B")
				r.personEdits(a.held(), sets("2", todo.Completed))
				c.read(a)
				if got := a.writes("i:A p:B"); strings.Contains(got, personChanged) != c.told {
					t.Errorf("told %v: %s", !c.told, got)
				}
				want := "i:A p:B" // it knew, so it reopened the item
				if c.told {
					want = "i:A c:B"
				}
				r.expect(want)
			})
		})
	}
}

// newest returns the id of the list written last, without reading it as an agent.
func (r *rig) newest() string {
	r.Helper()
	lists, err := r.store.Find(r.Context(), todo.Query{Limit: 1})
	if err != nil {
		r.Fatal(err)
	}
	return lists[0].List.ID
}

// A restart of the server neither forgets an edit nor tells it twice, for a chat
// whose key outlives the process: by the environment, a host's id or a name. What
// was told with "(no change)" or read before the restart stays told.
func TestPersonsEditAcrossARestart(t *testing.T) {
	for name, c := range map[string]struct {
		client, meta string
		edit         func(*server.Config)
		by           []transport
	}{
		"environment":          {client: "claude-code", edit: func(cfg *server.Config) { cfg.Getenv = func(string) string { return "s-1" } }, by: []transport{onStdio, onStdioNew}},
		"a host's id":          {client: "codex-mcp-client", meta: `"threadId":"t","sessionId":"t"`},
		"client and workspace": {client: "tester", by: []transport{onStdio, onStdioNew, sessionless}},
	} {
		t.Run(name, func(t *testing.T) {
			overFile(t, func(r *rig, open func() *rig) {
				p := r.start(c.edit)
				a := p.chat(c.client).with("%s", c.meta)
				restart := func() {
					t.Helper()
					p.end()
					if err := r.store.(*sqlite.Store).Close(); err != nil {
						t.Fatal(err)
					}
					r = open()
					p = r.start(c.edit)
					a = p.chat(c.client).with("%s", c.meta)
				}
				a.writes("i:A p:B p:C")
				id := r.newest()
				r.personEdits(id, sets("2", todo.Completed))
				restart()
				if got := a.writes("i:A p:B p:C"); !strings.Contains(got, personChanged+`set "B" to completed`) || !strings.HasSuffix(got, "(no change)") {
					t.Errorf("after the restart: %s", got)
				}
				restart()
				if got := a.writes("i:A c:B p:C"); strings.Contains(got, personChanged) {
					t.Errorf("told again: %s", got)
				}
				r.personEdits(id, sets("3", todo.Cancelled))
				a.reads()
				restart()
				if got := a.writes("c:A c:B"); strings.Contains(got, personChanged) {
					t.Errorf("told what was read before the restart: %s", got)
				}
			}, c.by...)
		})
	}
}

// T4: what the agent newly sets in progress counts, not what a person or a
// restore left so. Every write with one item in progress passes, for as long as
// the person's stays.
func TestPersonsItemInProgressRefusesNothing(t *testing.T) {
	for name, edit := range map[string]func(r *rig, id string){
		"panel": func(r *rig, id string) { r.personEdits(id, sets("3", todo.InProgress)) },
		"restore": func(r *rig, id string) {
			b := todo.NewBoard(r.store)
			defer b.Close()
			if _, err := b.As("").Edit(context.Background(), id, todo.Edit{Do: todo.EditRestore, Revision: 1}, todo.Writer{}); err != nil {
				r.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				a := r.connect().conversation("a")
				a.writes("p:A p:B i:C p:D")
				a.writes("i:A p:B p:C p:D")
				edit(r, a.held())
				for _, write := range []string{
					"c:A i:B p:C p:D", // without knowing of the edit
					"c:A i:B i:C p:D", "c:A p:B i:C i:D", "c:A c:B i:C i:D", "c:A c:B i:C p:D",
					"c:A c:B p:C i:D", // it takes the person's back
					"c:A c:B i:C p:D", "c:A c:B c:C i:D",
				} {
					a.writes(write) // fails if it is refused
				}
				r.expect("c:A c:B c:C i:D")
			})
		})
	}
}

// T4: two items that the agent itself sets in progress are still refused, beside
// a person's as well, and the refusal names the agent's own alone.
func TestTheAgentsOwnSecondItemIsRefused(t *testing.T) {
	over(t, func(r *rig) {
		a := r.connect().conversation("a")
		a.writes("p:A p:B p:C")
		r.personEdits(a.held(), sets("3", todo.InProgress))
		a.reads()
		got := a.asks("tools/call", `{"name":"TodoWrite","arguments":`+plan("i:A i:B i:C")+`}`)
		if !got.Result.IsError || !strings.HasPrefix(got.Text(), "Error") || !strings.Contains(got.Text(), "received 2") || strings.Contains(got.Text(), `"C"`) {
			t.Errorf("refused: %s", got.Raw)
		}
		r.expect("p:A p:B i:C")
	})
}

// T4: what update_todo failed shows as in progress in TodoWrite, and other items
// can begin beside it.
func TestAFailedItemBlocksNothing(t *testing.T) {
	over(t, func(r *rig) {
		a := r.connect().conversation("a")
		a.adds("A", "B", "C")
		a.calls("update_todo", `{"id":"1","status":"failed"}`)
		a.writes("i:A i:B p:C")
		a.writes("i:A c:B i:C")
		r.expect("f:A c:B i:C")
	})
}

// T4: a call refused for another reason is not refused for the person's item in
// progress as well.
func TestRefusalDoesNotCountThePersonsItem(t *testing.T) {
	over(t, func(r *rig) {
		a := r.connect().conversation("a")
		a.writes("i:A p:B p:C")
		r.personEdits(a.held(), sets("3", todo.InProgress))
		a.reads()
		got := a.calls("TodoWrite", `{"todos":[{"content":"A","activeForm":"A","status":"in_progress"},{"content":" ","activeForm":"B","status":"pending"},{"content":"C","activeForm":"C","status":"in_progress"}]}`)
		if strings.Contains(got, "Only one item") || !strings.Contains(got, "blank") {
			t.Error(got)
		}
	})
}
