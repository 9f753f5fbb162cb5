//go:build e2e

package servertest

import (
	"github.com/todo-mcp/todo-mcp/internal/checktest"

	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Violations returns the violations that axe finds on the page in a tab or frame: the rule, element and reason of each.
func Violations(t *testing.T, ctx context.Context) []string {
	t.Helper()
	if !Eval[bool](t, ctx, `"axe" in window`) {
		script := checktest.Must(os.ReadFile(filepath.Join(NodeModules(t), "axe-core", "axe.min.js")))(t)
		Eval[bool](t, ctx, string(script)+"; true")
	}
	found := checktest.Must(chromedp.Run(ctx, chromedp.Evaluate[[]string](`axe.run({resultTypes: ["violations"]}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.html.slice(0, 160) + ' ' + (n.failureSummary ?? '').slice(0, 200))))`, chromedp.EvalAwaitPromise)))(t)
	return found
}

// Emulate makes a tab or frame prefer a colour scheme and reduced motion.
func Emulate(t *testing.T, ctx context.Context, scheme string) {
	t.Helper()
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		t.Fatal(err)
	}
}
