//go:build e2e

package panel_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// From the board to the table and back; sorted and filtered without a reload, which the
// address and the browser's history know; live, with a list that waits first; and without a
// violation in either scheme, on a phone, too.
func TestPanelTableInTheBrowser(t *testing.T) {
	s, base := servertest.Site(t)
	lists := s.Board.As("")
	manyStates(t, lists)
	codex := servertest.Writer(t, base, "codex-mcp-client")
	codex(servertest.Todos("in_progress", "Zebra"))
	zebra := servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(window.same = true)`)
	servertest.Do(t, ctx, chromedp.Click(`#views [aria-label="Table"]`))
	first := func(title, search string, n int) {
		t.Helper()
		servertest.Until(t, ctx, fmt.Sprintf(`window.same && location.search === %q && document.querySelector('#lines tr')?.dataset.title === %q && document.querySelectorAll('#lines tr').length === %d`, search, title, n))
	}
	first("Two", "?view=table", 7) // it waits
	servertest.Do(t, ctx, chromedp.Click(`#by-title a`))
	first("Five", "?sort=title&view=table", 7)
	servertest.Do(t, ctx, chromedp.Click(`#by-title a`))
	first("Zebra", "?sort=-title&view=table", 7)
	if focus := servertest.Eval[string](t, ctx, `document.activeElement.closest('th').id + document.activeElement.closest('th').ariaSort`); focus != "by-titledescending" {
		t.Errorf("the focus is at %s", focus)
	}
	choose := func(name, value string) {
		t.Helper()
		servertest.Eval[bool](t, ctx, fmt.Sprintf(`((s) => { s.value = %q; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector('#filters [name=%s]')), true`, value, name))
	}
	choose("agent", "Codex")
	first("Zebra", "?view=table&sort=-title&agent=Codex", 1)
	// A change is drawn in its line, and a question moves the list to the state waiting.
	codex(servertest.Todos("completed", "Zebra"))
	servertest.Until(t, ctx, `document.querySelector('#lines .c-state').textContent === 'Finished' && document.querySelector('#lines .n').textContent === '1/1'`)
	codex(servertest.Todos("pending", "Yak"))
	asked := servertest.ListIDs(t, base)[0]
	servertest.Says(t, lists, asked, todo.Asks, "may I <b>?")
	servertest.Until(t, ctx, `document.querySelector('#line-`+asked+` .asking')?.textContent === 'Codex asks: may I <b>?' && document.querySelector('#line-`+asked+` .c-state').matches('.waiting')`)
	choose("state", "waiting")
	servertest.Until(t, ctx, `document.querySelectorAll('#lines tr').length === 1`)
	servertest.Do(t, ctx, chromedp.NavigateBack())
	servertest.Until(t, ctx, `window.same && document.querySelector('#filters [name=state]').value === '' && document.querySelector('#filters [name=agent]').value === 'Codex' && document.querySelectorAll('#lines tr').length === 2`)
	// The menu of a line is that of its card.
	servertest.Eval[bool](t, ctx, `document.querySelector('#line-`+zebra+` .more').click(), true`)
	servertest.Eval[bool](t, ctx, `[...document.querySelectorAll('#menu button')].find((b) => b.textContent.startsWith('Archive')).click(), true`)
	servertest.Until(t, ctx, `!document.getElementById('line-`+zebra+`') && !document.getElementById('toast').hidden`)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 900, 390} {
			servertest.Emulate(t, ctx, scheme)
			servertest.Do(t, ctx, chromedp.EmulateViewport(width, 844), chromedp.Navigate(base+"/?view=table"))
			servertest.Until(t, ctx, servertest.IsLive)
			if wide := servertest.Eval[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the table is %d wide on %d", wide, width)
			}
			for _, v := range servertest.Violations(t, ctx) {
				t.Errorf("%s, %d: %s", scheme, width, v)
			}
		}
	}
}
