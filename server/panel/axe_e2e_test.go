//go:build e2e

package panel_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

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
	check("board", "/", `document.querySelector('.card.asks') !== null && document.querySelector('#now') !== null && document.querySelector('.subs') !== null`, "")
	check("menu of a card", "/", `document.querySelector(':popover-open') !== null`, `document.querySelector('[data-menu]').click()`)
	for name, path := range map[string]string{"left": "/?show=left", "finished": "/?show=finished", "past": "/?show=past", "archived": "/?show=archived",
		"project": "/?project=%2Fwork%2Fshop", "search": "/?q=one", "no match": "/?q=nothing+at+all", "unknown list": "/lists/none"} {
		check(name, path, drawn, "")
	}
	own := "/lists/" + lists[0]
	check("list", own, `document.querySelector('.yours') !== null`, "")
	check("without script", own+"?item=2", drawn, "")
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
