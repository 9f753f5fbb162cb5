package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// guarded counts what would change the store.
type guarded struct {
	board.Store
	writes []string
}

func (g *guarded) Update(ctx context.Context, of board.Key, change func(board.Tx) error) error {
	g.writes = append(g.writes, fmt.Sprintf("Update of %+v", of))
	return g.Store.Update(ctx, of, change)
}

func (g *guarded) Attend(process string) (func(), error) {
	g.writes = append(g.writes, "Attend")
	return g.Store.Attend(process)
}

// everything returns all that a store has of a principal and some keys of it, as text.
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

// arguments returns values for the parameters of a method, which mean a list.
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

// finish uses up what a method returned: what it yields is read, what it opened is closed.
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

// BAD-INPUT 34: no method changes what another principal has, whatever ids it is given.
//
// BAD-INPUT 33: A read scope on a write, in each protocol version, also by a hook's event → 403
// that names the scope; the model refuses it too
func TestEveryMethodAsEachIdentity(t *testing.T) {
	alice := board.Identity{Principal: "team", Subject: "alice"}
	for name, as := range map[string]board.Identity{
		"a viewer": {Principal: "team", Subject: "alice", ReadOnly: true}, "another principal": {Principal: "eve", Subject: "eve"},
		"a viewer of another principal": {Principal: "eve", ReadOnly: true},
	} {
		lists := reflect.TypeFor[board.Lists]()
		var tried []string
		for n := range lists.NumMethod() {
			method := lists.Method(n)
			tried = append(tried, method.Name)
			for _, byID := range []bool{true, false} {
				st := &guarded{Store: memory.New()}
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
		t.Logf("as %s: %s", name, strings.Join(tried, ", "))
	}
}

// A member of a team has own chats: what is noted, held and known of a chat by its id is
// another one's for each who signed in, and all have the lists.
func TestMembersHaveTheirOwnChats(t *testing.T) {
	b := newBoard(t, memory.New())
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
	if list.Title() != "mine" {
		t.Errorf("the title is another member's: %q", list.Title())
	}
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
