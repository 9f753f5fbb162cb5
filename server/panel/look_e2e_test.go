//go:build e2e

package panel_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// W4: the look of each status on the panel. Completed: a filled green tick, the
// text grey and struck through. In progress: a blue half disc and the active text, dark
// and of medium weight, on a tint. Pending: a grey ring, the text in mid-grey.
func TestStatusesLookAsTheyShould(t *testing.T) {
	store := storetest.NewMemory()
	item := func(id string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: "Text " + id, Active: "Active " + id, Status: status}
	}
	saved, err := storetest.Save(t.Context(), store, todo.Snapshot{
		List: todo.List{ID: "looks"}, Revision: 1,
		Items: []todo.Item{item("1", todo.Completed), item("2", todo.InProgress), item("3", todo.Pending)},
	})
	checktest.Check(t, err)
	site := servertest.Serve(t, servertest.New(t, store, nil), nil)
	ctx := servertest.Open(t, site.URL+"/lists/"+saved.List.ID)
	type look struct {
		Text, Sign, SignColor, Ink, Tint, Line, Weight, Word string
	}
	looks := servertest.Eval[[]look](t, ctx, `(() => {
		const color = (name) => { const p = document.createElement('p'); p.style.color = 'var(' + name + ')'; document.body.append(p); const c = getComputedStyle(p).color; p.remove(); return c; };
		const names = { [color('--done')]: 'green', [color('--accent')]: 'blue', [color('--faint')]: 'grey', [color('--ink')]: 'black', [color('--soft')]: 'mid-grey', [color('--wash')]: 'wash', 'rgba(0, 0, 0, 0)': 'none' };
		const say = (c) => names[c] ?? c;
		return [...document.querySelectorAll('#items > li[data-item]')].map((li) => ({
			Text: li.querySelector('bdi').textContent, Sign: li.querySelector('.tick use').getAttribute('href'), SignColor: say(getComputedStyle(li.querySelector('.tick .i')).stroke),
			Ink: say(getComputedStyle(li.querySelector('.t')).color), Tint: say(getComputedStyle(li).backgroundColor),
			Line: getComputedStyle(li.querySelector('bdi')).textDecorationLine, Weight: getComputedStyle(li.querySelector('bdi')).fontWeight, Word: li.querySelector('.spoken').textContent,
		}));
	})()`)
	if len(looks) != 3 {
		t.Fatalf("%d items: %+v", len(looks), looks)
	}
	done, running, open := looks[0], looks[1], looks[2]
	for name, c := range map[string]struct{ got, want look }{
		"completed":   {done, look{"Text 1", "#g-completed", "green", "grey", "none", "line-through", "400", "Done: "}},
		"in progress": {running, look{"Active 2", "#g-in_progress", "blue", "black", "wash", "none", "500", "In progress: "}},
		"pending":     {open, look{"Text 3", "#g-pending", "grey", "mid-grey", "none", "none", "400", "To do: "}},
	} {
		checktest.Same(t, fmt.Sprintf("%s looks", name), c.got, c.want)
	}
}

