//go:build e2e

package panel_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// When a chat ends, its card becomes a row among those left open, on the open page
// too, and no time runs on it. When another chat goes on with it, all that is undone.
// The list's own page follows as well. A plan that has nothing in common with the one
// before puts that one away ("Who is calling", rule 3).
func TestPanelLeftOpenLive(t *testing.T) {
	s, base := servertest.Site(t)
	write, _, end := inSession(t, base)
	write(firstPlan)
	first := servertest.ListIDs(t, base)[0]
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.EmulateViewport(1180, 800), chromedp.Navigate(base))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('.card') !== null`)
	working := func(id string) string {
		return fmt.Sprintf(`document.querySelector('#card-%[1]s .run') !== null && !document.querySelector('#row-%[1]s')`, id)
	}
	left := func(id string) string {
		return fmt.Sprintf(`document.querySelector('#left #row-%[1]s .at')?.textContent.includes('stopped at') && !document.querySelector('#card-%[1]s, #now-%[1]s')`, id)
	}
	servertest.Until(t, ctx, working(first)+` && document.getElementById('left') === null`)
	end()
	servertest.Until(t, ctx, left(first))
	other, resume, end := inSession(t, base)
	other(secondPlan)
	second := servertest.ListIDs(t, base)[0]
	both := left(first) + " && " + working(second)
	servertest.Until(t, ctx, both)
	servertest.Do(t, ctx, chromedp.Reload())
	servertest.Until(t, ctx, servertest.IsLive+" && "+both)

	resume(first)
	servertest.Until(t, ctx, working(first)+" && "+left(second))

	servertest.Do(t, ctx, chromedp.Navigate(base+"/lists/"+first))
	servertest.Until(t, ctx, servertest.IsLive+` && document.querySelector('#items .run') !== null && !document.getElementById('left')`)
	resume(second)
	servertest.Until(t, ctx, `document.getElementById('left')?.textContent.includes('resume') && !document.querySelector('#items .run')`)

	// A list that is put away leaves the open board, whoever does it.
	servertest.Do(t, ctx, chromedp.Navigate(base))
	servertest.Until(t, ctx, servertest.IsLive+" && "+both)
	other(`{"todos":[{"content":"Weigh anchor","activeForm":"Weighing anchor","status":"in_progress"}]}`)
	third := servertest.ListIDs(t, base)[0]
	servertest.Until(t, ctx, working(third)+fmt.Sprintf(" && !document.querySelector('#card-%[1]s, #row-%[1]s')", second))
	end()
	for _, id := range []string{first, third} {
		if _, err := s.Board.As("").Archive(t.Context(), id, true, todo.Writer{Person: true}); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Until(t, ctx, `!document.querySelector('.card, .rows') && document.querySelector('#kinds li:last-child .n').textContent === '3' && document.getElementById('nothing') !== null`)
}
