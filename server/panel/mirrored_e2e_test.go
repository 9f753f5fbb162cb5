//go:build e2e

package panel_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// On the page of a mirrored list neither a click nor a key edits an item; what the
// agent does is shown live, and the title can be edited.
func TestPanelMirroredIsLive(t *testing.T) {
	s, base := servertest.Site(t)
	write := func(texts ...string) todo.Snapshot { return mirror(t, s, func(d *todo.Draft) { d.Append(texts...) }) }
	list := write("One", "Two")
	ctx := servertest.Open(t, base+"/lists/"+list.List.ID)
	servertest.Eval[bool](t, ctx, `document.querySelector('#i-1 .t bdi').click(), true`)
	for _, key := range []string{"j", "j", "x", "e", "b", "a", "\b"} {
		servertest.Do(t, ctx, chromedp.KeyEvent(key))
	}
	if servertest.Eval[bool](t, ctx, `!!document.querySelector('.field, .grip, #add') || document.activeElement.id !== 'i-2'`) {
		t.Error("an item can be edited, or the keys do not move")
	}
	write("Three")
	servertest.Until(t, ctx, `document.querySelectorAll('#items [data-item]').length === 3 && !document.querySelector('.grip')`)
	servertest.Do(t, ctx, chromedp.KeyEvent("r"))
	servertest.Until(t, ctx, `document.activeElement.matches('.field')`)
	now, err := s.Board.As("").Load(t.Context(), list.List.ID, 0)
	if err != nil || now.Revision != 2 {
		t.Errorf("revision %d, %v", now.Revision, err)
	}
}
