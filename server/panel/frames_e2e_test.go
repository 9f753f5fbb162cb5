//go:build e2e && !race

// The race detector makes the server ten times as slow and sees nothing of a page's
// frames, so it is left out there.

package panel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// measures has Chromium count what a page does from now on, and returns what reads that. The
// durations, in seconds, are of the processor: a busy machine makes them hardly longer.
func measures(t testing.TB, ctx context.Context) func() map[string]float64 {
	t.Helper()
	_, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	if err != nil {
		t.Fatal(err)
	}
	return func() map[string]float64 {
		t.Helper()
		now, err := chromedp.Call(ctx, performance.GetMetrics, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		metrics := map[string]float64{}
		for _, m := range now.Metrics {
			metrics[m.Name] = m.Value
		}
		return metrics
	}
}

// While 300 lists move, while a list of 1,000 items changes on its page, and on the board
// among 2,000 lists, the page is not busy for long, and so goes on drawing frames: all that
// its thread does for a change is little beside a plain loop.
func TestPanelFrames(t *testing.T) {
	s, base := servertest.Site(t)
	lists := s.Board.As("")
	write := func(n, items int, text string) string {
		t.Helper()
		c := board.Conversation{Key: fmt.Sprint("chat:", n), Client: "claude-code", Workspace: fmt.Sprint("/work/p", n%12)}
		return servertest.Apply(t, lists, board.Write{Target: board.Target{Conversation: c, Append: true}, Writer: todo.Writer{Client: c.Client}}, func(d *todo.Draft) {
			for len(d.Items()) < items {
				d.Append(fmt.Sprint("Item ", len(d.Items())))
			}
			_ = d.Edit(todo.Edit{Do: todo.EditText, Item: "2", Text: text})
			d.SetStatus("2", todo.InProgress)
		}).List.ID
	}
	long := write(0, 1000, "before")
	const cards = `[...document.querySelectorAll('.card .in_progress bdi')].filter((e) => e.textContent === %q).length`
	begun := 1
	for _, c := range []struct {
		name        string
		lists       int
		path, drawn string
		move        func(text string)
		floors      float64 // how many plain loops a change may take
	}{
		{"300 lists", 300, "/", cards + ` > 20`, func(text string) {
			for n := range 300 {
				write(1+n, 5, text)
			}
		}, 12},
		{"1,000 items", 300, "/lists/" + long, `document.querySelector('#i-2 bdi').textContent === %q`, func(text string) { write(0, 1000, text) }, 12},
		{"1,000 items among 2,000 lists", 2000, "/", cards + ` > 0`, func(text string) { write(2001, 1000, text) }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			for ; begun <= c.lists; begun++ {
				write(begun, 5, "before")
			}
			ctx := servertest.Tab(t)
			servertest.Do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(base+c.path))
			servertest.Until(t, ctx, servertest.IsLive)
			measured := measures(t, ctx)
			busy := func(do func()) (seconds float64) {
				before := measured()["TaskDuration"]
				do()
				return measured()["TaskDuration"] - before
			}
			var took []float64
			for n := range 3 {
				text := fmt.Sprint("change ", n)
				took = append(took, busy(func() {
					c.move(text)
					servertest.Until(t, ctx, fmt.Sprintf(c.drawn, text))
				}))
			}
			slices.Sort(took)
			floor := busy(func() {
				servertest.Eval[int](t, ctx, `(() => { let x = 0; for (let i = 0; i < 5e7; i++) x += i % 7; return x })()`)
			})
			t.Logf("changes take %.3f s of the page's thread, a plain loop %.3f s", took, floor)
			if half := took[len(took)/2]; half > c.floors*floor {
				t.Errorf("half of the changes take %.3f s of the page's thread or more, a plain loop %.3f s: more than %.0f times as long", half, floor, c.floors)
			}
		})
	}
}
