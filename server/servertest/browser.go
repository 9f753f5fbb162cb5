//go:build e2e

package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Tab opens a tab in headless Chromium and returns its context, which ends
// after a minute or with the test.
func Tab(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocated, cancel1 := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel2 := chromedp.NewContext(allocated)
	ctx, cancel3 := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(func() { cancel3(); cancel2(); cancel1() })
	return ctx
}

// Do runs steps in a tab.
func Do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("browser: %v (the test needs Chromium; `make deps` installs it)", err)
	}
}

// Eval returns the value of a script in a tab.
func Eval[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Until waits up to 20 s until a script is true.
func Until(t *testing.T, ctx context.Context, script string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		t.Fatalf("never true: %s: %v", script, err)
	}
}

// IsLive is a script that is true while the panel's page is connected.
const IsLive = `document.getElementById('status').dataset.state === 'live'`
