package server_test

import (
	"fmt"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
)

// Which list a call means is tried on the core (internal/todo: TestChats and what stands
// beside it) and for every known client on the program (internal/chats). This is one
// chat's whole way on each transport: its plan is cut down and names what it drops
// (docs/reliability.md), the next one puts it away, it is written again and settles,
// which it stays (rules 2, 3 and 6). Another chat with the same texts is not touched.
func TestAChatOnEachTransport(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		a, b := c.Conversation("a"), c.Conversation("b")
		a.Writes("i:A p:B p:C")
		b.Writes("i:A p:B p:C")
		a.Writes("p:X p:C").Says(`Dropped while open: "A", "B"`)
		b.Writes("c:A i:B p:C").Lacks("Dropped")
		r.Expect("c:A i:B p:C", "p:X p:C")
		b.Writes("").Says("0 pending")
		first := a.Current()
		a.Writes("p:Y").Says(`Put away the earlier plan, open: "X", "C"`)
		r.Expect("p:Y", "p:X p:C", "")
		if s := r.Load(first); !s.Archived || s.ReplacedBy != a.Current() {
			t.Errorf("the earlier plan: %+v", s)
		}
		a.Writes("i:X p:C") // its own chat writes it again
		r.Expect("i:X p:C", "p:Y", "")
		if s := r.Load(first); s.Archived || a.Current() != first {
			t.Errorf("the earlier plan is not back: %+v", s)
		}
		a.Writes("c:X c:C")
		a.Writes("c:X c:C").Says("(no change)")
		a.Adds("D").Says("#6 D")
		a.Sets("6", "completed")
		a.Does("SetTodoList", chattest.Arguments("SetTodoList", "p:E"))
		r.Expect("p:E", "c:D", "c:X c:C", "p:Y", "")
	})
}

// Where chats share a connection, an empty write changes nothing and names the open lists;
// with list_id it clears that one (rule 5). A change of an item finds the open list that
// has it (rule 6). A write of ids alone means their list (T5).
func TestASharedConnection(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Start(nil).Chat("cursor")
		c.Calls("SetTodoList", `{}`).Is("The todo list is empty.")
		c.Writes("p:A1 p:A2")
		a := c.Current()
		c.Writes("p:B1 p:B2 p:B3")
		b := c.Current()
		c.Calls("TodoWrite", `{"todos":[]}`).Fails(a, b)
		r.Expect("p:B1 p:B2 p:B3", "p:A1 p:A2")
		c.Does("TodoWrite", chattest.Arguments("TodoWrite", "c#4:X i#5:Y"))
		r.Expect("p:B1 c:X i:Y", "p:A1 p:A2")
		c.Does("TodoWrite", fmt.Sprintf(`{"todos":[],"list_id":%q}`, a))
		r.Expect("", "p:B1 c:X i:Y")
		c.Writes("p:C1 p:C2")
		c.Sets("5", "completed").Says(`#5 "Y" → completed`, "This is another open list: "+b)
		c.Does("SetTodoList", fmt.Sprintf(`{"list_id":%q}`, b)).Says("B1")
		c.Calls("SetTodoList", `{"list_id":"unknown"}`).Fails("There is no such list here. Leave list_id out")
	}, chattest.Stdio, chattest.StdioModern, chattest.Session)
}

// Everyone whose current list is a named one sees what the others wrote, is told of it
// once, and overwrites nothing that it has not seen, across processes on one file.
func TestANamedListIsShared(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		a, b := r.Named("release").Conversation("a"), open().Named("release").Conversation("b")
		a.Writes("i:A p:B")
		b.Shows("i:A p:B")
		b.Writes("i:A p:B p:C")
		a.Writes("c:A p:B").Says(`Another agent changed the list: added "C"`)
		r.Expect("c:A p:B p:C")
		a.Writes("c:A p:B p:C").Lacks("changed the list")
		r.Edits(r.Newest(), chattest.Sets("2", todo.Completed))
		a.Adds("X").Says("\nThe user changed the list: " + `set "B" to completed`)
		a.Adds("X").Lacks("changed the list")
		b.Adds("Y").Says(`The user and another agent changed the list: set "A" to completed, set "B" to completed, added "X", added "X"`)
		b.Adds("Y").Lacks("changed the list")
	})
}

// Who read the list knows a person's edit: it is not told with the next write.
// Reading by a resource or a tool counts, looking on by the app's page does not.
func TestPersonsEditIsNotToldAfterARead(t *testing.T) {
	for name, how := range map[string]struct {
		read func(c *chattest.Chat, list string)
		told bool
	}{
		"todo://list":    {func(c *chattest.Chat, _ string) { c.Reads() }, false},
		"SetTodoList":    {func(c *chattest.Chat, _ string) { c.Does("SetTodoList", `{}`) }, false},
		"by id":          {func(c *chattest.Chat, list string) { c.Resource("todo://lists/" + list) }, false},
		"list_id":        {func(c *chattest.Chat, list string) { c.Does("SetTodoList", `{"list_id":"`+list+`"}`) }, false},
		"resume":         {func(c *chattest.Chat, list string) { c.Resumes(list) }, false},
		"todo_list_view": {func(c *chattest.Chat, list string) { c.Does("todo_list_view", `{"list_id":"`+list+`"}`) }, true},
		"todo_list_tick": {func(c *chattest.Chat, list string) {
			c.Does("todo_list_tick", `{"list_id":"`+list+`","item_id":"1","status":"in_progress"}`)
		}, true},
		"todo://lists":   {func(c *chattest.Chat, _ string) { c.Resource("todo://lists") }, true},
		"another's read": {func(c *chattest.Chat, list string) { c.Conversation("b").Resource("todo://lists/" + list) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				a := r.Connect().Conversation("a")
				a.Writes("i:A p:B")
				r.Edits(a.Current(), chattest.Sets("2", todo.Completed))
				how.read(a, r.Newest())
				answer := a.Writes("i:A p:B")
				if how.told {
					answer.Says("The user changed the list: ")
					r.Expect("i:A c:B")
					return
				}
				answer.Lacks("The user changed the list: ")
				r.Expect("i:A p:B") // it knew, so it reopened the item
			})
		})
	}
}

// A host gives a list its title with todo-mcp/title, unless a person did before.
func TestHostsGiveTitles(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect().Conversation("c")
		writes := func(title, plan, want string) {
			t.Helper()
			c.And(`"todo-mcp/title":%s`, title).Writes(plan)
			if got := r.Found()[0].Title(); got != want {
				t.Errorf("title %q, want %q", got, want)
			}
		}
		writes(`7`, "p:A p:B", "A")
		writes(`"Ship it"`, "i:A p:B", "Ship it")
		writes(`"Another"`, "c:A p:B", "Ship it")
		r.Edit(r.Newest(), todo.Edit{Do: todo.EditRename, Text: "Mine"})
		writes(`"Another"`, "c:A c:B", "Mine")
	})
}
