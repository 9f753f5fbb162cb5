// Package panel serves the web pages on which people watch and edit lists.
//
// Pages can be read without script; editing needs it. A change appears on an open page within a tenth of a second,
// without moving what a person reads or types. The texts of a list cannot run as markup or script (BAD-INPUT 37).
package panel

import (
	"embed"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

//go:embed *.css *.js icon* manifest.webmanifest
var files embed.FS

// policy is the Content-Security-Policy of all pages: they load from this server and send forms to it,
// nothing else (BAD-INPUT 37).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

// Panel serves the pages. The server draws all HTML; the script only inserts it into the page.
type Panel struct {
	process   string
	now       func() time.Time
	began     time.Time
	standings sse.Shared[sharedKey, groups]
	updates   sse.Shared[sharedKey, update]
}

// New returns a process's panel. A page reloads when another process serves it. now is the clock; nil means time.Now.
func New(process string, now func() time.Time) *Panel {
	if now == nil {
		now = time.Now
	}
	return &Panel{process: process, now: now, began: time.Now()}
}

// lean removes indentation and // lines, a seventh of a file. No string in the scripts and style sheets spans lines.
func lean(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Route adds the pages to an edge.
func (p *Panel) Route(e *edge.Edge) {
	e.Handle("GET /{$}", failure("./"), p.board, edge.Page)
	e.Handle("GET /today", failure("./"), p.today, edge.Page)
	e.Handle("GET /today.md", edge.Text, p.today)
	e.Handle("GET /lists/{id}", failure("../"), p.list, edge.Page)
	e.Handle("POST /lists/{id}/edit", edge.JSON, p.edit)
	e.Handle("GET /panel/events", edge.Text, p.events, edge.Stream)
	text := func(name string) string {
		data, _ := files.ReadFile(name) // embedded
		return string(data)
	}
	asset := func(name, content string) {
		e.Handle("GET /"+name, edge.Text, edge.Static(mediaTypes[path.Ext(name)], content), edge.Public)
	}
	asset("panel.css", lean(card.Colours+text("panel.css")))
	asset("panel.js", lean(card.Took+text("notifications.js")+text("tabs.js")+text("panel.js")))
	for _, name := range []string{"viewer.css", "viewer.js", "manifest.webmanifest", "icon.svg", "icon-192.png", "icon-512.png"} {
		asset(name, text(name))
	}
}

// mediaTypes are the assets' media types by extension. Those of package mime depend on the system.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json"}

// isMarkdown reports whether a page is asked for as markdown.
func isMarkdown(r *edge.Request) bool { return strings.HasSuffix(r.URL.Path, ".md") }

// answer answers with what draw returns in its turn: a page, or markdown.
func answer(w http.ResponseWriter, r *edge.Request, draw func() (string, error)) error {
	text, err := edge.InTurn(r, draw)
	switch {
	case err != nil:
		return err
	case isMarkdown(r):
		return edge.Write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(text))
	}
	return write(w, http.StatusOK, text)
}

func write(w http.ResponseWriter, status int, page string) error {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	return edge.Write(w, status, "text/html; charset=utf-8", []byte(page))
}

// failure returns a function that draws a failure as a page; root is the board's address relative to the page.
func failure(root string) edge.Format {
	return func(w http.ResponseWriter, status int, text string) {
		head := "Not now"
		if status == http.StatusNotFound {
			head, text = "Not found", "There is no such list. It may have been deleted, or its address is not whole."
		}
		page := boardPage{frame: frame{root: root, head: head, view: "none"}, nothing: Group{Text(text), A(Class("link end"), Href("./"), Text("All lists"))}}
		if w.Header().Get("Retry-After") != "" {
			page.list = Group{Data("later", "true")} // the script loads it again
		}
		_ = write(w, status, page.draw())
	}
}
