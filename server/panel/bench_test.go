package panel_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// BenchmarkPages measures whole pages: the board and a list, beside so many lists of ten
// items, three to a project.
func BenchmarkPages(b *testing.B) {
	for _, n := range []int{10, 100} {
		s := servertest.New(b, nil, nil)
		site := servertest.Handler(b, s, nil)
		b.Cleanup(site.Close)
		id := ""
		for i := range n {
			w := servertest.In(fmt.Sprint("session:", i))
			w.Target.Conversation.Client, w.Target.Conversation.Workspace = "claude-code", fmt.Sprint("/work/", i/3)
			id = servertest.Apply(b, s.Board.As(""), w, func(d *todo.Draft) { d.Restore(storetest.Plan(10)) }).List.ID
		}
		for name, path := range map[string]string{"board": "/", "list": "/lists/" + id} {
			b.Run(fmt.Sprint(name, " beside ", n, " lists"), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					if site.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil)); w.Code != 200 {
						b.Fatal(w.Code)
					}
				}
			})
		}
	}
}
