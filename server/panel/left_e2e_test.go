//go:build e2e

package panel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// When a chat begins a second plan, the first one's card becomes "left open" on
// the open page: it moves below the others, leaves Now, and no time runs on it.
// When the chat goes on with it, all that is undone. The list's own page follows
// as well.
func TestPanelLeftOpenLive(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	write := chat(t, s)
	write(firstPlan)
	first := listIDs(t, web.URL)[0]
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.EmulateViewport(1180, 800), chromedp.Navigate(web.URL))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('#now li') !== null`)
	working := func(id string) string {
		return fmt.Sprintf(`document.querySelector('#open #card-%[1]s .run') !== null && document.getElementById('now-%[1]s') !== null && !document.querySelector('#card-%[1]s .rest') && !document.querySelector('#rail-%[1]s.left')`, id)
	}
	left := func(id string) string {
		return fmt.Sprintf(`document.querySelector('#left #card-%[1]s .rest')?.textContent.startsWith('left open since ') && !document.querySelector('#card-%[1]s .run') && !document.getElementById('now-%[1]s') && document.querySelector('#rail-%[1]s.left') !== null`, id)
	}
	servertest.Until(t, ctx, working(first)+` && !document.querySelector('.behind').checkVisibility()`)
	write(secondPlan)
	second := listIDs(t, web.URL)[0]
	both := left(first) + " && " + working(second)
	servertest.Until(t, ctx, both)
	since := fmt.Sprintf(`document.querySelector('#card-%s .rest time').textContent`, first)
	before := servertest.Eval[string](t, ctx, since)
	servertest.Eval[bool](t, ctx, `tickedAt = 0, setTimeout(() => { tickedAt = 1 }, 1500), true`)
	servertest.Until(t, ctx, `tickedAt === 1`) // the page's clock has ticked
	if now := servertest.Eval[string](t, ctx, since); now != before || strings.Contains(now, "ago") {
		t.Errorf("the time since when it was left ticks: %q, %q", before, now)
	}
	servertest.Do(t, ctx, chromedp.Reload())
	servertest.Until(t, ctx, servertest.IsLive+" && "+both)

	write(strings.Replace(firstPlan, "pending", "completed", 1))
	servertest.Until(t, ctx, working(first)+" && "+left(second))

	servertest.Do(t, ctx, chromedp.Navigate(web.URL+"/lists/"+first))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('#shown .run') !== null && !document.querySelector('#shown .rest')`)
	write(strings.Replace(secondPlan, "pending", "completed", 1))
	servertest.Until(t, ctx, `document.querySelector('#shown .rest')?.textContent.includes('resume') && !document.querySelector('#shown .run')`)

	// A list that is archived leaves the open board.
	servertest.Do(t, ctx, chromedp.Navigate(web.URL))
	servertest.Until(t, ctx, servertest.IsLive+" && "+both)
	for _, id := range []string{first, second} {
		if _, err := s.Board.As("").Archive(t.Context(), id, true, todo.Writer{Person: true}); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Until(t, ctx, `!document.querySelector('.card, #rail li, #now li')`)
}
