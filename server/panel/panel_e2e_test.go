//go:build e2e

package panel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// In a real browser the panel shows its empty state, live changes, the same state after a reload, and marks
// items that take long.
func TestPanelLive(t *testing.T) {
	_, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	program := checktest.Must(os.Executable())(t)
	text := servertest.Eval[string](t, ctx, `document.getElementById('empty').textContent`)
	checktest.Has(t, "the empty state", text, program+" install", "claude mcp add --transport http --scope user todo "+base+"/mcp", "Waiting for the first list")
	write := servertest.Writer(t, base, "claude-code")
	servertest.Until(t, ctx, `document.getElementById('greeting').textContent.startsWith('Claude Code is connected')`)
	write(servertest.Todos("pending", "First"))
	servertest.Until(t, ctx, `document.querySelector('.card .items bdi')?.textContent === 'First' && !document.getElementById('empty')`)
	write(servertest.Todos("in_progress", "Step 9"))
	servertest.Until(t, ctx, `document.querySelector('.card .items bdi')?.textContent === 'Step 9' && document.getElementById('say').textContent.includes('0 of 1 done')`)
	servertest.Do(t, ctx, chromedp.Reload())
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('.card .items bdi')?.textContent === 'Step 9'`)
	// An item that takes longer than the server's limit, data-long-after, is marked.
	is(t, ctx, "an item just begun is marked, or not after 20 minutes", `document.getElementById('main').dataset.longAfter === '1200000' && !document.querySelector('.long')`)
	servertest.Eval[int](t, ctx, `document.getElementById('main').dataset.longAfter = 0`)
	servertest.Until(t, ctx, `document.querySelector('.items time.run').classList.contains('long')`)
	// A finished list becomes a row among the finished lists.
	write(servertest.Todos("completed", "Step 9"))
	servertest.Until(t, ctx, `document.querySelectorAll('#finished .rows li[id]').length === 1 && !document.querySelector('.card')`)
}

// On a list's own page a person opens the history, steps back by keyboard, sees the
// changes in words, restores a revision, and returns to the live list. The address has
// the revision, the timeline keeps its width, and an old revision is not called "Live".
func TestPanelHistory(t *testing.T) {
	// Every plan replaces a named list in place (docs/spec/architecture.md, "Who is calling", rule 3).
	base := servertest.Serve(t, servertest.New(t, nil, func(c *server.Config) { c.List = "work" }), nil).URL
	write := servertest.Writer(t, base, "claude-code")
	write(servertest.Todos("pending", "First"))
	write(servertest.Todos("in_progress", "Step"))
	write(servertest.Todos("pending", "Step", "Rest"))
	list := base + "/lists/" + servertest.ListIDs(t, base)[0]
	ctx := wide(t, list, 1280, 800)
	const at = `document.querySelector('#where')?.textContent === 'Revision %d of %d' && location.search === '?revision=%[1]d'`
	key := func(keys string) { servertest.Do(t, ctx, servertest.Press(keys)) }
	key("h")
	servertest.Until(t, ctx, fmt.Sprintf(at, 3, 3)+` && document.getElementById('status-text').textContent === 'Live'`)
	width := servertest.Eval[float64](t, ctx, `document.getElementById('ticks').getBoundingClientRect().width`)
	key("[")
	servertest.Until(t, ctx, fmt.Sprintf(at, 2, 3)+` && document.getElementById('status-text').textContent === 'Old revision'`)
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items li')].map((li) => li.querySelector('bdi').textContent + ': ' + li.querySelector('.small').textContent).sort().join() === 'First: removed,Step: added (in progress)'`)
	if tick := servertest.Eval[string](t, ctx, `document.querySelector('#ticks [aria-current]').getAttribute('aria-label')`); tick != "Revision 2, Claude Code, Step: added (in progress), First: removed" {
		t.Errorf("the tick says %q", tick)
	}
	key(kb.ArrowLeft)
	servertest.Until(t, ctx, fmt.Sprintf(at, 1, 3))
	write(servertest.Todos("pending", "Step", "More"))
	servertest.Until(t, ctx, fmt.Sprintf(at, 1, 4))
	key("]")
	servertest.Until(t, ctx, fmt.Sprintf(at, 2, 4))
	checktest.Same(t, "the timeline was", servertest.Eval[float64](t, ctx, `document.getElementById('ticks').getBoundingClientRect().width`), width)
	if copied := servertest.Eval[string](t, ctx, `[...document.querySelectorAll('.side .acts a')].map((a) => a.getAttribute('href')).join()`); !strings.Contains(copied, ".md?revision=2") || !strings.Contains(copied, "api/lists/") {
		t.Errorf("copy and download take %s", copied)
	}
	servertest.Do(t, ctx, chromedp.Click("#restore"))
	servertest.Until(t, ctx, `location.search === '' && document.querySelector('#items .in_progress bdi')?.textContent === 'Step' && !document.getElementById('toast').hidden`)
	// The agent has not seen the restored list, so the server merges the agent's write into that list.
	write(servertest.Todos("pending", "Step", "More", "Other"))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items [data-item] bdi')].map((e) => e.textContent).join() === 'Step,Other'`)
	// A link to an old revision shows that revision.
	servertest.Do(t, ctx, chromedp.Navigate(list+"?revision=2"))
	servertest.Until(t, ctx, servertest.IsLive+" && "+fmt.Sprintf(at, 2, 6))
	key(kb.Escape)
	servertest.Until(t, ctx, `location.search === '' && document.querySelectorAll('#items [data-item]').length === 2 && document.getElementById('status-text').textContent === 'Live'`)
	write(servertest.Todos("pending", "Step", "Other", "Again"))
	servertest.Until(t, ctx, `document.querySelectorAll('#items [data-item]').length === 3`)
}

