//go:build e2e

package card_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// chat is a host in a browser tab, connected to a server.
type chat struct {
	t   *testing.T
	ctx context.Context // the tab
	// frame is the page in its sandboxed frame.
	frame context.Context
	seen  map[target.ID]bool // the frames of earlier pages
}

// hostScript is the host's script, bundled once.
var hostScript []byte

// newChat returns a host whose model is not known to be shown structured content.
func newChat(t *testing.T, s *server.Server) *chat { t.Helper(); return newChatOf(t, s, "claude-ai") }

// newChatOf returns a host that names itself client.
func newChatOf(t *testing.T, s *server.Server, client string) *chat {
	t.Helper()
	if hostScript == nil {
		hostScript = servertest.Bundle(t, "testdata/host.js", "--format=iife")
	}
	h := servertest.Handler(t, s, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	mux.HandleFunc("/host", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><style>body{margin:16px}iframe{border:1px solid #8884;border-radius:12px;width:100%;height:60px;display:block}</style><script src="/host.js"></script>`)
	})
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(hostScript)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(func() { h.Close(); web.CloseClientConnections(); web.Close() })
	c := &chat{t: t, ctx: servertest.Tab(t), seen: make(map[target.ID]bool)}
	servertest.Do(t, c.ctx, chromedp.EmulateViewport(592, 700), chromedp.Navigate(web.URL+"/host"))
	c.host(fmt.Sprintf("connect(%q)", client))
	return c
}

// host runs a method of the host and waits for its promise.
func (c *chat) host(call string) {
	c.t.Helper()
	if _, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool]("host."+call, chromedp.EvalAwaitPromise)); err != nil {
		c.t.Fatalf("host.%s: %v", call, err)
	}
}

// mount shows a new page and attaches to its frame.
func (c *chat) mount(args string) {
	c.t.Helper()
	c.newFrame()
	c.host("mount(" + args + ")")
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if id := c.newFrame(); id != "" {
			frame, cancel := chromedp.NewContext(c.ctx, chromedp.WithTargetID(id))
			c.t.Cleanup(cancel)
			c.frame = frame
			return
		}
	}
	c.t.Fatal("the page's frame never came")
}

// newFrame returns a frame of the browser that was not there before; empty when there is none.
func (c *chat) newFrame() (id target.ID) {
	c.t.Helper()
	targets := servertest.Must(chromedp.Targets(c.ctx))(c.t)
	for _, f := range targets {
		if f.Type == "iframe" && !c.seen[f.TargetID] {
			id, c.seen[f.TargetID] = f.TargetID, true
		}
	}
	return id
}

func (c *chat) until(script string) { c.t.Helper(); servertest.Until(c.t, c.frame, script) }

// call calls a tool of the server and sends the result to the page.
func (c *chat) call(tool, args string) {
	c.t.Helper()
	c.host(fmt.Sprintf("call(%q, %s)", tool, args))
	c.host("result()")
}

// rows is a script that returns the items as drawn: "status title", joined by "|".
const rows = `[...document.querySelectorAll('#items li')].map((e) => e.classList[0] + ' ' + e.querySelector('bdi').textContent).join('|')`

// rows waits until the page shows these items.
func (c *chat) rows(want ...string) {
	c.t.Helper()
	text := servertest.Must(json.Marshal(strings.Join(want, "|")))(c.t) // Go's own escapes are not JavaScript's
	c.until(rows + " === " + string(text))
}

// expectNoRequests checks that the page neither made nor attempted network requests.
func (c *chat) expectNoRequests() {
	c.t.Helper()
	if requests := servertest.Eval[string](c.t, c.frame, `[...stopped, ...performance.getEntriesByType('resource').map((e) => e.name)].join()`); requests != "" {
		c.t.Errorf("the page requested %s", requests)
	}
	// An attempt is counted.
	servertest.Eval[bool](c.t, c.frame, `new Image().src = 'http://127.0.0.1:9/x', true`)
	c.until(`stopped.length === 1`)
}
