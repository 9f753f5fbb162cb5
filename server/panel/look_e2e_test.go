//go:build e2e

package panel_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// W4: what each status looks like on the panel. Completed: a filled green tick, the
// text grey. In progress: a blue half disc and the active text on a tint. Pending:
// a grey ring, the text. An unknown status looks pending.
func TestStatusesLookAsTheyShould(t *testing.T) {
	store := memory.New()
	item := func(id string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: "Text " + id, Active: "Active " + id, Status: status}
	}
	saved, err := storetest.Save(t.Context(), store, todo.Snapshot{
		List: todo.List{ID: "looks"}, Revision: 1,
		Items: []todo.Item{item("1", todo.Completed), item("2", todo.InProgress), item("3", todo.Pending), item("4", "from the future")},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := servertest.Serve(t, servertest.New(t, store, nil), nil)
	ctx := servertest.Open(t, site.URL+"/lists/"+saved.List.ID)
	type look struct {
		Text, Sign, SignColor, Ink, Tint, Word string
	}
	looks := servertest.Eval[[]look](t, ctx, `(() => {
		const color = (name) => { const p = document.createElement('p'); p.style.color = 'var(' + name + ')'; document.body.append(p); const c = getComputedStyle(p).color; p.remove(); return c; };
		const names = { [color('--done')]: 'green', [color('--accent')]: 'blue', [color('--faint')]: 'grey', [color('--ink')]: 'black', [color('--wash')]: 'wash', 'rgba(0, 0, 0, 0)': 'none' };
		const say = (c) => names[c] ?? c;
		return [...document.querySelectorAll('#items > li[data-item]')].map((li) => ({
			Text: li.querySelector('bdi').textContent, Sign: li.querySelector('.tick use').getAttribute('href'), SignColor: say(getComputedStyle(li.querySelector('.tick .i')).stroke),
			Ink: say(getComputedStyle(li.querySelector('.t')).color), Tint: say(getComputedStyle(li).backgroundColor), Word: li.querySelector('.spoken').textContent,
		}));
	})()`)
	if len(looks) != 4 {
		t.Fatalf("%d items: %+v", len(looks), looks)
	}
	done, running, open, unknown := looks[0], looks[1], looks[2], looks[3]
	for name, c := range map[string]struct{ got, want look }{
		"completed":   {done, look{"Text 1", "#g-completed", "green", "grey", "none", "Done: "}},
		"in progress": {running, look{"Active 2", "#g-in_progress", "blue", "black", "wash", "In progress: "}},
		"pending":     {open, look{"Text 3", "#g-pending", "grey", "black", "none", "To do: "}},
		"unknown":     {unknown, look{"Text 4", "#g-pending", "grey", "black", "none", "To do: "}},
	} {
		if c.got != c.want {
			t.Errorf("%s looks %+v, should look %+v", name, c.got, c.want)
		}
	}
}

// Every page is without a violation that axe finds, in the light and in the dark
// scheme; so are the menu, a field, the question of a restore and the keys.
func TestPanelIsAccessible(t *testing.T) {
	s, base := servertest.Site(t)
	ctx := servertest.Tab(t)
	check := func(name, path, until, act string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			servertest.Emulate(t, ctx, scheme)
			servertest.Do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(base+path))
			servertest.Until(t, ctx, servertest.IsLive)
			if act != "" {
				servertest.Eval[bool](t, ctx, act+", true")
			}
			servertest.Until(t, ctx, until)
			for _, v := range servertest.Violations(t, ctx) {
				t.Errorf("%s, %s: %s", name, scheme, v)
			}
		}
	}
	check("empty", "/", `document.getElementById('empty') !== null`, "")
	lists := manyStates(t, s.Board.As(""))
	const drawn = `document.querySelector('#main').textContent.length > 0`
	check("board", "/", `document.querySelector('.card.asks') !== null && document.querySelector('.subs') !== null`, "")
	check("menu of a card", "/", `document.querySelector(':popover-open') !== null`, `document.querySelector('[data-menu]').click()`)
	for name, path := range map[string]string{"left": "/?show=left", "finished": "/?show=finished", "past": "/?show=past", "archived": "/?show=archived",
		"project": "/?project=%2Fwork%2Fshop", "search": "/?q=one", "no match": "/?q=nothing+at+all", "unknown list": "/lists/none"} {
		check(name, path, drawn, "")
	}
	own := "/lists/" + lists[0]
	check("list", own, `document.querySelector('.yours') !== null`, "")
	check("field", own, `document.querySelector('#items .field') !== null`, `document.querySelector('#i-2 .t bdi').click()`)
	check("menu of an item", own, `document.querySelector(':popover-open') !== null`, `document.querySelector('#i-2 [data-menu]').click()`)
	check("keys", own, `document.querySelector('#keys:popover-open') !== null`, `document.getElementById('keys-open').click()`)
	check("history", own+"?revision=1", `document.getElementById('restore') !== null`, "")
	check("question", own+"?revision=1", `document.querySelector('#ask:popover-open') !== null`, `document.getElementById('restore').click()`)
}

// manyStates writes lists in every state, and returns their ids: the first has
// edits that its agent has not seen and a sub-agent, the next waits, the others
// work, were left open, are finished with a failure, archived.
func manyStates(t *testing.T, lists todo.Lists) (ids []string) {
	t.Helper()
	for n, state := range []string{"edited", "waits", "works", "works", "left", "failed", "archived"} {
		c := todo.Conversation{Key: "chat:" + string(rune('a'+n)), Client: "claude-code", Workspace: "/work/shop"}
		agent := todo.Writer{Client: c.Client}
		id := servertest.Apply(t, lists, todo.Write{Target: todo.Target{Conversation: c, Append: true}, Writer: agent}, func(d *todo.Draft) {
			d.Append("One of "+state, "Two", "Three", "Four", "Five")
			d.SetStatus("1", todo.Completed)
			d.SetStatus("2", todo.InProgress)
			switch state {
			case "waits":
				d.SetStatus("2", todo.Pending)
				d.Block("3", "Needs your yes")
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
			servertest.Apply(t, lists, todo.Write{Target: todo.Target{List: id}, Writer: todo.Writer{Client: "panel", Person: true}}, func(d *todo.Draft) {
				d.SetText("4", "Four, but better")
				d.Block("5", "Wait for Ann")
			})
			sub := servertest.In("chat:sub")
			sub.Target.Agent, sub.Begin.ParentConversation, sub.Writer = "explorer", c.Key, agent
			servertest.Apply(t, lists, sub, func(d *todo.Draft) { d.Append("Look"); d.SetStatus("1", todo.InProgress) })
		case "left":
			err = lists.Leave(t.Context(), c)
		case "archived":
			_, err = lists.Archive(t.Context(), id, true, todo.Writer{Person: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}