// axe finds no violation on any page, in the light and the dark scheme, nor in an open menu, a field or the list
// of keys. No page is wider than its window; three pages are also tried at a phone's width.
func TestPanelIsAccessible(t *testing.T) {
	s, base := servertest.Site(t)
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.EmulateViewport(1280, 900))
	check := func(name, path, until, act string) {
		t.Helper()
		servertest.Do(t, ctx, chromedp.Navigate(base+path))
		servertest.Until(t, ctx, servertest.IsLive)
		if act != "" {
			servertest.Eval[bool](t, ctx, act+", true")
		}
		servertest.Until(t, ctx, until)
		widths := []int64{1280}
		if slices.Contains([]string{"board", "today", "long texts"}, name) {
			widths = []int64{390, 1280}
		}
		for _, width := range widths {
			servertest.Do(t, ctx, chromedp.EmulateViewport(width, 900))
			is(t, ctx, name+" is wider than its window", `document.documentElement.scrollWidth <= innerWidth`)
			for _, scheme := range []string{"light", "dark"} {
				servertest.Emulate(t, ctx, scheme)
				for _, v := range servertest.Violations(t, ctx) {
					t.Errorf("%s, %s, %d wide: %s", name, scheme, width, v)
				}
			}
		}
	}
	check("empty", "/", `document.getElementById('empty') !== null`, "")
	servertest.Writer(t, base, "claude-code")(servertest.Todos("pending", "A very long text without end "+strings.Repeat("word ", 20), strings.Repeat("x", 180)))
	check("long texts", "/lists/"+servertest.ListIDs(t, base)[0], `document.querySelector('#i-2') !== null`, "")
	lists := manyStates(t, s.Board.As(""))
	const drawn = `document.querySelector('#main').textContent.length > 0`
	check("board", "/", `document.querySelector('.card.asks') !== null && document.querySelector('.subs') !== null`, "")
	check("menu of a card", "/", `document.querySelector(':popover-open') !== null`, `document.querySelector('[data-menu]').click()`)
	for name, path := range map[string]string{"left": "/?show=left", "finished": "/?show=finished", "past": "/?show=past", "archived": "/?show=archived",
		"project": "/?project=%2Fwork%2Fshop", "search": "/?q=one", "today": "/today", "no match": "/?q=nothing+at+all", "unknown list": "/lists/none"} {
		check(name, path, drawn, "")
	}
	own := "/lists/" + lists[0]
	check("list", own, `document.querySelector('.yours') !== null`, "")
	check("field", own, `document.querySelector('#items .field') !== null`, `document.querySelector('#i-2 .t bdi').click()`)
	check("menu of an item", own, `document.querySelector(':popover-open') !== null`, `document.querySelector('#i-2 [data-menu]').click()`)
	check("keys", own, `document.querySelector('#keys:popover-open') !== null`, `document.getElementById('keys-open').click()`)
	check("history", own+"?revision=1", `document.getElementById('restore') !== null`, "")
}

// manyStates writes lists in many states, and returns their ids. The first has a
// sub-agent and edits that its agent has not seen; the second waits; two work;
// the others were left open, finished with a failure, and archived.
func manyStates(t *testing.T, lists board.Lists) (ids []string) {
	t.Helper()
	for n, state := range []string{"edited", "waits", "works", "works", "left", "failed", "archived"} {
		c := board.Conversation{Key: "chat:" + string(rune('a'+n)), Client: "claude-code", Workspace: "/work/shop"}
		agent := todo.Writer{Client: c.Client}
		id := servertest.Apply(t, lists, board.Write{Target: board.Target{Conversation: c, Append: true}, Writer: agent}, func(d *todo.Draft) {
			d.Append("One of "+state, "Two", "Three", "Four", "Five")
			d.SetStatus("1", todo.Completed)
			d.SetStatus("2", todo.InProgress)
			switch state {
			case "waits":
				d.SetStatus("2", todo.Pending)
				_ = d.Edit(todo.Edit{Do: todo.EditBlock, Item: "3", Text: "Needs your yes"})
			case "failed":
				d.SetStatus("1", todo.Failed)
				for _, id := range []string{"2", "3", "4", "5"} {
					d.SetStatus(id, todo.Completed)
				}
			}
		}).List.ID
		ids = append(ids, id)
		var err error
		switch state {
		case "edited":
			servertest.Apply(t, lists, board.Write{Target: board.Target{List: id}, Writer: todo.Writer{Client: "panel", Person: true}}, func(d *todo.Draft) {
				_ = d.Edit(todo.Edit{Do: todo.EditText, Item: "4", Text: "Four, but better"})
				_ = d.Edit(todo.Edit{Do: todo.EditBlock, Item: "5", Text: "Wait for Ann"})
			})
			sub := servertest.In("chat:sub")
			sub.Conversation.Agent, sub.Conversation.Parent, sub.Writer = "explorer", c.Key, agent
			servertest.Apply(t, lists, sub, func(d *todo.Draft) { d.Append("Look"); d.SetStatus("1", todo.InProgress) })
		case "left":
			err = lists.Leave(t.Context(), c)
		case "archived":
			_, err = lists.Archive(t.Context(), id, todo.Writer{Person: true})
		}
		checktest.Check(t, err)
	}
	return ids
}