// A person edits on the panel: completes, adds, rewords, moves and removes
// items. The agent's next write keeps these edits, and its result reports them.
func TestPanelEdit(t *testing.T) {
	_, base := servertest.Site(t)
	id := servertest.NewSession(t, base+"/mcp", "claude-code")
	agent := func(args string) string {
		t.Helper()
		_, _, body := servertest.Post(t, base+"/mcp", servertest.Call(1, "TodoWrite", args), "Mcp-Session-Id", id)
		return servertest.Parse(t, body).Text()
	}
	agent(servertest.Todos("pending", "One", "Two", "Three"))
	list := base + "/lists/" + servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, list)
	key := func(keys string, modifiers ...chromedp.Modifier) {
		servertest.Do(t, ctx, servertest.Press(keys, modifiers...))
	}
	texts := func(want string) {
		t.Helper()
		servertest.Until(t, ctx, fmt.Sprintf(`[...document.querySelectorAll('#items [data-item] bdi')].map((e) => e.textContent).join() === %q`, want))
	}
	empty := func() { servertest.Eval[string](t, ctx, `document.activeElement.value = ''`) }
	// All by keyboard: tick the first, add, delete the third, move, reword.
	key("j")
	key("x")
	servertest.Until(t, ctx, `document.querySelector('#i-1').className.includes('completed') && document.activeElement.id === 'i-1'`)
	key("a")
	empty() // in case the field got the letter as well
	servertest.Do(t, ctx, chromedp.SendKeys("#adding", "From <b>me</b>\r"))
	texts("One,Two,Three,From <b>me</b>")
	servertest.Until(t, ctx, `document.activeElement.id === 'adding' && document.activeElement.value === ''`)
	servertest.Eval[bool](t, ctx, `document.getElementById('i-3').focus(), true`)
	key(kb.Delete)
	texts("One,Two,From <b>me</b>")
	servertest.Eval[bool](t, ctx, `document.getElementById('i-4').focus(), true`)
	key(kb.ArrowUp, chromedp.ModifierAlt)
	texts("One,From <b>me</b>,Two")
	servertest.Until(t, ctx, `document.activeElement.id === 'i-4'`)
	key("j")
	key("e")
	servertest.Until(t, ctx, `document.activeElement.matches('#i-2 .field')`)
	empty()
	servertest.Do(t, ctx, chromedp.SendKeys("#i-2 .field", "Two, but better\r"))
	texts("One,From <b>me</b>,Two, but better")
	servertest.Until(t, ctx, `[...document.querySelectorAll('.yours')].map((e) => e.textContent).join('|') === 'you: pending → completed, waits to be seen|you: added, waits to be seen|you: reworded, waits to be seen' && document.getElementById('unseen').innerText.includes('Claude Code will see your 4 changes with its next write')`)
	checktest.Has(t, "the agent's result", agent(servertest.Todos("pending", "One", "Two", "Three", "Four")),
		`The user changed the list: set "One" to completed, added "From <b>me</b>", reworded "Two" to "Two, but better", removed "Three"`)
	texts("One,From <b>me</b>,Two, but better,Four")
	servertest.Until(t, ctx, `!document.querySelector('.yours, #unseen')`)
	// A blocked item is shown with its reason as text. When an agent that last saw the item
	// as pending writes it as pending, the item keeps its status and reason.
	servertest.Is(t, "it is blocked", 200, `"status":"blocked"`)(servertest.Post(t, list+"/edit", `{"do":"block","id":"2","text":"waiting for <i>Ann</i>"}`))
	const reason = `document.querySelector('#items .blocked .why')?.textContent === 'waiting for <i>Ann</i>'`
	servertest.Until(t, ctx, reason)
	// The agent was told that the person reworded "Two". If it still writes "Two", it means
	// the reworded item (docs/spec/variants.md, "A person's edits").
	agent(servertest.Todos("pending", "One", "Two", "Four", "Five"))
	servertest.Until(t, ctx, reason+` && document.querySelectorAll('#items [data-item]').length === 5`)
}

