package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/chromedp/chromedp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/server/card"
)

// host is the page of a minimal host of MCP Apps: it answers the card's greeting and sends the card the result of one
// call.
const host = `<!doctype html><meta charset="utf-8"><style>body{margin:20px;background:#f4f4f2}iframe{border:1px solid #8884;border-radius:12px;width:100%;display:block}</style>
<iframe src="/card"></iframe><script>
const frame = document.querySelector('iframe').contentWindow;
const item = (title, status) => ({ title, status });
addEventListener('message', ({ data }) => {
  const send = (m) => frame.postMessage({ jsonrpc: '2.0', ...m }, '*');
  if (data.method === 'ui/initialize') send({ id: data.id, result: { hostCapabilities: { openLinks: {} }, hostContext: { theme: 'light' } } });
  if (data.method === 'ui/notifications/size-changed') document.querySelector('iframe').style.height = data.params.height + 'px';
  if (data.method === 'ui/notifications/initialized') send({ method: 'ui/notifications/tool-result', params: { content: [], structuredContent: { list: 'x', revision: 3, display: [{ type: 'todo', items: [
    item('Read the schema', 'completed'), item('Write the migration', 'completed'), item('Running the tests against Postgres and SQLite', 'in_progress'),
    item('Sign the macOS build', 'failed'), { title: 'Publish the notes', status: 'blocked', reason: 'Waits for your yes on the wording' }, item('Tag v2.4.0', 'pending')] }] },
    _meta: { 'todo-mcp/list': { id: 'x', revision: 3, title: 'Get release 2.4 out', started: new Date(Date.now() - 72000), panel: 'http://127.0.0.1:8765/lists/x' } } } });
});
</script>`

// shootCard saves a picture of the card, as a host shows it in a chat.
func shootCard(ctx context.Context, file string) error {
	page, ok := card.Contents().(mcp.TextResourceContents)
	if !ok {
		return errors.New("the card is no text")
	}
	serve := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, text)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/host", serve(host))
	mux.Handle("/card", serve(page.Text))
	site := httptest.NewServer(mux)
	defer site.Close()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(640, 300, chromedp.EmulateScale(1.5)), chromedp.Navigate(site.URL+"/host")); err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`parseInt(document.querySelector('iframe').style.height) > 200`)); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}
