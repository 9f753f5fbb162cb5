package watch

import (
	"fmt"
	"testing"

	"github.com/gdamore/tcell/v3/vt"

	"todo-mcp/internal/todo"
)

// BenchmarkFrames draws a frame after each of 300 lists has moved, and after a
// list of 1,000 items has: the time of a frame, and its bytes on the terminal.
func BenchmarkFrames(b *testing.B) {
	lists := func(n int) (moved []todo.Snapshot) {
		for i := range 300 {
			items := append(numbered(n%12, "completed"), fmt.Sprint("in_progress now at step ", n), "pending then")
			moved = append(moved, list(fmt.Sprintf("list%03d", i), int64(n*300+i), int64(n+1), 0, items...))
		}
		return moved
	}
	items := func(n int) []todo.Snapshot {
		at := n % 900
		items := append(numbered(at, "completed"), fmt.Sprint("in_progress now at step ", n))
		return []todo.Snapshot{list("long", int64(n), int64(n+1), 0, append(items, numbered(999-at, "pending")...)...)}
	}
	for _, size := range [][2]int{{80, 24}, {120, 30}, {200, 50}} {
		for name, moved := range map[string]func(int) []todo.Snapshot{"300lists": lists, "1000items": items} {
			b.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(b *testing.B) {
				benchmarkFrames(b, modelWith(size[0], size[1]), moved)
			})
		}
	}
}

func benchmarkFrames(b *testing.B, m *model, moved func(n int) []todo.Snapshot) {
	const different = 50
	var writes [different][]todo.Snapshot
	for n := range writes {
		writes[n] = moved(n)
	}
	m.receiveLists(writes[0], false)
	m.press("Enter")
	c := newTerminal()
	c.SetSize(vt.Coord{X: vt.Col(m.width), Y: vt.Row(m.height)})
	s, err := openScreen(c, true)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Fini()
	n := int64(0)
	for b.Loop() {
		lists := writes[n%different]
		for i := range lists {
			lists[i].Revision, lists[i].Seq = n+2, n*1000+int64(i)
		}
		m.receiveLists(lists, false)
		s.draw(m.frame())
		n++
	}
	b.ReportMetric(float64(len(c.bytes()))/float64(n), "bytes/frame")
}