// BAD-INPUT 37, 40: hostile text does not run, neither on a loaded page nor
// in a live change, and its invisible characters are shown as escapes.
func TestPanelHostileText(t *testing.T) {
	_, base := servertest.Site(t)
	ctx := servertest.Tab(t)
	write := servertest.Writer(t, base, `<img src=x onerror="window.hit=1">`)
	hostile := []string{
		`<script>window.hit=1</script>`, `<img src=x onerror=window.hit=1>`, `"><svg onload=window.hit=1>`,
		`</li></ul></script><script>window.hit=1</script>`, `javascript:window.hit=1`, `{{.}}`, "a\u202eb\u2066c\u200bd",
	}
	write(servertest.Todos("pending", hostile...))
	servertest.Do(t, ctx, chromedp.Navigate(base))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelectorAll('.card .items li').length === 4 && !('hit' in window)`)
	servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+servertest.ListIDs(t, base)[0]))
	servertest.Until(t, ctx, servertest.IsLive)
	check := func(when string) {
		t.Helper()
		is(t, ctx, "37: "+when+": a text was interpreted as markup", `!('hit' in window || document.querySelector('main script, main img, main svg:not([class])'))`)
		for _, text := range hostile[:6] {
			is(t, ctx, "37: "+when+": not shown as it is: "+text, fmt.Sprintf(`[...document.querySelectorAll('#items bdi')].some((e) => e.textContent === %q)`, text))
		}
		if shown := servertest.Eval[string](t, ctx, `document.body.textContent`); strings.ContainsAny(shown, "\u202e\u2066\u200b") || !strings.Contains(shown, `a\u202eb`) {
			t.Errorf("37: %s: invisible characters are not escaped", when)
		}
	}
	check("loaded")
	write(servertest.Todos("completed", hostile...))
	servertest.Until(t, ctx, `document.querySelectorAll('#items .completed[data-item]').length === 7`)
	check("live")
}

// The empty board, with the script and style that it loads, is at most 60 kB; a board of eight
// lists is at most 72 kB. The page's policy lets it load nothing from other servers.
func TestPanelSize(t *testing.T) {
	_, base := servertest.Site(t)
	check := func(most int) {
		t.Helper()
		total := 0
		for _, path := range []string{"/", "/panel.js", "/panel.css"} {
			total += len(page(t, base+path))
		}
		t.Logf("%d bytes in all", total)
		if total > most {
			t.Errorf("the page is %d bytes in all, more than %d", total, most)
		}
	}
	check(60_000)
	for i := range 8 {
		servertest.Writer(t, base, fmt.Sprint("client-", i))(servertest.Todos("pending", "One thing to do", "Another thing to do", "A third", "And a fourth thing to do"))
	}
	check(72_000)
	_, header, _ := servertest.Ask(t, "GET", base, "")
	if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("37: policy %q", policy)
	}
}

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// is checks that a script is true on a page.
func is(t testing.TB, ctx context.Context, wrong, script string) {
	t.Helper()
	if !servertest.Eval[bool](t, ctx, script) {
		t.Error(wrong)
	}
}

// accessible checks that axe finds nothing wrong on a page.
func accessible(t *testing.T, ctx context.Context) {
	t.Helper()
	if found := servertest.Violations(t, ctx); len(found) > 0 {
		t.Error(found)
	}
}

// wide opens a page in a tab of a given size, and waits until it is live.
func wide(t testing.TB, url string, width, height int64) context.Context {
	t.Helper()
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url))
	servertest.Until(t, ctx, servertest.IsLive)
	return ctx
}

// The panel works below a path of a proxy, such as /todo/: the board, a list, an earlier revision,
// live changes, an edit and the way back. The proxy takes the path out of requests, or the server
// knows the path from its public URL, or both. No page links to or loads an address outside the
// path: such an address belongs to another program.
func TestPanelBelowAPath(t *testing.T) {
	for name, c := range map[string]struct {
		strips bool
		public string
	}{
		"stripped": {strips: true},
		"kept":     {public: "https://todo.example/todo"},
		"known":    {strips: true, public: "https://todo.example/todo"},
	} {
		t.Run(name, func(t *testing.T) {
			web := servertest.Serve(t, servertest.New(t, nil, nil), func(c2 *edge.Config) { c2.PublicURL = c.public })
			base := servertest.Below(t, web.URL, "/todo", c.strips)
			write := servertest.Writer(t, web.URL, "claude-code")
			write(servertest.Todos("pending", "Paint", "Dry"))
			id := servertest.ListIDs(t, web.URL)[0]
			ctx := servertest.Open(t, base+"/")
			at := func(path, ready string) {
				t.Helper()
				servertest.Until(t, ctx, fmt.Sprintf(`location.pathname + location.search === '/todo/%s' && (%s) && %s`, path, ready, servertest.IsLive))
				elsewhere := `[...document.querySelectorAll('a[href], form[action]')].map((e) => e.href ?? e.action).concat(performance.getEntriesByType('resource').map((e) => e.name))
					.filter((u) => u.startsWith('http') && !u.startsWith(location.origin + '/todo/')).join()`
				checktest.Same(t, fmt.Sprintf("%s leads to", path), servertest.Eval[string](t, ctx, elsewhere), "")
			}
			at("", `document.querySelector('.card h3 a') !== null`)
			write(servertest.Todos("pending", "Paint", "Dry", "Sail"))
			servertest.Until(t, ctx, `document.querySelector('.card').textContent.includes('Sail')`)
			servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+id))
			at("lists/"+id, `document.querySelectorAll('#items [data-item]').length === 3`)
			servertest.Eval[bool](t, ctx, `(document.querySelector('#i-1 .tick').click(), true)`)
			servertest.Until(t, ctx, `document.querySelector('#i-1.completed') !== null && document.querySelector('main').dataset.revision === '3'`)
			servertest.Do(t, ctx, servertest.Press("h"))
			at("lists/"+id+"?revision=3", `document.querySelector('main').dataset.view === 'history'`)
			servertest.Do(t, ctx, servertest.Press("["))
			at("lists/"+id+"?revision=2", `document.getElementById('where').textContent === 'Revision 2 of 3'`)
			servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+id))
			at("lists/"+id, `document.querySelector('.skip').href === location.href + '#main'`)
			servertest.Do(t, ctx, servertest.Press("\x1b"))
			at("", `document.querySelector('.card h3 a') !== null`)
			servertest.Eval[bool](t, ctx, `(document.querySelector('[aria-label=Today]').click(), true)`)
			at("today", `document.querySelector('main').dataset.view === 'today'`)
		})
	}
}

// A chat without a list has a card on the board from its first event on, with its question or its
// state. Idle chats share one line instead of cards, and an ended chat leaves the board.
func TestPanelShowsChats(t *testing.T) {
	s, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	who := board.Conversation{Key: todo.ChatKey("s"), Client: "claude-code", Workspace: "/src/app", Detached: true, Lasts: time.Hour}
	hear := func(heard func(c *todo.Chat, at time.Time)) {
		t.Helper()
		checktest.Must(s.Board.As("").Hear(t.Context(), who, heard))(t)
	}
	hear(func(c *todo.Chat, at time.Time) {
		c.Titled(todo.Topic{Text: "Publish <b>it</b>", From: todo.FromPrompt}, at)
		c.Says(todo.Asks, "run `npm publish`?", at)
	})
	servertest.Until(t, ctx, `document.querySelector('.card h3')?.textContent === 'Publish <b>it</b>' && document.querySelector('.card .bar').textContent === 'Claude Code asks: run npm publish?' &&
		document.querySelector('.card .state').textContent === 'Asked' && document.getElementById('waits').textContent === '1 waits for you' && !document.getElementById('empty')`)
	is(t, ctx, "the card of a chat offers what is a list's", `document.querySelector('.card h3 a').getAttribute('href') === './?project=%2Fsrc%2Fapp' && !document.querySelector('.card progress, .card [data-menu]')`)
	hear(func(c *todo.Chat, at time.Time) { c.Says(todo.Works, "", at) })
	servertest.Until(t, ctx, `document.querySelector('.card .state')?.textContent === 'Working' && document.getElementById('waits').hidden`)
	hear(func(c *todo.Chat, at time.Time) { c.Says(todo.Rests, "", at) })
	servertest.Until(t, ctx, `!document.querySelector('.card') && document.querySelector('#quiet summary').textContent === '1 idle chat without a list: app'`)
	hear(func(c *todo.Chat, at time.Time) { c.End("other", at) })
	servertest.Until(t, ctx, `!document.getElementById('quiet') && !!document.getElementById('empty')`)
}

// The page of today changes as agents work, can be copied as markdown, and leads to other
// days without a reload.
func TestPanelTodayInTheBrowser(t *testing.T) {
	s, base := servertest.Site(t)
	manyStates(t, s.Board.As(""))
	write := servertest.Writer(t, base, "codex-mcp-client")
	write(servertest.Todos("in_progress", "Paint"))
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text } } }), window.same = true)`)
	servertest.Do(t, ctx, chromedp.Click(`#views [aria-label="Today"]`))
	servertest.Until(t, ctx, `window.same && location.pathname === '/today' && document.getElementById('day')?.textContent.includes('Paint')`)
	write(servertest.Todos("completed", "Paint"))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#day .completed')].some((e) => e.textContent.includes('Paint'))`)
	servertest.Do(t, ctx, chromedp.Click(`[data-do="copy"]`))
	servertest.Until(t, ctx, `window.copied && !document.getElementById('toast').hidden`)
	if copied := servertest.Eval[string](t, ctx, `copied`); !strings.HasPrefix(copied, "# "+time.Now().Format("Monday")) || !strings.Contains(copied, "- [x] Paint") {
		t.Errorf("copied %s", copied)
	}
	const date = `document.querySelector('#filters [type=date]')`
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	servertest.Do(t, ctx, chromedp.Click(`[aria-label="The day before"]`))
	servertest.Until(t, ctx, fmt.Sprintf(`window.same && location.search === '?day=%s' && %s.value === '%[1]s' && document.getElementById('nothing') !== null`, yesterday, date))
	servertest.Eval[bool](t, ctx, fmt.Sprintf(`(%s.value = '%s', %[1]s.dispatchEvent(new Event('change', { bubbles: true })))`, date, time.Now().Format(time.DateOnly)))
	servertest.Until(t, ctx, `window.same && document.getElementById('day').textContent.includes('Paint')`)
}