// The layout of open pages: a right-to-left text is aligned left like all others; a failed
// list has no tick; the focus is drawn around a whole card, and is on the list's card again
// after Esc; while the connection is lost, the page says for how long, and its parts keep
// their places; a printed page has no controls.
func TestPanelLayout(t *testing.T) {
	s, base := servertest.Site(t)
	write := func(key, folder string, status todo.Status, texts ...string) string {
		t.Helper()
		c := board.Conversation{Key: key, Client: "claude-code", Workspace: folder}
		return servertest.Apply(t, s.Board.As(""), board.Write{Target: board.Target{Conversation: c, Append: true}}, func(d *todo.Draft) {
			d.Append(texts...)
			d.SetStatus("1", status)
		}).List.ID
	}
	write("a", "/work/a", todo.Failed, "Deploy")
	write("b", "/work/b", todo.InProgress, "Build")
	own := write("c", "/work/c", todo.InProgress, "Plan", "תקן את המבחנים", "Fix the tests")
	site, down, cut := front(t, base)
	ctx := wide(t, site, 1280, 900)
	is(t, ctx, "a list whose only item failed has a tick", `document.querySelector('#finished a .i use').getAttribute('href') === '#g-failed'`)
	is(t, ctx, "two projects with one list each have a row each", `new Set([...document.querySelectorAll('.solo')].map((e) => e.offsetTop)).size === 1`)
	const left = `((name) => { const r = document.createRange(); r.selectNodeContents([...document.querySelectorAll('.items bdi')].find((e) => e.textContent.startsWith(name))); return r.getBoundingClientRect().left; })`
	aligned := fmt.Sprintf(`Math.abs(%s('תקן') - %[1]s('Fix')) < 2`, left)
	is(t, ctx, "Hebrew stands elsewhere on the card", aligned)
	servertest.Do(t, ctx, servertest.Press("j"), servertest.Press("j"))
	is(t, ctx, "the focus is not seen", `getComputedStyle(document.querySelector('.card:focus-within')).outlineStyle === 'solid'`)
	servertest.Do(t, ctx, chromedp.EmulateViewport(2560, 1300))
	is(t, ctx, "a wide page is not used", `document.getElementById('groups').getBoundingClientRect().right > 2400`)
	servertest.Do(t, ctx, chromedp.EmulateViewport(1280, 900))
	servertest.Do(t, ctx, chromedp.Navigate(site+"/lists/"+own))
	servertest.Until(t, ctx, servertest.IsLive)
	is(t, ctx, "Hebrew stands elsewhere on the list's page", aligned)
	const box = `JSON.stringify([...document.querySelectorAll('#title, #items, #side')].map((e) => [e.getBoundingClientRect().left, e.offsetWidth]))`
	before := servertest.Eval[string](t, ctx, box)
	down.Store(true)
	cut()
	servertest.Until(t, ctx, `document.querySelector('#lost time[data-ago]')?.textContent.endsWith(' ago')`)
	checktest.Same(t, "while the connection is lost the page stands at", servertest.Eval[string](t, ctx, box), before)
	down.Store(false)
	servertest.Until(t, ctx, servertest.IsLive)
	servertest.Do(t, ctx, servertest.Press(kb.Escape))
	servertest.Until(t, ctx, `location.pathname === '/' && document.activeElement.closest('#card-`+own+`') !== null`)
	servertest.Do(t, ctx, chromedp.Navigate(site+"/lists/"+own))
	checktest.Must(chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))(t)
	is(t, ctx, "controls are printed", `!['.rail', '.grip', '#add', '.acts', '#status', '.items .icon', '.keys'].some((s) => document.querySelector(s)?.checkVisibility({ visibilityProperty: true, opacityProperty: true }))`)
}

// The page draws `code` and **bold** in texts, as models write them, and no other Markdown.
// A person edits the raw text.
func TestPanelDrawsCodeAndBold(t *testing.T) {
	texts := []string{"Read `a <b>` and **then** `c`", "2 ** 3 ** 4 and a ` tick", "[x](https://x) _y_ # z **", "**`both`** at once"}
	_, _, list := listed(t, "claude-code", servertest.Todos("pending", texts...))
	has(t, page(t, list), "<bdi>Read <code>a &lt;b&gt;</code> and <strong>then</strong> <code>c</code></bdi>", "<bdi>2 ** 3 ** 4 and a ` tick</bdi>", "<bdi>[x](https://x) _y_ # z **</bdi>", "<bdi><strong>`both`</strong> at once</bdi>")
	ctx := servertest.Open(t, list)
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-1 bdi').click(), true`)
	checktest.Same(t, "the field has", servertest.Eval[string](t, ctx, `document.activeElement.value`), texts[0])
	servertest.Do(t, ctx, servertest.Press(kb.Escape))
	servertest.Eval[bool](t, ctx, `document.querySelector('#title bdi').click(), true`)
	checktest.Same(t, "the title's field has", servertest.Eval[string](t, ctx, `document.activeElement.value`), texts[0]+" +3")
}

