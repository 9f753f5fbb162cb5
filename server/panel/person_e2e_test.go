//go:build e2e

package panel_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// front is a proxy before a server that can stop answering.
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

// An edit that fails is seen: the field keeps what was typed and says why, also
// while the server is down, and is saved when the server is back. A refused text
// is said at the field. An agent's write does not take the field away. A lost connection is said, and what was
// missed meanwhile is shown.
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
	// What the server refuses stays in the field as well.
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-2 .t bdi').click(), document.activeElement.value = 'a\u0000b', true`)
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	servertest.Until(t, ctx, `document.querySelector('#i-2 .field')?.value.length === 3 && document.querySelector('#i-2 [role=alert]').textContent.startsWith('Not saved: ')`)
	servertest.Do(t, ctx, servertest.Press(kb.Escape))
	servertest.Until(t, ctx, `!document.querySelector('.field') && document.querySelector('#i-2 bdi').textContent === 'Two'`)
}

// A hidden tab is told of a list that finished, that waits for a person and that
// failed, also of one that began and ended unseen, and of each once.
func TestPanelNotifiesAHiddenTab(t *testing.T) {
	srv, base := servertest.Site(t)
	servertest.Writer(t, base, "claude-code")(servertest.Todos("pending", "Known", "Rest"))
	known := servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	// A hidden tab draws no frames.
	servertest.Eval[bool](t, ctx, `(localStorage.notify = 'on', window.told = [], window.Notification = class { static permission = 'granted'; constructor(title) { told.push(title) } },
		Object.defineProperty(document, 'hidden', { get: () => true }), window.requestAnimationFrame = () => 0, document.dispatchEvent(new Event('visibilitychange')), true)`)
	told := func(want string) {
		t.Helper()
		// The timer of the page runs on in a hidden tab.
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
		servertest.Open(t, base+"/lists/"+known) // it does not give up its stream for them
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
	// Who does it oneself is not told of it.
	if status, _, body := servertest.Post(t, base+"/lists/"+known+"/edit", `{"do":"status","id":"1","status":"completed"}`); status != 200 {
		t.Fatal(status, body)
	}
	other(servertest.Todos("pending", "More"))
	other(servertest.Todos("completed", "More"))
	told("Finished: Unseen,Waiting for you: Known +1,An item failed: Known +1,Finished: More")
}

// On the board: the theme by its key, search as one types, rename, archive and delete from a card's
// menu, each undone, and finished lists put away at once.
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
	// The toast comes with the answer, which may be later than the change.
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
	// The search stands in the address, marks what matches, and says when nothing does.
	servertest.Do(t, ctx, chromedp.SendKeys("#q", "dry"))
	servertest.Until(t, ctx, `location.search === '?q=dry' && document.querySelectorAll('.rows li[id]').length === 1 && document.querySelector('.rows mark').textContent === 'Dry' && document.activeElement.id === 'q'`)
	servertest.Do(t, ctx, chromedp.SendKeys("#q", "er"))
	servertest.Until(t, ctx, `document.getElementById('nothing')?.textContent.includes('Nothing matches “dryer”')`)
}

// While a turn runs, Shift+Enter, or Enter with the switch, adds what its agent is told at the
// end; it can be told at once after all, or deleted. Where no turn is known the page offers none.
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
	if servertest.Eval[bool](t, ctx, offered) {
		t.Error("it is offered where no hook tells of a turn")
	}
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
	if got := servertest.Eval[string](t, ctx, `[...document.querySelectorAll('#items [data-item]')].at(-1).querySelector('.yours').textContent`); got != "after this turn" {
		t.Errorf("it says %q", got)
	}
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

// From the menu of a row that was left open its command is copied, all is ticked, and it is
// archived; above the rows all that is older than a week. Each is said, and undone.
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
	// What a person just changed is the newest, and older lists are counted anew.
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
	// The same on a list's own page.
	servertest.Do(t, ctx, chromedp.Navigate(url+"/lists/left2"))
	servertest.Until(t, ctx, servertest.IsLive)
	servertest.Do(t, ctx, chromedp.Click(`#left [data-do="finish"]`))
	// The page may show it before its own edit is answered, and so can be undone.
	servertest.Until(t, ctx, `!document.getElementById('left') && document.querySelectorAll('#items [data-item].completed').length === 2 &&
		!document.getElementById('toast').hidden`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `document.getElementById('left') !== null`)
}
