//go:build e2e && !race

// The race detector makes the server ten times as slow and sees nothing of a page's
// frames, so `make drivers` runs this file.

package panel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// While 300 lists move, while a list of 1,000 items changes on its page, and on the board
// among 2,000 lists, the page goes on drawing frames: half of them come as fast as on the
// same page at rest, and no single task blocks it for long.
func TestPanelFrames(t *testing.T) {
	s, base := servertest.Site(t)
	lists := s.Board.As("")
	write := func(n, items int, text string) string {
		t.Helper()
		c := todo.Conversation{Key: fmt.Sprint("chat:", n), Client: "claude-code", Workspace: fmt.Sprint("/work/p", n%12)}
		return servertest.Apply(t, lists, todo.Write{Target: todo.Target{Conversation: c, Append: true}, Writer: todo.Writer{Client: c.Client}}, func(d *todo.Draft) {
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
	}{
		{"300 lists", 300, "/", cards + ` > 20`, func(text string) {
			for n := range 300 {
				write(1+n, 5, text)
			}
		}},
		{"1,000 items", 300, "/lists/" + long, `document.querySelector('#i-2 bdi').textContent === %q`, func(text string) { write(0, 1000, text) }},
		{"1,000 items among 2,000 lists", 2000, "/", cards + ` > 0`, func(text string) { write(2001, 1000, text) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for ; begun <= c.lists; begun++ {
				write(begun, 5, "before")
			}
			ctx := servertest.Tab(t)
			servertest.Do(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(base+c.path))
			servertest.Until(t, ctx, servertest.IsLive)
			// The times between frames, in ms, and the longest task.
			servertest.Eval[bool](t, ctx, `(window.frames_ = [], window.longest = 0, ((last) => requestAnimationFrame(function next(now) { frames_.push(now - last); last = now; requestAnimationFrame(next); }))(performance.now()),
				new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration) }).observe({type: 'longtask'}), true)`)
			const frames = `(frames_.sort((a, b) => a - b), frames_[Math.floor(frames_.length / 2)])`
			servertest.Until(t, ctx, `frames_.length > 60`)
			rest := servertest.Eval[float64](t, ctx, frames)
			servertest.Eval[bool](t, ctx, `frames_ = [], longest = 0, true`)
			for n := range 6 {
				text := fmt.Sprint("change ", n)
				c.move(text)
				servertest.Until(t, ctx, fmt.Sprintf(c.drawn, text))
			}
			moving, longest := servertest.Eval[float64](t, ctx, frames), servertest.Eval[float64](t, ctx, `longest`)
			drawn := servertest.Eval[int](t, ctx, `frames_.length`)
			floor := servertest.Eval[float64](t, ctx, `(() => { const from = performance.now(); for (let i = 0, x = 0; i < 2e7; i++) x += i % 7; return performance.now() - from })()`)
			t.Logf("a frame every %.1f ms at rest, %.1f ms while it moves (%d frames); the longest task %.0f ms, a plain loop %.0f ms", rest, moving, drawn, longest, floor)
			if moving > 3*rest+16 {
				t.Errorf("a frame every %.1f ms while it moves, %.1f ms at rest", moving, rest)
			}
			if longest > 12*floor+250 {
				t.Errorf("a task of %.0f ms blocks the page; a plain loop takes %.0f ms", longest, floor)
			}
		})
	}
}

// An open board on which an agent works computes its styles once a second while nothing
// happens, when the seconds of the agent's step are told.
func TestPanelAtRest(t *testing.T) {
	s, base := servertest.Site(t)
	for n := range 20 {
		c := todo.Conversation{Key: fmt.Sprint("chat:", n), Client: "claude-code", Workspace: fmt.Sprint("/work/p", n%3)}
		servertest.Apply(t, s.Board.As(""), todo.Write{Target: todo.Target{Conversation: c, Append: true}, Writer: todo.Writer{Client: c.Client}}, func(d *todo.Draft) {
			d.Append("Read", "Write", "Ship")
			if n == 0 {
				d.SetStatus("2", todo.InProgress)
			}
		})
	}
	ctx := servertest.Open(t, base+"/")
	servertest.Until(t, ctx, servertest.IsLive)
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	measured := func() map[string]float64 {
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
	// Whoever asks every frame makes the page draw one.
	wait := func(seconds int) {
		t.Helper()
		script := fmt.Sprintf(`performance.now() > (window.began_ ??= performance.now()) + %d`, seconds*1000)
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingInterval(time.Second), chromedp.WithPollingTimeout(20*time.Second))); err != nil {
			t.Fatal(err)
		}
	}
	// Ten minutes later the other times are told in minutes.
	servertest.Eval[bool](t, ctx, `(Date.now = ((now) => () => now() + 600e3)(Date.now), true)`)
	wait(2) // the page is settled
	before := measured()
	wait(8)
	after := measured()
	seconds := after["Timestamp"] - before["Timestamp"]
	styles := after["RecalcStyleCount"] - before["RecalcStyleCount"]
	t.Logf("in %.1f s styles %.0f times, %.2f %% of a processor", seconds, styles, 100*(after["TaskDuration"]-before["TaskDuration"])/seconds)
	if styles > 2*seconds+2 {
		t.Errorf("styles were computed %.0f times in %.1f s", styles, seconds)
	}
}