// front starts a proxy in front of a server. While down is true, the proxy does not answer; cut ends its connections.
func front(t *testing.T, target string) (url_ string, down *atomic.Bool, cut func()) {
	t.Helper()
	to := checktest.Must(url.Parse(target))(t)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	down = &atomic.Bool{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		r.Host = to.Host
		r.Header.Del("Origin")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	t.Cleanup(site.CloseClientConnections)
	return site.URL, down, site.CloseClientConnections
}

// If an edit fails, its field keeps the typed text and says why. If the server is down, the text is saved when
// the server is back; if the server refuses the text, it stays in the field. An agent's write does not close a field.
// The page says that the connection is lost, and later shows the changes that it missed.
func TestPanelKeepsWhatWasTyped(t *testing.T) {
	write, base, list := listed(t, "claude-code", servertest.Todos("pending", "One", "Two"))
	site, down, cut := front(t, base)
	ctx := servertest.Open(t, site+strings.TrimPrefix(list, base))
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-1 .t bdi').click(), document.activeElement.value = 'One, typed', true`)
	write(servertest.Todos("pending", "One", "Two", "Three"))
	servertest.Until(t, ctx, `document.querySelectorAll('#items [data-item]').length === 3 && document.activeElement.matches('#i-1 .field') && document.activeElement.value === 'One, typed'`)
	down.Store(true)
	cut()
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	servertest.Until(t, ctx, `document.querySelector('#i-1 .field')?.value === 'One, typed' && document.querySelector('#i-1 [role=alert]').textContent.includes('Not saved yet')`)
	servertest.Until(t, ctx, `document.getElementById('lost')?.textContent.includes('This is what stood') && document.body.classList.contains('stale') &&
		/^Not live since \d\d:\d\d$/.test(document.getElementById('status').innerText)`)
	write(servertest.Todos("pending", "One", "Two", "While away"))
	down.Store(false)
	servertest.Until(t, ctx, servertest.IsLive+` && document.getElementById('items').textContent.includes('While away') && !document.querySelector('#lost, .field') && document.querySelector('#i-1 bdi').textContent === 'One, typed'`)
	// A text that the server refuses stays in the field as well.
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-2 .t bdi').click(), document.activeElement.value = 'a\u0000b', true`)
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	servertest.Until(t, ctx, `document.querySelector('#i-2 .field')?.value.length === 3 && document.querySelector('#i-2 [role=alert]').textContent.startsWith('Not saved: ')`)
	servertest.Do(t, ctx, servertest.Press(kb.Escape))
	servertest.Until(t, ctx, `!document.querySelector('.field') && document.querySelector('#i-2 bdi').textContent === 'Two'`)
}

// A hidden tab notifies the person once of each list that finished, waits for a
// person or has a failed item, even if the list began and ended unseen.
func TestPanelNotifiesAHiddenTab(t *testing.T) {
	srv, base := servertest.Site(t)
	servertest.Writer(t, base, "claude-code")(servertest.Todos("pending", "Known", "Rest"))
	known := servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	// The tab now counts as hidden, and draws no frames.
	servertest.Eval[bool](t, ctx, `(localStorage.notify = 'on', window.told = [], window.Notification = class { static permission = 'granted'; constructor(title) { told.push(title) } },
		Object.defineProperty(document, 'hidden', { get: () => true }), window.requestAnimationFrame = () => 0, document.dispatchEvent(new Event('visibilitychange')), true)`)
	told := func(want string) {
		t.Helper()
		// A timer on the page compares, since timers also run in a hidden tab.
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`window.is = false, window.looks = setInterval(() => { if (told.join() === %q) { is = true; clearInterval(looks) } }, 20), true`, want))
		for range 400 {
			if servertest.Eval[bool](t, ctx, `is`) {
				return
			}
		}
		t.Fatalf("told %q, want %q", servertest.Eval[string](t, ctx, `told.join()`), want)
	}
	other := servertest.Writer(t, base, "codex-mcp-client")
	other(servertest.Todos("pending", "Unseen"))
	other(servertest.Todos("completed", "Unseen"))
	told("Finished: Unseen")
	for range 3 {
		servertest.Open(t, base+"/lists/"+known) // the hidden tab does not give up its stream for these tabs
	}
	agent := func(status todo.Status, id string) {
		t.Helper()
		w := servertest.On(known)
		w.Writer.Client = "claude-code"
		servertest.Apply(t, srv.Board.As(""), w, func(d *todo.Draft) { d.SetStatus(id, status) })
	}
	agent(todo.Blocked, "1")
	told("Finished: Unseen,Waiting for you: Known +1")
	agent(todo.Failed, "2")
	told("Finished: Unseen,Waiting for you: Known +1,An item failed: Known +1")
	// A person is not notified of a person's own edit.
	servertest.Is(t, "it is answered", 200)(servertest.Post(t, base+"/lists/"+known+"/edit", `{"do":"status","id":"1","status":"completed"}`))
	other(servertest.Todos("pending", "More"))
	other(servertest.Todos("completed", "More"))
	told("Finished: Unseen,Waiting for you: Known +1,An item failed: Known +1,Finished: More")
}

