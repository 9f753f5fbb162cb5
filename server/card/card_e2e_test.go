//go:build e2e

package card_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

const plan = `{todos: [
	{content: 'Read the schema', activeForm: 'Reading the schema', status: 'completed'},
	{content: 'Write the migration', activeForm: 'Writing the migration', status: 'completed'},
	{content: 'Run the tests', activeForm: 'Running the tests against Postgres and SQLite', status: 'in_progress'},
	{content: 'Update the documentation of every setting that the migration renames, with an example for each', activeForm: 'Updating', status: 'pending'},
	{content: 'Ship it', activeForm: 'Shipping', status: 'pending'}]}`

// In a host built on the real AppBridge, the page draws a call's input and then its result, follows the theme, reports
// its size, refreshes while an item is in progress, and stops at teardown.
func TestAppInChat(t *testing.T) {
	c := newChat(t, servertest.New(t, nil, nil))
	c.hostUntil(`host.appOnly.join() === 'todo_list_view,todo_list_tick'`) // hidden from the model
	c.mount(`{theme: 'light'}`)
	c.until(`document.getElementById('note').textContent.startsWith('Waiting')`)
	c.host("input(" + plan + ")")
	c.until(`document.querySelectorAll('#items li').length === 5 && document.querySelector('main').ariaBusy === 'true'`)
	c.call("TodoWrite", plan)
	c.until(`document.querySelector('main').ariaBusy === 'false'`)
	c.rows("completed Read the schema", "completed Write the migration", "in_progress Running the tests against Postgres and SQLite",
		"pending Update the documentation of every setting that the migration renames, with an example for each", "pending Ship it")
	c.until(`document.getElementById('count').textContent === '2 of 5 done' && document.getElementById('bar').ariaValueNow === '2'`)
	servertest.Until(t, c.ctx, `host.sizes.length > 0 && Math.abs(host.sizes.at(-1) - document.querySelector('iframe').clientHeight) <= 1`)
	c.until(`document.documentElement.scrollHeight <= innerHeight`) // no scrollbar
	light := servertest.Eval[string](t, c.frame, `getComputedStyle(document.body).backgroundColor`)
	c.host(`context({theme: 'dark'})`)
	c.until(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor !== %q`, light))
	c.host(`context({theme: 'dark', styles: {variables: {'--color-background-primary': 'light-dark(#fff, rgb(1, 2, 3))'}}})`)
	c.until(`getComputedStyle(document.body).backgroundColor === 'rgb(1, 2, 3)'`)

	// Another client writes: the page refreshes by itself, through the bridge.
	c.host(`call("TodoWrite", ` + strings.Replace(plan, "status: 'in_progress'", "status: 'completed'", 1) + `)`)
	c.until(`document.getElementById('count').textContent === '3 of 5 done' && document.getElementById('say').textContent === '3 of 5 done'`)
	c.hostUntil(`[...new Set(host.calls)].join() === 'todo_list_view' && host.reads.length === 0`)
	c.until(`!document.querySelector('main').classList.contains('live')`)

	c.call("TodoWrite", plan)
	c.until(`document.querySelector('main').classList.contains('live')`)
	c.host("teardown()")
	c.until(`over && !document.querySelector('main').classList.contains('live')`)
	c.expectNoRequests()
}

// The page draws the result of every variant, and shows the text of a result without a list.
func TestAppVariants(t *testing.T) {
	c := newChat(t, servertest.New(t, nil, func(c *server.Config) { c.List = "one" }))
	c.mount(``)
	c.call("create_todos", `{items: ['One', 'Two', 'Three', 'Four']}`)
	c.rows("pending One", "pending Two", "pending Three", "pending Four")
	c.call("update_todo", `{id: '1', status: 'completed'}`)
	c.call("update_todo", `{id: '2', status: 'failed'}`)
	c.call("update_todo", `{id: '3', status: 'running'}`)
	c.rows("completed One", "failed Two", "in_progress Three", "pending Four")
	c.until(`document.getElementById('count').textContent === '1 of 4 done · 1 failed'`)
	servertest.Do(t, c.ctx, chromedp.EmulateViewport(320, 700))
	c.until(`innerWidth < 300 && document.documentElement.scrollWidth <= innerWidth`)
	servertest.Do(t, c.ctx, chromedp.EmulateViewport(592, 700))
	c.call("SetTodoList", `{todos: [{title: 'A', status: 'done'}, {title: 'B', status: 'in_progress'}]}`)
	c.rows("completed A", "in_progress B")
	c.call("write_todos", `{todos: [{content: 'A', activeForm: 'Doing A', status: 'completed'}]}`)
	c.rows("completed A")
	c.until(`document.getElementById('count').textContent === 'All 1 done'`)
	c.call("TodoWrite", `{todos: []}`)
	c.until(`document.getElementById('note').textContent === 'The list is empty.'`)

	c.call("TodoWrite", `{todos: [{content: '', activeForm: 'x', status: 'pending'}]}`)
	c.until(`document.getElementById('note').className === 'error' && document.getElementById('note').textContent.includes('todos[0].content')`)
	c.host(`result({content: [{type: 'text', text: 'Todo list updated\u202e (no change)'}]})`)
	c.until(`document.getElementById('note').textContent === 'Todo list updated\\u202e (no change)'`)
	c.host("cancel()")
	c.until(`document.getElementById('note').textContent.includes('cancelled')`)

	// A long list hides its completed items until the button is pressed.
	long := []string{}
	for i := range 14 {
		status := "pending"
		if i < 9 {
			status = "completed"
		}
		long = append(long, fmt.Sprintf(`{content: 'Step %d', activeForm: 'x', status: %q}`, i, status))
	}
	c.call("TodoWrite", `{todos: [`+strings.Join(long, ",")+`]}`)
	const visible = `[...document.querySelectorAll('#items li')].filter((e) => e.checkVisibility()).length`
	c.until(visible + ` === 5 && document.getElementById('fold').textContent === 'Show 9 done'`)
	c.click("fold")
	c.until(visible + ` === 14 && document.getElementById('fold').ariaExpanded === 'true' && document.activeElement.id === 'fold'`)

	// Reasons of blocked, failed and cancelled items are shown, not struck out. Without a panel its link is hidden.
	c.call("TodoWrite", `{todos: [{content: 'Sign', activeForm: 'x', status: 'blocked', reason: 'no <b>key</b>'},
		{content: 'Pack', activeForm: 'x', status: 'failed', reason: 'disk full'}, {content: 'Tell', activeForm: 'x', status: 'cancelled', reason: 'not wanted'}]}`)
	c.until(`[...document.querySelectorAll('.why')].map((e) => e.textContent + getComputedStyle(e).textDecorationLine).join() === 'no <b>key</b>none,disk fullnone,not wantednone' && ` +
		`document.getElementById('panel').hidden`)
}

// V3: clients that would show structured content to their models get results without it; the page draws these results
// from _meta, and refreshes. If a result has structured content too, the page draws that instead.
func TestAppWithoutStructuredContent(t *testing.T) {
	c := newChatOf(t, servertest.New(t, nil, func(c *server.Config) { c.List = "one" }), "claude-code")
	c.mount(``)
	c.call("TodoWrite", `{todos: [{content: 'A', activeForm: 'Doing A', status: 'in_progress'}, {content: 'B', activeForm: 'x', status: 'pending'}]}`)
	c.hostUntil(`!('structuredContent' in host.last)`) // V3
	c.rows("in_progress Doing A", "pending B")
	c.host(`call("SetTodoList", {todos: [{title: 'A', status: 'done'}, {title: 'B', status: 'pending'}]})`)
	c.until(`document.getElementById('count').textContent === '1 of 2 done' && drawn.revision === 2 && drawn.list.length === 26`)
	c.call("create_todos", `{items: ['C']}`)
	c.call("update_todo", `{id: '3', status: 'failed'}`)
	c.rows("completed A", "pending B", "failed C")
	c.call("TodoWrite", `{todos: [{content: '', activeForm: 'x', status: 'pending'}]}`)
	c.until(`document.getElementById('note').className === 'error'`)
	c.host("result({content: [], structuredContent: {display: [{type: 'todo', items: [{title: 'Read `a <b>` and **then** `c`', status: 'pending'}, {title: '2 ** 3 ** 4 and a ` tick', status: 'pending'}, {title: '**`both`** at once', status: 'pending'}]}], list: 'x', revision: 1}})")
	c.until("[...document.querySelectorAll('#items bdi')].map((e) => e.innerHTML).join('|') === 'Read <code>a &lt;b&gt;</code> and <strong>then</strong> <code>c</code>|2 ** 3 ** 4 and a ` tick|<strong>`both`</strong> at once'")
	c.host(`result({content: [], structuredContent: {display: [{type: 'todo', items: [{title: 'S', status: 'pending'}]}]}, _meta: {'todo-mcp/display': [{type: 'todo', items: []}]}})`)
	c.rows("pending S")
	// Only a broken host could send these.
	c.host(`result({content: [{type: 'text', text: 'Updated'}], _meta: {'todo-mcp/display': 'x', 'todo-mcp/list': null}})`)
	c.until(`document.getElementById('note').textContent === 'Updated'`)
	c.host(`result({content: [], _meta: {'todo-mcp/display': [{type: 'todo', items: [{title: 'No list', status: 'pending'}]}]}})`)
	c.rows("pending No list")
}

// When a host refuses the view tool because it was not listed, the page reads the list's resource instead, with title
// and time. Items cannot be ticked then, nor in a host that offers only resources. A host without tools and resources
// gets no request.
func TestAppRefreshesWithoutTool(t *testing.T) {
	const noTick = `document.querySelector('.tick') === null`
	c := newChat(t, servertest.New(t, nil, nil))
	c.mount(``)
	servertest.Eval[bool](t, c.ctx, `host.refuse = true`)
	c.call("TodoWrite", plan)
	c.host(`call("TodoWrite", ` + strings.ReplaceAll(plan, "'pending'", "'completed'") + `)`)
	c.until(`document.getElementById('count').textContent === '4 of 5 done'`)
	c.rows("completed Read the schema", "completed Write the migration", "in_progress Running the tests against Postgres and SQLite",
		"completed Update the documentation of every setting that the migration renames, with an example for each", "completed Ship it")
	c.until(noTick)
	c.hostUntil(`host.calls.length === 1`)
	c.mount(`{}, {serverResources: {}}`)
	c.call("TodoWrite", plan)
	c.until(`drawn.items[0]?.id === '1' && ` + timeText + ` !== '' && document.querySelector('h1').textContent === 'Read the schema +4' && ` + noTick)
	c.mount(`{}, {}`)
	c.host("result()")
	c.until(`document.querySelectorAll('#items li').length === 5`)
	servertest.Eval[bool](t, c.frame, `dispatchEvent(new Event('focus'))`)
	c.host("teardown()")
	c.hostUntil(`host.calls.length + host.reads.length === 0`)
}

// BAD-INPUT 37, 40: hostile texts are shown as texts, and ordinary text of every writing system is unchanged.
func TestAppHostileText(t *testing.T) {
	c := newChat(t, servertest.New(t, nil, nil))
	hostile := []string{
		`<script>window.hit=1</script>`, `<img src=x onerror=window.hit=1>`, `"><svg onload=window.hit=1>`,
		`</li></ul></script><script>window.hit=1</script>`, `javascript:window.hit=1`, `Fill {{.}} ${hit} __proto__`,
	}
	honest := []string{"日本語を書く", "שלום עולם", "می‌خواهم", "क्‍ष", "👩‍💻 ❤️ 👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 🇻🇳", "Đặt tên"}
	hidden := "a\u202eb\u2066c\u200bd\ufeffe\u00adf\U000e0041g\u200dh"
	args := checktest.Must(json.Marshal(map[string]any{"items": append(append(append([]string{}, hostile...), honest...), hidden)}))(t)
	c.mount(``)
	c.call("create_todos", string(args))
	want := []string{}
	for _, text := range append(hostile, honest...) {
		want = append(want, "pending "+text)
	}
	c.rows(append(want, `pending a\u202eb\u2066c\u200bd\ufeffe\u00adf\U000e0041g\u200dh`)...)
	// The last lines of a left-to-right and a right-to-left text begin at the same place.
	c.host("result({content: [], structuredContent: {display: [{type: 'todo', items: ['שלום עולם ', 'Hello world '].map((t) => ({title: t.repeat(40) + '.', status: 'pending'}))}], list: 'x', revision: 1}})")
	c.until(`document.querySelectorAll('#items bdi').length === 2 && new Set([...document.querySelectorAll('#items bdi')].map((e) => {
		const r = document.createRange(); r.selectNodeContents(e); return Math.round([...r.getClientRects()].at(-1).left) })).size === 1`)
	// Only a broken host could send this.
	c.host(`result({content: [], structuredContent: {display: [{type: 'todo', items: [{title: {}, status: 'toString'}, {title: '\ud800\u001b[31m\nx', status: '__proto__'}]}], list: '"><b>', revision: 'x'}})`)
	c.rows("pending [object Object]", `pending \ud800\x1b[31m x`)
	c.host(`result({})`)
	c.until(`document.getElementById('note').textContent === 'No answer.'`)
	if servertest.Eval[bool](t, c.frame, `'hit' in window`) || servertest.Eval[int](t, c.frame, `document.querySelectorAll('main script, main img, main b').length`) != 0 {
		t.Error("37: a text was interpreted as markup")
	}
	c.expectNoRequests()
}

type chat struct {
	t   *testing.T
	ctx context.Context // the tab
	// frame is the page in its sandboxed frame.
	frame context.Context
	seen  map[target.ID]bool // the frames of earlier pages
}

var hostScript []byte

// newChat returns the chat of a host that is not known to show structured content to its model.
func newChat(t *testing.T, s *server.Server) *chat { t.Helper(); return newChatOf(t, s, "claude-ai") }

func newChatOf(t *testing.T, s *server.Server, client string) *chat {
	t.Helper()
	if hostScript == nil {
		hostScript = servertest.Bundle(t, "testdata/host.js", "--format=iife")
	}
	h := servertest.Handler(t, s, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.HandleFunc("/host", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><style>body{margin:16px}iframe{border:1px solid #8884;border-radius:12px;width:100%;height:60px;display:block}</style><script src="/host.js"></script>`)
	})
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(hostScript)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(func() { h.Close(); web.CloseClientConnections(); web.Close() })
	c := &chat{t: t, ctx: servertest.Tab(t), seen: make(map[target.ID]bool)}
	servertest.Do(t, c.ctx, chromedp.EmulateViewport(592, 700), chromedp.Navigate(web.URL+"/host"))
	c.host(fmt.Sprintf("connect(%q)", client))
	return c
}

func (c *chat) host(call string) {
	c.t.Helper()
	checktest.Must(chromedp.Run(c.ctx, chromedp.Evaluate[bool]("host."+call, chromedp.EvalAwaitPromise)))(c.t)
}

func (c *chat) mount(args string) {
	c.t.Helper()
	c.newFrame()
	c.host("mount(" + args + ")")
	id := c.newFrame()
	for id == "" {
		id = c.newFrame()
	}
	frame, cancel := chromedp.NewContext(c.ctx, chromedp.WithTargetID(id))
	c.t.Cleanup(cancel)
	c.frame = frame
}

func (c *chat) newFrame() (id target.ID) {
	c.t.Helper()
	targets := checktest.Must(chromedp.Targets(c.ctx))(c.t)
	for _, f := range targets {
		if f.Type == "iframe" && !c.seen[f.TargetID] {
			id, c.seen[f.TargetID] = f.TargetID, true
		}
	}
	return id
}

func (c *chat) until(script string) { c.t.Helper(); servertest.Until(c.t, c.frame, script) }

func (c *chat) call(tool, args string) {
	c.t.Helper()
	c.host(fmt.Sprintf("call(%q, %s)", tool, args))
	c.host("result()")
}

const rows = `[...document.querySelectorAll('#items li')].map((e) => e.classList[0] + ' ' + e.querySelector('bdi').textContent).join('|')`

func (c *chat) rows(want ...string) {
	c.t.Helper()
	text := checktest.Must(json.Marshal(strings.Join(want, "|")))(c.t) // Go's own escapes are not JavaScript's
	c.until(rows + " === " + string(text))
}

func (c *chat) expectNoRequests() {
	c.t.Helper()
	if requests := servertest.Eval[string](c.t, c.frame, `[...stopped, ...performance.getEntriesByType('resource').map((e) => e.name)].join()`); requests != "" {
		c.t.Errorf("the page requested %s", requests)
	}
	// Prove that a request would be counted.
	servertest.Eval[bool](c.t, c.frame, `new Image().src = 'http://127.0.0.1:9/x', true`)
	c.until(`stopped.length === 1`)
}

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
