package board_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/board"
	memory "todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/todo"
)

// A search says in which revision a text stood last, and whether it has left the list,
// however many lists there are; of another principal's lists it says nothing.
func TestSaid(t *testing.T) {
	b := board.NewBoard(memory.New())
	defer b.Close()
	ids := make(map[string]string)
	write := func(key string, texts ...string) {
		out := apply(t, b, board.Write{Target: board.Target{Conversation: conversation(key)}, Change: func(d *todo.Draft) error {
			d.Replace(todo.CoreView(), nil)
			d.Append(texts...)
			return nil
		}})
		ids[out.After.List.ID] = key
	}
	write("first", "Write the needle parser", "more")
	for n := range 450 {
		write(fmt.Sprint("hay ", n), "something else")
	}
	write("first", "more", "Write the lexer")
	write("last", "hay", "Needles")
	all, err := b.As("").Find(t.Context(), board.Query{Excerpt: true})
	if err != nil {
		t.Fatal(err)
	}
	said, err := b.As("").Said(t.Context(), "NEEDLE", all...)
	got := make(map[string]todo.Said)
	for id, s := range said {
		got[ids[id]] = todo.Said{Revision: s.Revision, Text: s.Text, Left: s.Left}
	}
	if diff := cmp.Diff(map[string]todo.Said{
		"first": {Revision: 1, Text: "Write the needle parser", Left: true}, "last": {Revision: 1, Text: "Needles"}}, got); diff != "" || err != nil {
		t.Errorf("of %d lists: %v\n%s", len(all), err, diff)
	}
	if said, err := b.As("other").Said(t.Context(), "needle", all...); err != nil || len(said) != 0 {
		t.Errorf("another principal: %v, %v", said, err)
	}
}