// A browser can install the panel as a program: it reads the manifest without an error and
// finds nothing missing, and the manifest and icons have their media types.
func TestPanelIsInstallable(t *testing.T) {
	_, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	manifest := checktest.Must(chromedp.Call(ctx, cdp.GetAppManifest, cdp.GetAppManifestParams{}))(t)
	if manifest.URL != base+"/manifest.webmanifest" || len(manifest.Errors) > 0 || !strings.Contains(manifest.Data, `"start_url": "./"`) {
		t.Errorf("the manifest: %+v", manifest)
	}
	missing := checktest.Must(chromedp.Call(ctx, cdp.GetInstallabilityErrors, struct{}{}))(t)
	for _, e := range missing.InstallabilityErrors {
		// This error is expected: the test's browser has no profile that could keep a program.
		checktest.Same(t, "it cannot be installed", e.ErrorID, "in-incognito")
	}
	for path, want := range map[string]string{"/manifest.webmanifest": "application/manifest+json", "/icon.svg": "image/svg+xml",
		"/icon-192.png": "image/png", "/icon-512.png": "image/png"} {
		if status, header, _ := servertest.Ask(t, "GET", base+path, ""); status != 200 || header.Get("Content-Type") != want {
			t.Errorf("%s: %d %s", path, status, header.Get("Content-Type"))
		}
	}
	servertest.Do(t, ctx, chromedp.Navigate(base+"/icon-512.png"))
	servertest.Until(t, ctx, `document.querySelector('img')?.naturalWidth === 512`)
}

// While lists wait for the person, their number stands in the tab's title, on the program's
// icon, and at the top of every page, and the tab's icon has another colour.
func TestPanelSaysThatOneWaits(t *testing.T) {
	s, base := servertest.Site(t)
	asks, other := servertest.Writer(t, base, "claude-code"), servertest.Writer(t, base, "codex-mcp-client")
	asks(servertest.Todos("in_progress", "Release"))
	id := servertest.ListIDs(t, base)[0]
	other(servertest.Todos("in_progress", "Paint"))
	for _, path := range []string{"/", "/lists/" + servertest.ListIDs(t, base)[0], "/?show=archived"} {
		ctx := servertest.Tab(t)
		servertest.Do(t, ctx, chromedp.Navigate(base+path))
		servertest.Until(t, ctx, servertest.IsLive)
		servertest.Eval[bool](t, ctx, `(window.badges = [], navigator.setAppBadge = async (n) => { badges.push(n) }, true)`)
		if title := servertest.Eval[string](t, ctx, `document.title`); strings.Contains(title, "wait") {
			t.Errorf("%s: %q although none waits", path, title)
		}
		servertest.Says(t, s.Board.As(""), id, todo.Asks, "run `npm publish`?")
		const says = `document.title.startsWith('(1 waits) ') && document.getElementById('waits').innerText === '1 waits for you' && badges.at(-1) === 1 && document.getElementById('icon').href.includes('d07f00')`
		servertest.Until(t, ctx, says)
		asks(servertest.Todos("in_progress", "Release"))
		servertest.Until(t, ctx, `!document.title.includes('wait') && document.getElementById('waits').hidden && badges.at(-1) === 0 && !document.getElementById('icon').href.includes('d07f00')`)
	}
}

