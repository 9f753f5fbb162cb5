//go:build e2e

package panel_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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
	if copied := servertest.Eval[string](t, ctx, `copied`); copied != `cd '/src/a'\''b' && claude --resume 4f1c` {
		t.Errorf("copied %s", copied)
	}
	act(menu, "Done")
	says("Done: “Lay the keel”", "0,8,9")
	servertest.Do(t, ctx, servertest.Press("u"))
	// What a person just changed is the newest, and older lists are counted anew.
	says("Undone", "2,0,8,9")
	act(menu, "Archive")
	says("Archived “Lay the keel”", "0,8,9")
	servertest.Do(t, ctx, servertest.Press("u"))
	says("Undone", "2,0,8,9")
	if servertest.Eval[bool](t, ctx, `document.querySelector('#menu hr + hr') !== null`) {
		t.Error("the menu has two lines between its parts")
	}
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
