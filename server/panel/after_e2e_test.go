//go:build e2e

package panel_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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
		s, err := lists.Load(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range s.Items {
			items += i.Text + " "
		}
		for _, i := range s.Later {
			later += i.Text + " "
		}
		return items, later
	}
	check := func(wantItems, wantLater string) {
		t.Helper()
		if items, later := newest(); items != wantItems || later != wantLater {
			t.Errorf("%q, later %q; want %q, later %q", items, later, wantItems, wantLater)
		}
	}
	if servertest.Eval[bool](t, ctx, offered) {
		t.Error("it is offered where no hook tells of a turn")
	}
	add("Two", chromedp.ModifierShift)
	check("One Two ", "")
	servertest.Says(t, lists, id, todo.Works, "")
	servertest.Until(t, ctx, offered)
	add("Three", chromedp.ModifierShift)
	add("Four")
	servertest.Eval[bool](t, ctx, `document.getElementById('after').click(), true`)
	add("Five")
	add("Six")
	check("One Two Four ", "Three Five Six ")
	press := func(text, button string) {
		t.Helper()
		servertest.Eval[bool](t, ctx, `[...document.querySelectorAll('#items li')].find((li) => li.dataset.text === '`+text+`').querySelector('[aria-label^="`+button+`"]').click(), true`)
	}
	press("Five", "Tell now")
	servertest.Until(t, ctx, `[...document.querySelectorAll('#items [data-item]')].some((li) => li.dataset.text === 'Five' && li.querySelector('.grip'))`)
	press("Six", "Delete")
	servertest.Until(t, ctx, `!document.getElementById('items').textContent.includes('Six')`)
	check("One Two Four Five ", "Three ")
	if got := servertest.Eval[string](t, ctx, `[...document.querySelectorAll('#items [data-item]')].at(-1).querySelector('.yours').textContent`); got != "after this turn" {
		t.Errorf("it says %q", got)
	}
	if found := servertest.Violations(t, ctx); len(found) > 0 {
		t.Error(found)
	}
	servertest.Do(t, ctx, chromedp.Navigate(base))
	servertest.Until(t, ctx, `document.querySelector('.card')?.textContent.includes('after this turn')`)
	s, err := lists.Load(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	who := board.Target{Conversation: board.Conversation{Key: s.List.Conversation}}
	if _, _, err := lists.News(t.Context(), who, true); err != nil {
		t.Fatal(err)
	}
	servertest.Until(t, ctx, `!document.querySelector('.card').textContent.includes('after this turn')`)
	check("One Two Four Five Three ", "")
}
