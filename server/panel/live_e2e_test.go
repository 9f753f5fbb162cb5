//go:build e2e

package panel_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A card that is drawn anew by itself still says when its list began, where another one reads alike.
func TestPiecesKeepWhatTellsListsApart(t *testing.T) {
	store := memory.New()
	s := servertest.New(t, store, nil)
	url := servertest.Serve(t, s, nil).URL
	write := func(key, text string) string {
		return servertest.Apply(t, s.Board.As(""), servertest.In(key), func(d *todo.Draft) { d.Append(text) }).List.ID
	}
	one, _ := write("one", "Fix it"), write("two", "Fix it")
	ctx := wide(t, url, 1280, 800)
	began := `document.getElementById('apart-` + one + `').innerText.trim()`
	want := servertest.Eval[string](t, ctx, began)
	write("one", "Ship it")
	servertest.Until(t, ctx, `document.getElementById('card-`+one+`').innerText.includes('Ship it')`)
	if got := servertest.Eval[string](t, ctx, began); got != want || len(got) != len("15:04") {
		t.Errorf("it says %q, and said %q", got, want)
	}
}

// What an agent overrode comes back by one click, or by the keyboard, and can be undone:
// the open page says each time what became of it, by itself, and no row below moves.
func TestPanelBringsBack(t *testing.T) {
	h := newHanded(t)
	ctx := wide(t, h.list, 1280, 800)
	label := func(id, want string) {
		t.Helper()
		servertest.Until(t, ctx, `[...document.querySelectorAll('#i-`+id+` :is(.yours, .seen)')].map((e) => e.textContent).join() === '`+want+`'`)
	}
	h.edit(`{"do":"text","id":"2","text":"Ship when Ann says so"}`)
	h.edit(`{"do":"move","id":"3","to":0}`)
	label("2", "you reworded, waits to be seen")
	label("3", "you moved, waits to be seen")
	h.write() // it changes nothing: the page learns that the agent knows
	label("2", "your words, seen")
	label("3", "")
	h.insist()
	label("2", "your words, overridden")
	servertest.Until(t, ctx, `document.getElementById('order')?.innerText.includes('overridden')`)
	accessible(t, ctx)
	const top = `document.querySelector('#i-3').getBoundingClientRect().top`
	before := servertest.Eval[float64](t, ctx, top)
	servertest.Do(t, ctx, chromedp.Click("#i-2 .back"))
	servertest.Until(t, ctx, `document.querySelector('#i-2 bdi').textContent === 'Ship when Ann says so' && !document.querySelector('#i-2 .back') && document.getElementById('toast').innerText.includes('Brought back “Ship when Ann says so”')`)
	label("2", "you reworded, waits to be seen")
	servertest.Until(t, ctx, `document.getElementById('unseen') !== null`)
	if bar := servertest.Eval[float64](t, ctx, `document.getElementById('unseen').offsetHeight + 8`); servertest.Eval[float64](t, ctx, top)-before != bar {
		t.Errorf("beside the bar of %g px the row below moved from %g to %g", bar, before, servertest.Eval[float64](t, ctx, top))
	}
	servertest.Eval[bool](t, ctx, `document.querySelector('#order .back').focus(), true`)
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	servertest.Until(t, ctx, `!document.getElementById('order') && [...document.querySelectorAll('#items [data-item]')].map((e) => e.dataset.item).join() === '3,1,2' && document.getElementById('toast').innerText.includes('Brought back your order')`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items [data-item]')].map((e) => e.dataset.item).join() === '1,2,3'`)

	// A person who may only look, narrow, and dark.
	h.insist()
	h.insist()
	label("2", "your words, overridden")
	for _, scheme := range []string{"light", "dark"} {
		servertest.Emulate(t, ctx, scheme)
		servertest.Do(t, ctx, chromedp.EmulateViewport(390, 844))
		if wide := servertest.Eval[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`); wide {
			t.Error("the narrow page scrolls sideways")
		}
		accessible(t, ctx)
	}
	servertest.Do(t, ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(h.list+"?revision=8"))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('.by .yours')?.textContent === 'overridden'`)
}

// A page that is fetched while a change arrives does not put what was before the change in
// its place.
func TestPanelOutlastsAnOlderPage(t *testing.T) {
	h := newHanded(t)
	ctx := servertest.Open(t, h.list)
	servertest.Eval[bool](t, ctx, `(() => {
		const plain = window.fetch, held = [];
		window.fetch = async (url, how) => {
			const answer = await plain(url, how);
			if (how.method || window.free) return answer;
			const text = await answer.text();
			window.holds = true;
			await new Promise((free) => held.push(free));
			return new Response(text);
		};
		window.letGo = () => { window.free = true; for (const free of held) free(); return true; };
		document.getElementById('i-1').focus();
		return true;
	})()`)
	servertest.Do(t, ctx, servertest.Press("x"))
	servertest.Until(t, ctx, `document.querySelector('#i-1.completed') !== null && document.getElementById('toast').innerText.includes('Ticked')`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `window.holds && !document.querySelector('#i-1.completed')`)
	h.edit(`{"do":"text","id":"2","text":"Ship when Ann says so"}`)
	const isNew = `document.querySelector('#i-2 bdi').textContent === 'Ship when Ann says so'`
	servertest.Until(t, ctx, isNew)
	servertest.Eval[bool](t, ctx, `(() => {
		letGo();
		window.shown = [];
		const look = () => { if (window.shown.push(`+isNew+`) < 10) requestAnimationFrame(look); };
		look();
		return true;
	})()`)
	servertest.Until(t, ctx, `window.shown.length === 10`)
	is(t, ctx, "the page shows again what was before the change", `window.shown.every((is) => is)`)
}

// While a page is on its way nothing on the one before says what only that page shows, and no
// other one is asked for: where lists change faster than pages come, each page is shown. One
// that does not come is asked for again.
func TestPanelShowsTheFirstList(t *testing.T) {
	s, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(() => {
		const plain = window.fetch;
		window.asked = 0;
		window.fetch = async (...how) => {
			if (window.fails) { window.fails = false; throw new TypeError('no connection'); }
			const answer = await plain(...how);
			window.asked++;
			await new Promise((free) => { window.letGo = () => (free(), true); });
			return answer;
		};
		return true;
	})()`)
	lists := s.Board.As("")
	first := servertest.Apply(t, lists, servertest.In("chat:1"), func(d *todo.Draft) { d.Append("Ask") })
	servertest.Says(t, lists, first.List.ID, todo.Asks, "Which one?")
	const waits = `document.getElementById('waits')`
	servertest.Until(t, ctx, `window.asked > 0 && `+waits+`.dataset.n === '1'`)
	is(t, ctx, "the empty page says that a list waits", `!!document.getElementById('empty') && `+waits+`.hidden && document.title[0] !== '('`)
	servertest.Apply(t, lists, servertest.In("chat:2"), func(d *todo.Draft) { d.Append("Go on") })
	servertest.Until(t, ctx, `(window.ticks ??= (setInterval(() => window.ticks++, 100), 0)) > 10`) // longer than refreshes are apart
	is(t, ctx, "the page on its way is given up for the next one", `(window.fails = true, window.asked === 1 && letGo())`)
	servertest.Until(t, ctx, `!document.getElementById('empty') && !`+waits+`.hidden && !!document.getElementById('card-`+first.List.ID+`')`)
	servertest.Until(t, ctx, `letGo() && document.querySelectorAll('.card').length === 2`)
}

// An open page that stands still has nothing that moves; the lamp of a list beats once when
// its agent writes.
func TestPanelIsAtRest(t *testing.T) {
	_, base := servertest.Site(t)
	agent := servertest.Writer(t, base, "claude-code")
	write := func(text string) {
		t.Helper()
		agent(`{"todos":[{"content":"One","activeForm":"One","status":"in_progress"},{"content":"` + text + `","activeForm":"x","status":"pending"}]}`)
	}
	write("Two")
	ctx := servertest.Open(t, base)
	const beats = `document.getAnimations().filter((a) => a.animationName === 'beat').length`
	servertest.Until(t, ctx, `!!document.querySelector('.beat') && document.getAnimations().length === 0`)
	write("Three")
	servertest.Until(t, ctx, beats+` === 1`)
	servertest.Until(t, ctx, `document.getAnimations().length === 0`)
}

// frozen is a listener whose connections carry nothing to the client while its gate is locked.
type frozen struct {
	net.Listener
	gate sync.RWMutex
}

type frozenConn struct {
	net.Conn
	l *frozen
}

func (l *frozen) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return frozenConn{c, l}, err
}

func (c frozenConn) Write(p []byte) (int, error) {
	c.l.gate.RLock()
	defer c.l.gate.RUnlock()
	return c.Conn.Write(p)
}

// A page is not live while the server is silent, though the connection stands: it says since
// when, its times stand still, and it is live again by itself.
func TestPanelOverAFrozenServer(t *testing.T) {
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &frozen{Listener: l}
	base := servertest.ServeOn(t, server, servertest.New(t, nil, nil), func(c *edge.Config) { c.KeepAlive = time.Second }).URL
	write := servertest.Writer(t, base, "claude-code")
	write(servertest.Todos("in_progress", "Before"))
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(window.lost = window.ticks = 0, setInterval(() => window.ticks++, 100),
		new MutationObserver(() => { window.lost += document.body.classList.contains('stale'); }).observe(document.body, { attributeFilter: ['class'] }), true)`)
	servertest.Until(t, ctx, `window.ticks > 40`) // longer than the silence that is allowed
	if servertest.Eval[int](t, ctx, `window.lost`) > 0 {
		t.Error("the page is not live while the server gives signs of life")
	}
	server.gate.Lock()
	servertest.Until(t, ctx, `document.getElementById('status').dataset.state === 'lost' && document.getElementById('status').innerText.startsWith('Not live since ') && !!document.getElementById('lost')`)
	const ran = `document.querySelector('.card time[data-run]').textContent`
	servertest.Eval[bool](t, ctx, `(window.ticks = 0, window.ran = `+ran+`, true)`)
	servertest.Until(t, ctx, `window.ticks > 22`)
	is(t, ctx, "while the server is silent a time goes on", `window.ran === `+ran)
	server.gate.Unlock()
	write(servertest.Todos("in_progress", "After"))
	servertest.Until(t, ctx, servertest.IsLive+` && !document.getElementById('lost') && document.querySelector('.card .items bdi').textContent === 'After'`)
}

// However many tabs a browser has open, the one that is looked at is live, over HTTP/1.1 with
// its six connections, too; a tab that gave up its stream meanwhile shows what changed.
func TestPanelInManyTabs(t *testing.T) {
	write, base, _ := listed(t, "claude-code", servertest.Todos("pending", "Read"))
	look := func(ctx context.Context, hidden bool) {
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`(Object.defineProperty(document, 'hidden', { get: () => %t, configurable: true }),
			document.dispatchEvent(new Event('visibilitychange', { bubbles: true })), true)`, hidden))
	}
	var tabs []context.Context
	for range 8 {
		ctx := servertest.Open(t, base)
		look(ctx, true)
		tabs = append(tabs, ctx)
	}
	write(servertest.Todos("in_progress", "Read"))
	servertest.Until(t, tabs[7], `!!document.querySelector('.card .in_progress')`) // a hidden tab follows
	for _, ctx := range tabs {
		look(ctx, false)
		servertest.Until(t, ctx, servertest.IsLive+` && !!document.querySelector('.card .in_progress')`)
		look(ctx, true)
	}
}