// If one of two cards that read alike is redrawn alone, that card still shows the time at which its list began.
func TestPiecesKeepWhatTellsListsApart(t *testing.T) {
	store := storetest.NewMemory()
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

// A click or a key brings back an edit that the agent overrode; this can be undone. An open
// page shows live whether the edit is seen or overridden; rows move only if a bar appears above them.
func TestPanelBringsBack(t *testing.T) {
	h := newHanded(t)
	ctx := wide(t, h.list, 1280, 800)
	label := func(id, want string) {
		t.Helper()
		servertest.Until(t, ctx, `[...document.querySelectorAll('#i-`+id+` :is(.yours, .seen)')].map((e) => e.textContent).join() === '`+want+`'`)
	}
	h.edit(`{"do":"text","id":"2","text":"Ship when Ann says so"}`)
	h.edit(`{"do":"move","id":"3","to":0}`)
	label("2", "you: reworded, waits to be seen")
	label("3", "you: moved to 1, waits to be seen")
	h.write() // the plan changes nothing, but the page learns that the agent has seen the edits
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
	label("2", "you: reworded, waits to be seen")
	servertest.Until(t, ctx, `document.getElementById('unseen') !== null`)
	if bar := servertest.Eval[float64](t, ctx, `document.getElementById('unseen').offsetHeight + 8`); servertest.Eval[float64](t, ctx, top)-before != bar {
		t.Errorf("beside the bar of %g px the row below moved from %g to %g", bar, before, servertest.Eval[float64](t, ctx, top))
	}
	servertest.Eval[bool](t, ctx, `document.querySelector('#order .back').focus(), true`)
	servertest.Do(t, ctx, servertest.Press(kb.Enter))
	servertest.Until(t, ctx, `!document.getElementById('order') && [...document.querySelectorAll('#items [data-item]')].map((e) => e.dataset.item).join() === '3,1,2' && document.getElementById('toast').innerText.includes('Brought back your order')`)
	servertest.Do(t, ctx, servertest.Press("u"))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items [data-item]')].map((e) => e.dataset.item).join() === '1,2,3'`)

	// A narrow page, in the light and the dark scheme.
	h.insist()
	h.insist()
	label("2", "your words, overridden")
	for _, scheme := range []string{"light", "dark"} {
		servertest.Emulate(t, ctx, scheme)
		servertest.Do(t, ctx, chromedp.EmulateViewport(390, 844))
		is(t, ctx, "the narrow page scrolls sideways", `document.documentElement.scrollWidth <= innerWidth`)
		accessible(t, ctx)
	}
	servertest.Do(t, ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(h.list+"?revision=8"))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('.by .yours')?.textContent === 'overridden'`)
}

// A page that is fetched before a change and arrives after the change does not replace the
// changed list by the old one.
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

// While the board is fetched, the old page does not announce a list that only the new page
// shows, and no second fetch begins: if lists change faster than pages come, each page is still
// shown. A fetch that fails is repeated.
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
	servertest.Until(t, ctx, `(window.ticks ??= (setInterval(() => window.ticks++, 100), 0)) > 10`) // more than a refresh interval
	is(t, ctx, "the page on its way is given up for the next one", `(window.fails = true, window.asked === 1 && letGo())`)
	servertest.Until(t, ctx, `!document.getElementById('empty') && !`+waits+`.hidden && !!document.getElementById('card-`+first.List.ID+`')`)
	servertest.Until(t, ctx, `letGo() && document.querySelectorAll('.card').length === 2`)
}

// Nothing moves on an open page while no list changes; the lamp of a list beats once when its
// agent writes.
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

// While the server is silent, an open page is not live, though the connection stands: the page
// says since when, and its times stop. When the server sends again, the page becomes live.
func TestPanelOverAFrozenServer(t *testing.T) {
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &frozen{Listener: l}
	base := servertest.ServeOn(t, server, servertest.New(t, nil, nil), func(c *edge.Config) { c.KeepAlive = time.Second }).URL
	write := servertest.Writer(t, base, "claude-code")
	write(servertest.Todos("in_progress", "Before"))
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(window.lost = window.ticks = 0, setInterval(() => window.ticks++, 100),
		new MutationObserver(() => { window.lost += document.body.classList.contains('stale'); }).observe(document.body, { attributeFilter: ['class'] }), true)`)
	servertest.Until(t, ctx, `window.ticks > 40`) // longer than the allowed silence
	is(t, ctx, "the page is not live while the server gives signs of life", `window.lost === 0`)
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

// However many tabs a browser has open, the visible tab is live, even over HTTP/1.1 with its
// six connections. A hidden tab that gave up its stream shows the changes once it is visible.
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

// BAD-INPUT 50: while the store answers too late, an open page keeps its lists and tries again,
// and a page that is opened meanwhile loads its lists later by itself.
func TestPanelOutlivesALateStore(t *testing.T) {
	var late atomic.Bool
	failed := make(chan struct{}, 100)
	var reads atomic.Int64 // reads of the second list
	store := &servertest.Failing{Store: storetest.NewMemory()}
	var first string
	store.Fault = func(method, list string) error {
		// The first read is for the event about the list; the others are for the board.
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
