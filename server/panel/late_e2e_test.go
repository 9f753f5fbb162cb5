//go:build e2e

package panel_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 50: an open page to which the store is late keeps what it shows and tries again,
// and one that was opened meanwhile comes by itself.
func TestPanelOutlivesALateStore(t *testing.T) {
	var late atomic.Bool
	failed := make(chan struct{}, 100)
	var reads atomic.Int64 // of the second list
	store := &servertest.Failing{Store: memory.New()}
	var first string
	store.Fault = func(method, list string) error {
		// The first read is for the event that tells of the list, the others are for the board.
		if method != "Load" || list == first || !late.Load() || reads.Add(1) == 1 {
			return nil
		}
		failed <- struct{}{}
		return context.DeadlineExceeded
	}
	base := servertest.Serve(t, servertest.New(t, store, nil), nil).URL
	write, _, _ := inSession(t, base)
	write(firstPlan)
	first = servertest.ListIDs(t, base)[0]
	ctx := servertest.Open(t, base)
	late.Store(true)
	other, _, _ := inSession(t, base)
	other(secondPlan)
	for range 2 {
		select {
		case <-failed:
		case <-ctx.Done():
			t.Fatal("50: the board is not asked for again")
		}
	}
	if !servertest.Eval[bool](t, ctx, `!!document.getElementById('card-`+first+`')`) {
		t.Error("50: the board is gone while the store is late")
	}
	second := servertest.Tab(t)
	servertest.Do(t, second, chromedp.Navigate(base))
	servertest.Until(t, second, `document.title.startsWith('Not now')`)
	late.Store(false)
	for _, tab := range []context.Context{ctx, second} {
		servertest.Until(t, tab, `document.querySelectorAll('.card').length === 2`)
	}
}
