//go:build e2e

package panel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// W4: what each status looks like on the panel. Completed: a filled green tick, the
// text grey and struck through. In progress: a blue half disc and the active text, dark
// and of medium weight, on a tint. Pending: a grey ring, the text in mid-grey. An unknown
// status looks pending.
func TestStatusesLookAsTheyShould(t *testing.T) {
	store := memory.New()
	item := func(id string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: "Text " + id, Active: "Active " + id, Status: status}
	}
	saved, err := storetest.Save(t.Context(), store, todo.Snapshot{
		List: todo.List{ID: "looks"}, Revision: 1,
		Items: []todo.Item{item("1", todo.Completed), item("2", todo.InProgress), item("3", todo.Pending), item("4", "from the future")},
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
	if len(looks) != 4 {
		t.Fatalf("%d items: %+v", len(looks), looks)
	}
	done, running, open, unknown := looks[0], looks[1], looks[2], looks[3]
	for name, c := range map[string]struct{ got, want look }{
		"completed":   {done, look{"Text 1", "#g-completed", "green", "grey", "none", "line-through", "400", "Done: "}},
		"in progress": {running, look{"Active 2", "#g-in_progress", "blue", "black", "wash", "none", "500", "In progress: "}},
		"pending":     {open, look{"Text 3", "#g-pending", "grey", "mid-grey", "none", "none", "400", "To do: "}},
		"unknown":     {unknown, look{"Text 4", "#g-pending", "grey", "mid-grey", "none", "none", "400", "To do: "}},
	} {
		checktest.Same(t, fmt.Sprintf("%s looks", name), c.got, c.want)
	}
}

// Every page is without a violation that axe finds, in the light and in the dark scheme; so are the menu, a
// field and the keys. On a phone nothing is wider than the screen.
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

// manyStates writes lists in every state, and returns their ids: the first has
// edits that its agent has not seen and a sub-agent, the next waits, the others
// work, were left open, are finished with a failure, archived.
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
			sub.Target.Agent, sub.Begin.ParentConversation, sub.Writer = "explorer", c.Key, agent
			servertest.Apply(t, lists, sub, func(d *todo.Draft) { d.Append("Look"); d.SetStatus("1", todo.InProgress) })
		case "left":
			err = lists.Leave(t.Context(), c)
		case "archived":
			_, err = lists.Archive(t.Context(), id, true, todo.Writer{Person: true})
		}
		checktest.Check(t, err)
	}
	return ids
}

// What an open page looks like beside its colours: a text that reads from the right stands
// at the left as all do; a list that failed has no tick; the focus is seen around a whole
// card, and is there again after Esc; while the connection is lost the list stands where it
// stood, and no clock but the page's own is shown; printed, there are no controls.
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

// Code and bold, as models write them, look so on the page, and nothing else of Markdown
// does; what a person edits is the text itself.
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

// A browser can install the panel as a program: it reads the manifest without an error,
// finds nothing that is missing, and each icon is what the manifest says.
func TestPanelIsInstallable(t *testing.T) {
	_, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	manifest := checktest.Must(chromedp.Call(ctx, cdp.GetAppManifest, cdp.GetAppManifestParams{}))(t)
	if manifest.URL != base+"/manifest.webmanifest" || len(manifest.Errors) > 0 || !strings.Contains(manifest.Data, `"start_url": "./"`) {
		t.Errorf("the manifest: %+v", manifest)
	}
	missing := checktest.Must(chromedp.Call(ctx, cdp.GetInstallabilityErrors, struct{}{}))(t)
	for _, e := range missing.InstallabilityErrors {
		// The browser of the test has no profile that could keep a program.
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

// How many lists wait for the person stands in the tab's title and icon, on the program's
// icon, and at the top of every page, from the moment on at which one waits until none does.
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
