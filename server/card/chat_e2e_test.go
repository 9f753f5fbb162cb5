//go:build e2e

package card_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/server/web"
)

// hostScript bundles testdata/host.js with the packages it is made of.
func hostScript(t *testing.T) []byte {
	t.Helper()
	modules := servertest.NodeModules(t)
	out := filepath.Join(t.TempDir(), "host.js")
	bundle := exec.Command(filepath.Join(modules, ".bin", "esbuild"), "testdata/host.js", "--bundle", "--format=iife", "--outfile="+out)
	bundle.Env = append(os.Environ(), "NODE_PATH="+modules)
	if said, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("bundle the host: %v\n%s", err, said)
	}
	script, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// chat is a host's window in a browser, with the server behind it.
type chat struct {
	t   *testing.T
	ctx context.Context
	// frame is the page in its sandbox.
	frame context.Context
	seen  map[string]bool // targets of pages before
}

func newChat(t *testing.T, s *server.Server) *chat {
	t.Helper()
	script := hostScript(t)
	h, err := web.New(s, web.Config{Board: s.Board, SessionKey: servertest.Key})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.HandleFunc("/host", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><style>body{margin:16px}iframe{border:1px solid #8884;border-radius:12px;width:100%;height:60px;display:block}</style><script src="/host.js"></script>`)
	})
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(func() { h.Close(); web.CloseClientConnections(); web.Close() })
	c := &chat{t: t, ctx: servertest.Tab(t), seen: make(map[string]bool)}
	servertest.Do(t, c.ctx, chromedp.EmulateViewport(592, 700), chromedp.Navigate(web.URL+"/host"))
	c.host("connect()")
	return c
}

// host runs a method of the host and waits for its promise.
func (c *chat) host(call string) {
	c.t.Helper()
	if _, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool]("host."+call, chromedp.EvalAwaitPromise)); err != nil {
		c.t.Fatalf("host.%s: %v", call, err)
	}
}

// mount shows the page anew and attaches to its frame.
func (c *chat) mount(args string) {
	c.t.Helper()
	c.host("mount(" + args + ")")
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		targets, err := chromedp.Targets(c.ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, target := range targets {
			if target.Type == "iframe" && !c.seen[string(target.TargetID)] {
				c.seen[string(target.TargetID)] = true
				frame, cancel := chromedp.NewContext(c.ctx, chromedp.WithTargetID(target.TargetID))
				c.t.Cleanup(cancel)
				c.frame = frame
				return
			}
		}
	}
	c.t.Fatal("the page's frame never came")
}

func (c *chat) until(script string) { c.t.Helper(); servertest.Until(c.t, c.frame, script) }

// call has the server answer a tool call and gives the answer to the page.
func (c *chat) call(tool, args string) {
	c.t.Helper()
	c.host(fmt.Sprintf("call(%q, %s)", tool, args))
	c.host("result()")
}

// rows are the items as drawn: "status title".
const rows = `[...document.querySelectorAll('#items li')].map((e) => e.classList[0] + ' ' + e.querySelector('bdi').textContent).join('|')`

func (c *chat) rows(want ...string) {
	c.t.Helper()
	text, err := json.Marshal(strings.Join(want, "|")) // Go's own escapes are not JavaScript's
	if err != nil {
		c.t.Fatal(err)
	}
	c.until(rows + " === " + string(text))
}

// shot keeps a picture when TODO_APP_SHOTS names a folder.
func (c *chat) shot(name string) {
	c.t.Helper()
	dir := os.Getenv("TODO_APP_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(c.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// quiet: nothing was asked of the network, nor tried.
func (c *chat) quiet() {
	c.t.Helper()
	if tried := servertest.Eval[string](c.t, c.frame, `[...stopped, ...performance.getEntriesByType('resource').map((e) => e.name)].join()`); tried != "" {
		c.t.Errorf("the page asked for %s", tried)
	}
	// The probe itself works.
	servertest.Eval[bool](c.t, c.frame, `new Image().src = 'http://127.0.0.1:9/x', true`)
	c.until(`stopped.length === 1`)
}