// BAD-INPUT 50: an open page to which the store is late keeps what it shows and tries again,
// and one that was opened meanwhile comes by itself.
func TestPanelOutlivesALateStore(t *testing.T) {
	var late atomic.Bool
	failed := make(chan struct{}, 100)
	var reads atomic.Int64 // of the second list
	store := &servertest.Failing{Store: memory.New()}
	var first string
	store.Fault = func(method, list string) error {
		// The first read is for the event that tells of the list, the others are for the board.
		if method != "Load" || list == first || !late.Load() || reads.Add(1) == 1 {
			return nil
		}
		failed <- struct{}{}
		return context.DeadlineExceeded
	}
	base := servertest.Serve(t, servertest.New(t, store, nil), nil).URL
	write, _, _ := inSession(t, base)
	write(firstPlan)
	first = servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	late.Store(true)
	other, _, _ := inSession(t, base)
	other(secondPlan)
	for range 2 {
		select {
		case <-failed:
		case <-ctx.Done():
			t.Fatal("50: the board is not asked for again")
		}
	}
	is(t, ctx, "50: the board is gone while the store is late", `!!document.getElementById('card-`+first+`')`)
	second := servertest.Tab(t)
	servertest.Do(t, second, chromedp.Navigate(base))
	servertest.Until(t, second, `document.title.startsWith('Not now')`)
	late.Store(false)
	for _, tab := range []context.Context{ctx, second} {
		servertest.Until(t, tab, `document.querySelectorAll('.card').length === 2`)
	}
}
