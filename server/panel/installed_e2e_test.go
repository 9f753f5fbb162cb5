//go:build e2e

package panel_test

import (
	"strings"
	"testing"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A browser can install the panel as a program: it reads the manifest without an error,
// finds nothing that is missing, and each icon is what the manifest says.
func TestPanelIsInstallable(t *testing.T) {
	_, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	manifest, err := chromedp.Call(ctx, cdp.GetAppManifest, cdp.GetAppManifestParams{})
	if err != nil {
		t.Fatal(err)
	}
	if manifest.URL != base+"/manifest.webmanifest" || len(manifest.Errors) > 0 || !strings.Contains(manifest.Data, `"start_url": "./"`) {
		t.Errorf("the manifest: %+v", manifest)
	}
	missing, err := chromedp.Call(ctx, cdp.GetInstallabilityErrors, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range missing.InstallabilityErrors {
		// The browser of the test has no profile that could keep a program.
		if e.ErrorID != "in-incognito" {
			t.Errorf("it cannot be installed: %s", e.ErrorID)
		}
	}
	for path, want := range map[string]string{"/manifest.webmanifest": "application/manifest+json", "/icon.svg": "image/svg+xml",
		"/icon-192.png": "image/png", "/icon-512.png": "image/png"} {
		if status, header, _ := servertest.Ask(t, "GET", base+path, ""); status != 200 || header.Get("Content-Type") != want {
			t.Errorf("%s: %d %s", path, status, header.Get("Content-Type"))
		}
	}
	servertest.Do(t, ctx, chromedp.Navigate(base+"/icon-512.png"))
	servertest.Until(t, ctx, `document.querySelector('img')?.naturalWidth === 512`)
}

// How many lists wait for the person stands in the tab's title and icon, on the program's
// icon, and at the top of every page, from the moment on at which one waits until none does.
func TestPanelSaysThatOneWaits(t *testing.T) {
	s, base := servertest.Site(t)
	asks, other := servertest.Writer(t, base, "claude-code"), servertest.Writer(t, base, "codex-mcp-client")
	asks(servertest.Todos("in_progress", "Release"))
	id := servertest.ListIDs(t, base)[0]
	other(servertest.Todos("in_progress", "Paint"))
	for _, path := range []string{"/", "/lists/" + servertest.ListIDs(t, base)[0], "/?show=archived"} {
		ctx := servertest.Tab(t)
		servertest.Do(t, ctx, chromedp.Navigate(base+path))
		servertest.Until(t, ctx, servertest.IsLive)
		servertest.Eval[bool](t, ctx, `(window.badges = [], navigator.setAppBadge = async (n) => { badges.push(n) }, true)`)
		if title := servertest.Eval[string](t, ctx, `document.title`); strings.Contains(title, "wait") {
			t.Errorf("%s: %q although none waits", path, title)
		}
		servertest.Says(t, s.Board.As(""), id, todo.Asks, "run `npm publish`?")
		const says = `document.title.startsWith('(1 waits) ') && document.getElementById('waits').innerText === '1 waits for you' && badges.at(-1) === 1 && document.getElementById('icon').href.includes('d07f00')`
		servertest.Until(t, ctx, says)
		asks(servertest.Todos("in_progress", "Release"))
		servertest.Until(t, ctx, `!document.title.includes('wait') && document.getElementById('waits').hidden && badges.at(-1) === 0 && !document.getElementById('icon').href.includes('d07f00')`)
	}
}
