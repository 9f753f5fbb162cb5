//go:build e2e

package servertest

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is a headless Chromium.
type browser struct {
	ctx   context.Context // nil before it is started
	close func()
}

// shared is the browser of all tests of a package if [Main] runs them; else nil.
var shared *browser

// Main runs all tests of a package with one browser. TestMain calls it.
func Main(m *testing.M) (code int) {
	shared = &browser{close: func() {}}
	defer func() { shared.close() }()
	return m.Run()
}

// start tries three times to start the browser: while other browsers run, a start sometimes crashes.
func (b *browser) start() (err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if shell, err := exec.LookPath("chromium-headless-shell"); err == nil { // takes a third of the time, and isolates frames only with these options
		options = append(options, chromedp.ExecPath(shell), chromedp.Flag("site-per-process", true), chromedp.Flag("enable-features", "NetworkService,NetworkServiceInProcess,IsolateSandboxedIframes"),
			chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,SpareRendererForSitePerProcess"))
	}
	for range 3 {
		allocated, cancel1 := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel2 := chromedp.NewContext(allocated)
		if err = chromedp.Do(ctx); err == nil {
			b.ctx, b.close = ctx, func() { cancel2(); cancel1() }
			return nil
		}
		cancel2()
		cancel1()
	}
	return err
}

// patience is how long the browser's start, or one step in a tab, may take.
const patience = time.Minute

// Tab opens a tab in headless Chromium and returns its context, which ends with the test.
func Tab(t testing.TB) context.Context {
	t.Helper()
	b := shared
	if b == nil {
		b = &browser{close: func() {}}
		t.Cleanup(func() { b.close() })
	}
	if b.ctx == nil {
		if err := b.start(); err != nil {
			t.Fatalf("browser: %v (the test needs Chromium; `make deps` installs it)", err)
		}
	}
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // a tab ends with the context of its first call, so this call has ctx
		t.Fatalf("a tab: %v", err)
	}
	return ctx
}

// Open opens a page of the panel in a new tab and waits until the page follows changes.
func Open(t testing.TB, url string) context.Context {
	t.Helper()
	ctx := Tab(t)
	Do(t, ctx, chromedp.Navigate(url))
	Until(t, ctx, IsLive)
	return ctx
}

// Do runs steps in a tab.
func Do(t testing.TB, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("browser: %v", err)
	}
}

// Press presses keys one after the other. Unlike chromedp.KeyEvent, it sends a key and its
// character in one event, as a keyboard does. So if a page handles a key by moving the focus
// to a field, the key's character is not typed into the field.
func Press(keys string, modifiers ...chromedp.Modifier) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			down, up := *events[0], *events[len(events)-1]
			if len(events) == 3 && len(modifiers) == 0 {
				down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				chromedp.KeyModifiers(modifiers...)(&event)
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Eval returns the value of a script in a tab.
func Eval[T any](t testing.TB, ctx context.Context, script string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Until waits until a script is true. It polls by a timer: polling by frames makes the page draw.
func Until(t testing.TB, ctx context.Context, script string) {
	t.Helper()
	// An element that the script reads may not be on the page yet.
	guarded := "(() => { try { return (" + script + ") } catch { return false } })()"
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](guarded, chromedp.WithPollingInterval(10*time.Millisecond), chromedp.WithPollingTimeout(patience))); err != nil {
		t.Fatalf("never true: %s: %v", script, err)
	}
}

// IsLive is a script that is true while the panel's page is connected.
const IsLive = `document.getElementById('status').dataset.state === 'live'`
