package panel

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// plans returns the lists of a board on which conversations work at so many plans of
// ten items each, three conversations to a project.
func plans(b *testing.B, n int) todo.Lists {
	board := todo.NewBoard(memory.New())
	b.Cleanup(board.Close)
	lists := board.As("")
	for i := range n {
		c := todo.Conversation{Key: fmt.Sprint("session:", i), Client: "claude-code", Workspace: fmt.Sprint("/work/", i/3)}
		out, err := lists.Apply(b.Context(), todo.Write{Target: todo.Target{Conversation: c, Append: true}, Writer: todo.Writer{Client: c.Client},
			Change: func(d *todo.Draft) error { d.Restore(storetest.Plan(10)); return nil }})
		if err != nil || len(out.After.Items) != 10 {
			b.Fatal(out, err)
		}
	}
	return lists
}

// BenchmarkPages measures the drawing of whole pages: the board and a list.
func BenchmarkPages(b *testing.B) {
	p, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10, 100} {
		lists := plans(b, n)
		s, err := p.readBoard(b.Context(), lists)
		if err != nil || len(s.Active) != n {
			b.Fatal(len(s.Active), err)
		}
		page, err := p.listPage(b.Context(), lists, s.Active[0].Main.List.ID)
		if err != nil {
			b.Fatal(err)
		}
		for name, draw := range map[string]func(w *httptest.ResponseRecorder) error{
			"board": func(w *httptest.ResponseRecorder) error { return p.page(w, "board", activePage(s)) },
			"list": func(w *httptest.ResponseRecorder) error {
				page.inFrame(s, todo.Identity{})
				return p.page(w, "list", page)
			},
		} {
			b.Run(fmt.Sprint(name, " beside ", n, " lists"), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					if err := draw(w); err != nil || w.Body.Len() == 0 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFragments measures the drawing of what a change sends to open pages, once
// for all of them: to boards, and to the page of the list.
func BenchmarkFragments(b *testing.B) {
	p, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	lists := plans(b, 1)
	all, err := readFamilies(b.Context(), lists)
	if err != nil {
		b.Fatal(err)
	}
	id := all[0].Main.List.ID
	before, err := p.listPage(b.Context(), lists, id)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := lists.Apply(b.Context(), todo.Write{Target: todo.Target{List: id}, Change: func(d *todo.Draft) error { d.SetStatus("1", todo.Completed); return nil }}); err != nil {
		b.Fatal(err)
	}
	f, err := readFamily(context.Background(), lists, id)
	if err != nil {
		b.Fatal(err)
	}
	after, err := p.pageOf(b.Context(), lists, f)
	if err != nil {
		b.Fatal(err)
	}
	for name, u := range map[string]*update{
		"board": {name: "list", id: id, panel: p, family: f},
		"list":  {name: "page", id: id, panel: p, page: after, before: before},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(u.events()) != 1 {
					b.Fatal("no event")
				}
			}
		})
	}
}
