//go:build e2e

package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func page(t *testing.T, api, html, script string) string {
	t.Helper()
	target := checktest.Must(url.Parse(api))(t)
	mux := http.NewServeMux()
	mux.Handle("/api/", &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	})
	mux.HandleFunc("/script.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		fmt.Fprint(w, script)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

const planA = `{"todos":[{"content":"Read <b>","activeForm":"Reading","status":"completed"},{"content":"Write","activeForm":"Writing","status":"in_progress"},{"content":"Ship","activeForm":"Shipping","status":"pending"}]}`

// checkSample opens a sample on one chat's list, while another chat writes too, and checks that the page shows only
// this list and its changes. shown is JavaScript that returns the page's items: for each its status, then its text.
func checkSample(t *testing.T, address, api, shown string) {
	t.Helper()
	first, second := servertest.Writer(t, api, "one"), servertest.Writer(t, api, "two")
	first(planA)
	id := servertest.ListIDs(t, api)[0]
	second(servertest.Todos("pending", "Of another chat"))

	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.Navigate(address+"/?list="+id))
	servertest.Until(t, ctx, shown+` === 'completed Read <b>|in_progress Writing|pending Ship'`)
	second(servertest.Todos("completed", "Of another chat"))
	first(servertest.Todos("pending", "Next", "Last"))
	servertest.Until(t, ctx, shown+` === 'pending Next|pending Last'`)

	// Without an id the sample shows the main list that changed last.
	servertest.Do(t, ctx, chromedp.Navigate(address))
	servertest.Until(t, ctx, shown+` === 'pending Next|pending Last'`)
}

// The plain sample of docs/front-ends.md works in Chromium.
func TestPlainSample(t *testing.T) {
	_, url := servertest.Site(t)
	address := page(t, url, "<!doctype html>"+sample(t, "plain.html"), "")
	checkSample(t, address, url, `[...document.querySelectorAll('#todos li')].map((li) => li.className + ' ' + li.textContent).join('|')`)
}

// The React sample of docs/front-ends.md works in Chromium, and recognises the names of todo tools. W3: a reload draws
// the blocks of a chat's history, also of its earlier plans: a todo block as the list, another tool's block as a call.
func TestReactSample(t *testing.T) {
	const host = `
import { createRoot } from 'react-dom/client';
import { History, loadHistory, TodoList, isTodoToolName } from './sample.jsx';
window.isTodoToolName = isTodoToolName;
const root = createRoot(document.getElementById('root')), query = new URLSearchParams(location.search);
if (query.has('history')) {
  const answers = await loadHistory('', query.get('history'));
  const block = { type: 'tool_use', id: 'toolu_02', name: 'Bash', input: { command: 'go <test>' }, tool_content_message: 'Run' };
  answers.push({ id: 'own', type: 'ai_answer', isStreaming: false, blocks: [block] });
  root.render(<History answers={answers} />);
} else root.render(<TodoList base="" list={query.get('list') ?? ''} />);`
	dir := t.TempDir()
	for name, code := range map[string]string{"host.jsx": host, "sample.jsx": sample(t, "react.jsx")} {
		checktest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(code), 0o644))
	}
	script := servertest.Bundle(t, filepath.Join(dir, "host.jsx"), "--format=esm", "--jsx=automatic", `--define:process.env.NODE_ENV="production"`)
	_, url := servertest.Site(t)
	address := page(t, url, `<!doctype html><div id="root"></div><script type="module" src="/script.js"></script>`, string(script))
	checkSample(t, address, url, `[...document.querySelectorAll('#root li')].map((li) => ({
		'line-through text-gray-400 text-green-500 ✓': 'completed', 'font-medium text-gray-800 w-2 h-2 rounded-full bg-blue-500 ': 'in_progress',
		'text-gray-600 w-2 h-2 rounded-full border border-gray-400 ': 'pending',
	})[li.className + ' ' + li.firstChild.className + ' ' + li.firstChild.textContent] + ' ' + li.lastChild.textContent).join('|')`)

	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.Navigate(address))
	servertest.Until(t, ctx, `window.isTodoToolName !== undefined`)
	for name, want := range map[string]bool{
		"TodoWrite": true, "write_todos": true, "SetTodoList": true, "create_todos": true, "update_todo": true,
		"mcp__todo__TodoWrite": true, "mcp__my_lists__write_todos": true, "todo-mcp.SetTodoList": true, "lists/update_todo": true, "mcp:create_todos": true,
		"mcp__todo__search": false, "todo.delete_file": false, "Bash": false, "": false,
	} {
		if got := servertest.Eval[bool](t, ctx, fmt.Sprintf("window.isTodoToolName(%q)", name)); got != want {
			t.Errorf("W2: isTodoToolName(%q) is %v", name, got)
		}
	}

	one, other := servertest.Writer(t, url, "one"), servertest.Writer(t, url, "other")
	one(planA)
	first := servertest.ListIDs(t, url)[0]
	one(servertest.Todos("pending", "Of the next plan"))
	other(servertest.Todos("pending", "Of another chat"))
	one(servertest.Todos("completed", "Of the next plan"))
	servertest.Do(t, ctx, chromedp.Navigate(address+"/?history="+first))
	servertest.Until(t, ctx, `[...document.querySelectorAll('#root section')].map((s) => [...s.querySelectorAll('li, summary, pre')]
		.map((e) => e.tagName + (e.className.startsWith('line-through') ? ' done ' : ' ') + e.lastChild.textContent).join('|')).join('\n') ===
		'LI done Read <b>|LI Writing|LI Ship\nLI Of the next plan\nLI done Of the next plan\nSUMMARY Run|PRE {\n  "command": "go <test>"\n}'`)
}

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
