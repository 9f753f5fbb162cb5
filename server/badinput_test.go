package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/server"
)

// BAD-INPUT 42: names of lists that are none are refused, at the start of a server
// and by resume; ids of lists and of conversations may be anything and find
// nothing that they should not.
func TestOddNames(t *testing.T) {
	odd := []string{"a/b", "..", ".", "*", "%", "'; drop table lists; --", strings.Repeat("x", 10_000), "a\nb", " a", "-a", "a\u0000b", "\u202ename"}
	chattest.Over(t, func(r *chattest.Rig) {
		conn := r.Connect()
		conn.Conversation("main").Writes("p:Unrelated")
		for i, name := range odd {
			c := conn.Conversation(fmt.Sprint("reader", i))
			c.Prompt("resume", fmt.Sprintf(`{"list":%s}`, quoted(name))).Says("no unfinished todo list of that id or name")
			if a := c.Calls("SetTodoList", fmt.Sprintf(`{"list_id":%s}`, quoted(name))).Fails(); len(a.Raw) > 2000 {
				t.Errorf("42: %d: list_id: %.300s", i, a.Raw)
			}
			if a := c.Asks("resources/read", fmt.Sprintf(`{"uri":%s}`, quoted("todo://lists/"+url.PathEscape(name)))); a.Error == nil {
				t.Errorf("42: %d: resource: %.300s", i, a.Raw)
			}
			other := conn.With(`"todo-mcp/conversation":%s`, quoted(name))
			sub := other.And(`"todo-mcp/agent":%s`, quoted(name))
			other.Writes(fmt.Sprintf("p:M%d", i))
			sub.Writes(fmt.Sprintf("p:S%d", i))
			other.Shows(fmt.Sprintf("p:M%d", i))
			sub.Shows(fmt.Sprintf("p:S%d", i))
		}
		lists := r.Found()
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
		c := server.Config{Board: board.NewBoard(memory.New()), List: name}
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

// BAD-INPUT 65: when the principal has as many lists as allowed, a call that would
// begin one more is refused in words for the model, changes nothing and leaves the
// conversation with the list it held. What goes on with a list still works, and
// other processes on the file keep to the same limit.
func TestTooManyLists(t *testing.T) {
	keep := board.Keep{Lists: 3}
	for name, stores := range map[string]func(t *testing.T) (one, two board.Store){
		"memory": func(*testing.T) (one, two board.Store) {
			s := memory.NewKeeping(keep)
			return s, s
		},
		"file": func(t *testing.T) (one, two board.Store) {
			path := t.TempDir() + "/todo.db"
			return chattest.File(t, path, keep), chattest.File(t, path, keep)
		},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				second := *r
				r.Store, second.Store = stores(r.T)
				one, two := r.Connect(), second.Connect()
				one.Conversation("a").Writes("c:A")
				one.Conversation("b").Writes("p:B")
				two.Conversation("c").Writes("p:C")
				for _, conn := range []*chattest.Chat{one, two} {
					for plan, c := range map[string]*chattest.Chat{
						"p:D": conn.Conversation("d"), "p:S": conn.Conversation("b").Agent("x"),
						"p:Next": conn.Conversation("a"), // its own is finished
					} {
						c.Calls("TodoWrite", chattest.Arguments("TodoWrite", plan)).Fails("No further list can begin")
					}
					conn.Conversation("d").Calls("create_todos", `{"items":["D"]}`).Fails("No further list can begin")
					conn.Conversation("a").Shows("c:A")
					conn.Conversation("d").Shows("")
				}
				two.Conversation("b").Writes("p:B p:B2")
				two.Conversation("d").Resume(one.Conversation("c").Current()).Says("Carry on with this todo list")
				two.Conversation("d").Writes("c:C")
				r.Expect("c:C", "p:B p:B2", "c:A")
			})
		})
	}
}
