//go:build e2e

package panel_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The panel works below a path of a proxy, as /todo/, that takes the path out of requests, so
// that the server need not know it, or leaves it there, so that the public URL says it: the
// board, a list and an earlier revision, live, with an edit and the way back. No
// page asks for anything elsewhere, which is another program's.
func TestPanelBelowAPath(t *testing.T) {
	for name, c := range map[string]struct {
		strips bool
		public string
	}{
		"stripped": {strips: true},
		"kept":     {public: "https://todo.example/todo"},
		"known":    {strips: true, public: "https://todo.example/todo"},
	} {
		t.Run(name, func(t *testing.T) {
			web := servertest.Serve(t, servertest.New(t, nil, nil), func(c2 *edge.Config) { c2.PublicURL = c.public })
			base := servertest.Below(t, web.URL, "/todo", c.strips)
			write := servertest.Writer(t, web.URL, "claude-code")
			write(servertest.Todos("pending", "Paint", "Dry"))
			id := servertest.ListIDs(t, web.URL)[0]
			ctx := servertest.Open(t, base+"/")
			at := func(path, ready string) {
				t.Helper()
				servertest.Until(t, ctx, fmt.Sprintf(`location.pathname + location.search === '/todo/%s' && (%s) && %s`, path, ready, servertest.IsLive))
				elsewhere := `[...document.querySelectorAll('a[href], form[action]')].map((e) => e.href ?? e.action).concat(performance.getEntriesByType('resource').map((e) => e.name))
					.filter((u) => u.startsWith('http') && !u.startsWith(location.origin + '/todo/')).join()`
				if got := servertest.Eval[string](t, ctx, elsewhere); got != "" {
					t.Errorf("%s leads to %s", path, got)
				}
			}
			at("", `document.querySelector('.card h3 a') !== null`)
			write(servertest.Todos("pending", "Paint", "Dry", "Sail"))
			servertest.Until(t, ctx, `document.querySelector('.card').textContent.includes('Sail')`)
			servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+id))
			at("lists/"+id, `document.querySelectorAll('#items [data-item]').length === 3`)
			servertest.Eval[bool](t, ctx, `(document.querySelector('#i-1 .tick').click(), true)`)
			servertest.Until(t, ctx, `document.querySelector('#i-1.completed') !== null && document.querySelector('main').dataset.revision === '3'`)
			servertest.Do(t, ctx, servertest.Press("h"))
			at("lists/"+id+"?revision=3", `document.querySelector('main').dataset.view === 'history'`)
			servertest.Do(t, ctx, servertest.Press("["))
			at("lists/"+id+"?revision=2", `document.getElementById('where').textContent === 'Revision 2 of 3'`)
			servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+id))
			at("lists/"+id, `document.querySelector('.skip').href === location.href + '#main'`)
			servertest.Do(t, ctx, servertest.Press("\x1b"))
			at("", `document.querySelector('.card h3 a') !== null`)
			servertest.Eval[bool](t, ctx, `(document.querySelector('[aria-label=Today]').click(), true)`)
			at("today", `document.querySelector('main').dataset.view === 'today'`)
		})
	}
}
