//go:build e2e

package panel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The page of today goes on as agents work, is copied as markdown, and leads to other days
// without a reload.
func TestPanelTodayInTheBrowser(t *testing.T) {
	s, base := servertest.Site(t)
	manyStates(t, s.Board.As(""))
	write := servertest.Writer(t, base, "codex-mcp-client")
	write(servertest.Todos("in_progress", "Paint"))
	ctx := servertest.Open(t, base)
	servertest.Eval[bool](t, ctx, `(Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text } } }), window.same = true)`)
	servertest.Do(t, ctx, chromedp.Click(`#views [aria-label="Today"]`))
	servertest.Until(t, ctx, `window.same && location.pathname === '/today' && document.getElementById('day')?.textContent.includes('Paint')`)
	write(servertest.Todos("completed", "Paint"))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#day .completed')].some((e) => e.textContent.includes('Paint'))`)
	servertest.Do(t, ctx, chromedp.Click(`[data-do="copy"]`))
	servertest.Until(t, ctx, `window.copied && !document.getElementById('toast').hidden`)
	if copied := servertest.Eval[string](t, ctx, `copied`); !strings.HasPrefix(copied, "# "+time.Now().Format("Monday")) || !strings.Contains(copied, "- [x] Paint") {
		t.Errorf("copied %s", copied)
	}
	const date = `document.querySelector('#filters [type=date]')`
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	servertest.Do(t, ctx, chromedp.Click(`[aria-label="The day before"]`))
	servertest.Until(t, ctx, fmt.Sprintf(`window.same && location.search === '?day=%s' && %s.value === '%[1]s' && document.getElementById('nothing') !== null`, yesterday, date))
	servertest.Eval[bool](t, ctx, fmt.Sprintf(`(%s.value = '%s', %[1]s.dispatchEvent(new Event('change', { bubbles: true })))`, date, time.Now().Format(time.DateOnly)))
	servertest.Until(t, ctx, `window.same && document.getElementById('day').textContent.includes('Paint')`)
}
