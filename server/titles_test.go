package server_test

import (
	"context"
	"testing"

	"todo-mcp/internal/todo"
)

// A host gives a list its title with todo-mcp/title, unless a person did before.
func TestHostsGiveTitles(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.connect().and(`"todo-mcp/conversation":"c"`)
		titled := func(title string) *chat { return conn.and(`"todo-mcp/title":%s`, title) }
		expect := func(want string) string {
			t.Helper()
			lists, err := r.store.Find(context.Background(), todo.Query{})
			if err != nil || len(lists) == 0 || lists[0].Title() != want {
				t.Fatalf("%d lists, %v; title %q, want %q", len(lists), err, lists[0].Title(), want)
			}
			return lists[0].List.ID
		}
		titled(`7`).writes("p:A p:B")
		expect("A")
		titled(`"Ship it"`).writes("i:A p:B")
		list := expect("Ship it")
		titled(`"Another"`).writes("c:A p:B")
		expect("Ship it")
		board := todo.NewBoard(r.store)
		defer board.Close()
		if _, err := board.As("").Edit(context.Background(), list, todo.Edit{Do: todo.EditRename, Text: "Mine"}, todo.Writer{}); err != nil {
			t.Fatal(err)
		}
		titled(`"Another"`).writes("c:A c:B")
		expect("Mine")
	})
}