// On the board a person switches the theme by its key, searches while typing, renames, archives and
// deletes a list from its card's menu, archives all finished lists at once, and undoes these actions.
func TestPanelBoardActions(t *testing.T) {
	_, base := servertest.Site(t)
	first, second := servertest.Writer(t, base, "claude-code"), servertest.Writer(t, base, "codex-mcp-client")
	first(servertest.Todos("pending", "Paint the boat", "Dry it"))
	second(servertest.Todos("completed", "Buy rope"))
	ids := servertest.ListIDs(t, base)
	ctx := servertest.Open(t, base)
	const card = `document.querySelector('.card h3')?.textContent.trim()`
	act := func(name string) {
		t.Helper()
		servertest.Eval[bool](t, ctx, `document.querySelector('.card .more').click(), true`)
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`[...document.querySelectorAll('#menu button')].find((b) => b.textContent.startsWith(%q)).click(), true`, name))
	}
	act("Rename")
	servertest.Eval[string](t, ctx, `document.activeElement.value = 'The boat'`)
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	// The toast comes with the edit's answer, perhaps after the page shows the change.
	toast := func(word string) string {
		return fmt.Sprintf(`!document.getElementById('toast').hidden && document.querySelector('#toast span').textContent.startsWith(%q)`, word)
	}
	servertest.Until(t, ctx, card+` === 'The boat' && `+toast("Renamed"))
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, card+` === 'Paint the boat +1'`)
	for _, name := range []string{"Archive", "Delete"} {
		act(name)
		servertest.Until(t, ctx, `!document.querySelector('.card') && `+toast(name))
		if status := servertest.GetJSON(t, base+"/api/lists/"+ids[1], nil); name == "Delete" && status != 404 {
			t.Errorf("the deleted list is answered with %d", status)
		}
		servertest.Eval[bool](t, ctx, `document.querySelector('#toast button').click(), true`)
		servertest.Until(t, ctx, card+` === 'Paint the boat +1'`)
	}
	servertest.Eval[bool](t, ctx, `document.querySelector('[data-clear]').click(), true`)
	servertest.Until(t, ctx, `!document.getElementById('finished') && document.querySelector('#kinds li:last-child .n').textContent === '1'`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `document.getElementById('finished') !== null`)
	servertest.Do(t, ctx, servertest.Press("t"))
	const dark = `document.documentElement.dataset.theme === 'dark' && getComputedStyle(document.body).backgroundColor === 'rgb(17, 17, 16)'`
	servertest.Until(t, ctx, dark)
	servertest.Do(t, ctx, chromedp.Reload())
	servertest.Until(t, ctx, servertest.IsLive+` && `+dark)
	servertest.Do(t, ctx, servertest.Press("k", chromedp.ModifierCtrl))
	servertest.Until(t, ctx, `document.activeElement.id === 'q'`)
	// The address has the searched text; the page marks matches, and says when nothing matches.
	servertest.Do(t, ctx, chromedp.SendKeys("#q", "dry"))
	servertest.Until(t, ctx, `location.search === '?q=dry' && document.querySelectorAll('.rows li[id]').length === 1 && document.querySelector('.rows mark').textContent === 'Dry' && document.activeElement.id === 'q'`)
	servertest.Do(t, ctx, chromedp.SendKeys("#q", "er"))
	servertest.Until(t, ctx, `document.getElementById('nothing')?.textContent.includes('Nothing matches “dryer”')`)
}

