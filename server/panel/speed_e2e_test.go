//go:build e2e && !race

package panel_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// hooked is the real program as a server, with chats whose hooks report events.
type hooked struct{ program, dir, base string }

func newHooked(b *testing.B, chats int) *hooked {
	h := &hooked{program: programtest.Build(b), dir: b.TempDir()}
	serve, err := programtest.Start(b, h.program, h.dir, nil, "serve", "--addr", "127.0.0.1:0")
	if err == nil {
		h.base, err = serve.URL()
	}
	checktest.Check(b, err)
	h.base = strings.TrimSuffix(h.base, "/")
	more := strings.Repeat(`,{"content":"Another step","status":"pending","activeForm":"x"}`, 4)
	for n := range chats {
		h.posts(b, event(n, "PostToolUse", fmt.Sprintf(`"tool_name":"TodoWrite","tool_input":{"todos":[{"content":"Plan %d","status":"pending","activeForm":"x"}%s]}`, n, more)))
		h.posts(b, turns(n, false))
	}
	return h
}

func event(chat int, name, more string) string {
	return fmt.Sprintf(`{"session_id":"chat-%d","cwd":"/work/p%d","hook_event_name":%q,%s}`, chat, chat%12, name, more)
}

// turns returns the hook event with which a turn of a chat begins or ends.
func turns(chat int, begins bool) string {
	if begins {
		return event(chat, "UserPromptSubmit", `"prompt":"Go on"`)
	}
	return event(chat, "Stop", `"last_assistant_message":"Done."`)
}

func (h *hooked) posts(b *testing.B, event string) {
	servertest.Is(b, "it is answered", 200)(servertest.Post(b, h.base+"/hook", event))
}

func (h *hooked) runs(b *testing.B, event string) {
	cmd := exec.Command(h.program, "hook")
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, []string{"HOME=" + h.dir}, strings.NewReader(event)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

// percentiles reports the median and the 95th percentile of durations in milliseconds.
func percentiles(b *testing.B, ms []float64, what string) {
	slices.Sort(ms)
	b.ReportMetric(ms[len(ms)/2], what+"-p50-ms")
	b.ReportMetric(ms[len(ms)*95/100], what+"-p95-ms")
}

// BenchmarkHookToBoard measures the time from a hook's event until an open board shows it, and until
// the host can go on. The event is sent by a request, or by a process of the hook command.
func BenchmarkHookToBoard(b *testing.B) {
	for name, tell := range map[string]func(*hooked, *testing.B, string){"HTTP": (*hooked).posts, "process": (*hooked).runs} {
		for _, chats := range []int{20, 200} {
			b.Run(fmt.Sprintf("%s/%d", name, chats), func(b *testing.B) {
				h := newHooked(b, chats)
				ctx := servertest.Open(b, h.base)
				cards := servertest.Eval[[]string](b, ctx, `[...document.querySelectorAll('.card')].map((e) => e.dataset.title)`)
				var shown, answered []float64
				for n := 0; b.Loop(); n++ {
					title, begins := cards[n%len(cards)], n/len(cards)%2 == 0
					servertest.Eval[bool](b, ctx, fmt.Sprintf(`(() => {
						window.told = 0;
						new MutationObserver((_, o) => {
							if ((document.querySelector('.card[data-title=%q]')?.dataset.state === 'working') !== %t) return;
							window.told = performance.timeOrigin + performance.now();
							o.disconnect();
						}).observe(document.body, { subtree: true, childList: true, attributes: true });
						return true;
					})()`, title, begins))
					chat := 0
					fmt.Sscanf(title, "Plan %d", &chat)
					began := time.Now()
					tell(h, b, turns(chat, begins))
					answered = append(answered, float64(time.Since(began).Microseconds())/1000)
					servertest.Until(b, ctx, `window.told > 0`)
					shown = append(shown, servertest.Eval[float64](b, ctx, `window.told`)-float64(began.UnixMicro())/1000)
				}
				percentiles(b, shown, "board")
				percentiles(b, answered, "host")
			})
		}
	}
}

// BenchmarkBoardMoves measures an open board of 300 lists while the states of all lists
// change: how long its frames take, and how long each kind of work keeps its thread busy.
func BenchmarkBoardMoves(b *testing.B) {
	h := newHooked(b, 300)
	ctx := wide(b, h.base, 1440, 900)
	servertest.Eval[bool](b, ctx, `(() => {
		window.frames = [];
		window.tasks = [0];
		new PerformanceObserver((l) => window.tasks.push(...l.getEntries().map((e) => e.duration))).observe({ type: 'longtask' });
		let last = performance.now();
		requestAnimationFrame(function next(now) { window.frames.push(now - last); last = now; requestAnimationFrame(next); });
		return true;
	})()`)
	measured := measures(b, ctx)
	before := measured()
	for n := 0; b.Loop(); n++ {
		for chat := range 300 {
			h.posts(b, turns(chat, n%2 == 0))
		}
	}
	for name, after := range measured() {
		switch name {
		case "TaskDuration", "LayoutDuration", "RecalcStyleDuration":
			b.ReportMetric(1000*(after-before[name])/float64(b.N), name+"-ms/op")
		}
	}
	percentiles(b, servertest.Eval[[]float64](b, ctx, `window.frames`), "frame")
	tasks := servertest.Eval[[]float64](b, ctx, `window.tasks`)
	b.ReportMetric(slices.Max(tasks), "task-max-ms")
	b.ReportMetric(float64(len(tasks)-1), "tasks-over-50ms")
}

// measures makes Chromium measure a page from now on, and returns a function that reads the
// metrics. Durations are processor time in seconds, which a busy machine hardly makes longer.
func measures(t testing.TB, ctx context.Context) func() map[string]float64 {
	t.Helper()
	checktest.Must(chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}))(t)
	return func() map[string]float64 {
		t.Helper()
		now := checktest.Must(chromedp.Call(ctx, performance.GetMetrics, struct{}{}))(t)
		metrics := map[string]float64{}
		for _, m := range now.Metrics {
			metrics[m.Name] = m.Value
		}
		return metrics
	}
}

// While 300 lists change, or a list of 1,000 items changes on its page or on a board of 2,000 lists, the page is not
// busy for long, and so goes on drawing frames: the median change keeps the page's thread busy at most 12 times as long
// as a plain loop does, or 4 times among 2,000 lists. The test does not run with the race detector, which makes the
// server ten times as slow and sees nothing of a page's frames.
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
		floors      float64 // how many times as long as a plain loop a change may take
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
			ctx := wide(t, base+c.path, 1440, 900)
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
