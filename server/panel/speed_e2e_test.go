//go:build e2e && !race

package panel_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// hooked is a real server, with chats of which hooks tell.
type hooked struct{ program, dir, base string }

func newHooked(b *testing.B, chats int) *hooked {
	h := &hooked{program: programtest.Build(b), dir: b.TempDir()}
	serve, err := programtest.Start(b, h.program, h.dir, nil, "serve", "--addr", "127.0.0.1:0")
	if err == nil {
		h.base, err = serve.URL()
	}
	if err != nil {
		b.Fatal(err)
	}
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

// turns returns the event that a turn of a chat begins, or ends.
func turns(chat int, begins bool) string {
	if begins {
		return event(chat, "UserPromptSubmit", `"prompt":"Go on"`)
	}
	return event(chat, "Stop", `"last_assistant_message":"Done."`)
}

func (h *hooked) posts(b *testing.B, event string) {
	if status, _, body := servertest.Post(b, h.base+"/hook", event); status != 200 {
		b.Fatal(status, body)
	}
}

func (h *hooked) runs(b *testing.B, event string) {
	cmd := exec.Command(h.program, "hook")
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, []string{"HOME=" + h.dir}, strings.NewReader(event)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

// percentiles reports the median and the 95th percentile of some milliseconds.
func percentiles(b *testing.B, ms []float64, what string) {
	slices.Sort(ms)
	b.ReportMetric(ms[len(ms)/2], what+"-p50-ms")
	b.ReportMetric(ms[len(ms)*95/100], what+"-p95-ms")
}

// BenchmarkHookToBoard measures from an event of a hook until an open board shows it, and until
// the host goes on, by a request and by a process.
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

// BenchmarkBoardMoves measures how an open board of 300 lists draws while all of them come to
// stand otherwise: its frames, and what its thread is busy with.
func BenchmarkBoardMoves(b *testing.B) {
	h := newHooked(b, 300)
	ctx := servertest.Tab(b)
	servertest.Do(b, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(h.base))
	servertest.Until(b, ctx, servertest.IsLive)
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