// While a turn runs, Shift+Enter, or Enter with the switch on, adds an item for the end of the turn. A person can
// release the item at once, or delete it. While no turn is known, the page does not offer such items.
func TestPanelAddsForTheEndOfTheTurn(t *testing.T) {
	srv, base := servertest.Site(t)
	servertest.Writer(t, base, "claude-code")(servertest.Todos("pending", "One"))
	lists, id := srv.Board.As(""), servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base+"/lists/"+id)
	const offered = `getComputedStyle(document.getElementById('after')).visibility === 'visible'`
	add := func(text string, modifiers ...chromedp.Modifier) {
		t.Helper()
		servertest.Eval[bool](t, ctx, `document.getElementById('adding').focus(), document.getElementById('adding').value = '`+text+`', true`)
		servertest.Do(t, ctx, servertest.Press(kb.Enter, modifiers...))
		servertest.Until(t, ctx, `document.getElementById('items').textContent.includes('`+text+`')`)
	}
	newest := func() (items, later string) {
		t.Helper()
		s := checktest.Must(lists.Load(t.Context(), id, 0))(t)
		for _, i := range s.Items {
			items += i.Text + " "
		}
		for _, i := range s.Later {
			later += i.Text + " "
		}
		return items, later
	}
	stands := func(wantItems, wantLater string) {
		t.Helper()
		if items, later := newest(); items != wantItems || later != wantLater {
			t.Errorf("%q, later %q; want %q, later %q", items, later, wantItems, wantLater)
		}
	}
	is(t, ctx, "it is offered where no hook tells of a turn", `!(`+offered+`)`)
	add("Two", chromedp.ModifierShift)
	stands("One Two ", "")
	servertest.Says(t, lists, id, todo.Works, "")
	servertest.Until(t, ctx, offered)
	add("Three", chromedp.ModifierShift)
	add("Four")
	servertest.Eval[bool](t, ctx, `document.getElementById('after').click(), true`)
	add("Five")
	add("Six")
	stands("One Two Four ", "Three Five Six ")
	press := func(text, button string) {
		t.Helper()
		servertest.Eval[bool](t, ctx, `[...document.querySelectorAll('#items li')].find((li) => li.dataset.text === '`+text+`').querySelector('[aria-label^="`+button+`"]').click(), true`)
	}
	press("Five", "Tell now")
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items [data-item]')].some((li) => li.dataset.text === 'Five' && li.querySelector('.grip'))`)
	press("Six", "Delete")
	servertest.Until(t, ctx, `!document.getElementById('items').textContent.includes('Six')`)
	stands("One Two Four Five ", "Three ")
	is(t, ctx, "it does not say when", `[...document.querySelectorAll('#items [data-item]')].at(-1).querySelector('.yours').textContent === 'after this turn'`)
	accessible(t, ctx)
	servertest.Do(t, ctx, chromedp.Navigate(base))
	servertest.Until(t, ctx, `document.querySelector('.card')?.textContent.includes('after this turn')`)
	s := checktest.Must(lists.Load(t.Context(), id, 0))(t)
	who := board.Target{Conversation: board.Conversation{Key: s.List.Conversation}}
	if _, _, err := lists.News(t.Context(), who, true); err != nil {
		t.Fatal(err)
	}
	servertest.Until(t, ctx, `!document.querySelector('.card').textContent.includes('after this turn')`)
	stands("One Two Four Five Three ", "")
}

