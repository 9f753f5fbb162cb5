//go:build e2e

package panel_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"todo-mcp/server/servertest"
)

// Ctrl+K leads by the keyboard alone to a list, to what left one and to commands, from every
// page; it is said to screen readers which option Enter takes, and Esc leads back to where
// the focus was.
func TestPanelJumpByKeys(t *testing.T) {
	s, base := servertest.Site(t)
	manyStates(t, s.Board.As(""))
	write := servertest.Writer(t, base, "codex-mcp-client")
	write(servertest.Todos("pending", "Paint the hull", "Dry"))
	write(servertest.Todos("pending", "Tar the hull", "Dry"))
	id := servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(window.same = true)`)
	keys := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			servertest.Do(t, ctx, servertest.Press(key))
		}
	}
	// opens opens the jump, types words and waits for the option that Enter takes.
	opens := func(words, option string) {
		t.Helper()
		servertest.Do(t, ctx, servertest.Press("k", chromedp.ModifierCtrl))
		servertest.Until(t, ctx, `document.getElementById('jump')?.open && document.activeElement.id === 'jump-q'`)
		keys(words)
		servertest.Until(t, ctx, fmt.Sprintf(`document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.querySelector('bdi').textContent === %q &&
			document.querySelector('#jump [aria-selected=true]').id === document.activeElement.getAttribute('aria-activedescendant')`, option))
	}
	keys("j")
	was := servertest.Eval[string](t, ctx, `document.activeElement.href`)
	opens("", "Two")
	for _, scheme := range []string{"light", "dark"} {
		servertest.Emulate(t, ctx, scheme)
		for _, v := range servertest.Violations(t, ctx) {
			t.Errorf("%s: %s", scheme, v)
		}
	}
	keys(kb.Escape)
	servertest.Until(t, ctx, fmt.Sprintf(`!document.getElementById('jump').open && document.activeElement.href === %q`, was))
	opens("hull tar", "Tar the hull")
	keys(kb.Enter)
	servertest.Until(t, ctx, `window.same && location.pathname === '/lists/`+id+`' && document.activeElement.id === 'main' && document.querySelector('#items [data-item]') !== null`)
	write(servertest.Todos("pending", "Tar the hull", "Dry", "More"))
	servertest.Until(t, ctx, `document.querySelectorAll('#items [data-item]').length === 3`)
	keys("a") // also from a field
	opens("paint the", "Paint the hull")
	keys(kb.Enter)
	servertest.Until(t, ctx, `window.same && location.search === '?revision=1' && document.getElementById('where')?.textContent === 'Revision 1 of 3'`)
	opens("table", "Search all lists, and what left them")
	keys(kb.ArrowDown, kb.Enter)
	servertest.Until(t, ctx, `window.same && location.search === '?view=table' && document.getElementById('lines') !== null`)
	opens("nothing at all", "Search all lists, and what left them")
	keys(kb.ArrowUp, kb.Enter)
	servertest.Until(t, ctx, `window.same && location.search.startsWith('?history=true') && document.getElementById('nothing') !== null`)
	// Keys may be faster than the options for the words before them.
	servertest.Do(t, ctx, servertest.Press("k", chromedp.ModifierCtrl))
	servertest.Until(t, ctx, `document.getElementById('jump')?.open && document.activeElement.id === 'jump-q'`)
	keys("dark", kb.ArrowDown, kb.Enter)
	servertest.Until(t, ctx, `document.documentElement.dataset.theme === 'dark'`)
	servertest.Emulate(t, ctx, "light")
	servertest.Until(t, ctx, `getComputedStyle(document.body).backgroundColor === 'rgb(17, 17, 16)'`)
	servertest.Do(t, ctx, chromedp.Navigate(base))
	servertest.Until(t, ctx, servertest.IsLive+` && getComputedStyle(document.body).backgroundColor === 'rgb(17, 17, 16)'`)
	servertest.Eval[bool](t, ctx, `(window.same = true)`)
	opens("system", "Search all lists, and what left them")
	keys(kb.ArrowDown, kb.Enter)
	servertest.Until(t, ctx, `getComputedStyle(document.body).backgroundColor === 'rgb(248, 247, 244)' && document.cookie === ''`)
}
