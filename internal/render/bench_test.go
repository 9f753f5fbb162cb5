package render_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"todo-mcp/internal/render"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// BenchmarkRender measures the forms in which persons and programs see a list.
func BenchmarkRender(b *testing.B) {
	for _, items := range []int{10, 50} {
		list := todo.Snapshot{List: todo.List{ID: "a", Client: "tester", Workspace: "/work/a"}, Revision: 3, Items: storetest.Plan(items), LastID: items}
		for name, draw := range map[string]func(){
			"text":        func() { render.Plain(list) },
			"status line": func() { render.StatusLine(list) },
			"markdown":    func() { render.Markdown(list) },
			"box":         func() { render.Box(list, render.BoxOptions{Width: 80}) },
			"JSON":        func() { _, _ = json.Marshal(render.Document(list)) },
		} {
			b.Run(fmt.Sprint(items, " items/", name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					draw()
				}
			})
		}
	}
}