// The menu of a list left open copies its command, ticks all its items and archives it. A menu above the rows archives
// all lists older than a week. The page confirms each action, and can undo all but the copy.
func TestPanelLeftOpenActions(t *testing.T) {
	url := leftOpen(t, 0, 2, 8, 9)
	ctx := servertest.Open(t, url+"/?show=left")
	servertest.Eval[bool](t, ctx, `(Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text } } }), true)`)
	act := func(button, name string) {
		t.Helper()
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`document.querySelector('%s').click(), true`, button))
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`[...document.querySelectorAll('#menu button')].find((b) => b.textContent.startsWith(%q)).click(), true`, name))
	}
	says := func(text, rows string) {
		t.Helper()
		servertest.Until(t, ctx, fmt.Sprintf(`!document.getElementById('toast').hidden && document.querySelector('#toast span').textContent === %q &&
			[...document.querySelectorAll('.rows li[id]')].map((e) => e.id.slice(8)).join() === %q`, text, rows))
	}
	const menu, all = "#row-left2 .more", "0,2,8,9"
	act(menu, "Copy command")
	says("Copied", all)
	checktest.Same(t, "copied", servertest.Eval[string](t, ctx, `copied`), `cd '/src/a'\''b' && claude --resume 4f1c`)
	act(menu, "Done")
	says("Done: “Lay the keel”", "0,8,9")
	servertest.Do(t, ctx, servertest.Press("u"))
	// A list that a person just changed comes first, and no longer counts as older in the menu.
	says("Undone", "2,0,8,9")
	act(menu, "Archive")
	says("Archived “Lay the keel”", "0,8,9")
	servertest.Do(t, ctx, servertest.Press("u"))
	says("Undone", "2,0,8,9")
	is(t, ctx, "the menu has two lines between its parts", `!(document.querySelector('#menu hr + hr') !== null)`)
	act("[data-older]", "Older than a week (2)")
	says("Archived 2 lists", "2,0")
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `document.querySelectorAll('.rows li[id]').length === 4`)
	// On a phone a row keeps its project.
	servertest.Do(t, ctx, chromedp.EmulateViewport(400, 800))
	servertest.Until(t, ctx, `innerWidth === 400 && [...document.querySelectorAll('.rows li[id] .at')].every((e) => e.offsetHeight > 0 && e.textContent.includes("a'b"))`)
	// A list's own page offers the same actions.
	servertest.Do(t, ctx, chromedp.Navigate(url+"/lists/left2"))
	servertest.Until(t, ctx, servertest.IsLive)
	servertest.Do(t, ctx, chromedp.Click(`#left [data-do="finish"]`))
	// The page may show the change before the edit's answer comes; undo works once the toast is shown.
	servertest.Until(t, ctx, `!document.getElementById('left') && document.querySelectorAll('#items [data-item].completed').length === 2 &&
		!document.getElementById('toast').hidden`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `document.getElementById('left') !== null`)
}
