//go:build e2e

package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Tab opens a tab in headless Chromium and returns its context, which ends
// after a minute or with the test. Chromium is started three times at most: beside
// others it crashes now and then as it starts.
func Tab(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	var failed error
	for range 3 {
		allocated, cancel1 := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel2 := chromedp.NewContext(allocated)
		if failed = chromedp.Do(ctx); failed != nil {
			cancel2()
			cancel1()
			continue
		}
		ctx, cancel3 := context.WithTimeout(ctx, time.Minute)
		t.Cleanup(func() { cancel3(); cancel2(); cancel1() })
		return ctx
	}
	t.Fatalf("browser: %v (the test needs Chromium; `make deps` installs it)", failed)
	return nil
}

// Do runs steps in a tab.
func Do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("browser: %v", err)
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
