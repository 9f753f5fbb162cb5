// Package panel serves the web pages on which people watch and edit lists.
//
// Every page is complete without script. A change appears on an open page
// within a tenth of a second, without moving what a person reads or types. The
// texts of a list cannot run as markup or script (BAD-INPUT 36, 38).
package panel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/palette"
)

//go:embed page.tmpl panel.css panel.js
var files embed.FS

// policy is the Content-Security-Policy of all pages: they may load script and
// style from this server and nothing else (BAD-INPUT 36).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Panel serves the pages that show lists to people. The server draws all HTML;
// the script only inserts it into the page.
type Panel struct {
	config    Config
	templates *template.Template
	assets    map[string]asset // by path
}

// Config configures a [Panel].
type Config struct {
	// Process identifies the serving process: a page reloads when its stream
	// reconnects to another one.
	Process string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// asset is a file that the pages load.
type asset struct {
	data      []byte
	mediaType string
	etag      string
}

// New returns a panel. It returns an error only when its embedded files are
// invalid.
func New(c Config) (*Panel, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Panel{config: c, assets: make(map[string]asset)}
	for name, mediaType := range map[string]string{"panel.js": "text/javascript; charset=utf-8", "panel.css": "text/css; charset=utf-8"} {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read panel: %w", err)
		}
		if name == "panel.css" {
			data = append([]byte(palette.CSS), data...)
		}
		sum := sha256.Sum256(data)
		p.assets["/"+name] = asset{data, mediaType, `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	var err error
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"ago":        func(t time.Time) string { return render.Ago(c.Now().Sub(t)) },
		"since":      func(t time.Time) string { return render.Took(c.Now().Sub(t)) },
		"moment":     func(t time.Time) string { return moment(t, c.Now()) },
		"full":       func(t time.Time) string { return t.In(c.Now().Location()).Format("2006-01-02 15:04:05 -07:00") },
		"stamp":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"has":        func(t time.Time) bool { return !t.IsZero() },
		"staleAfter": staleAfter.Milliseconds,
	}).ParseFS(files, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read panel: %w", err)
	}
	return p, nil
}

// Route adds the pages to an edge.
func (p *Panel) Route(e *edge.Edge) {
	e.Handle("GET /{$}", edge.Text, p.board)
	e.Handle("GET /lists/{id}", edge.Text, p.list)
	e.Handle("GET /lists/{id}/at/{revision}", edge.Text, p.oldRevision)
	e.Handle("POST /lists/{id}/restore/{revision}", edge.JSON, p.restore)
	e.Handle("GET /lists/{id}/edit", edge.Text, p.editor)
	e.Handle("POST /lists/{id}/edit", edge.JSON, p.edit)
	e.HandleUnbounded("GET /panel/events", edge.Text, p.events)
	for path := range p.assets {
		e.Handle("GET "+path, edge.Text, p.asset)
	}
}

func (p *Panel) asset(w http.ResponseWriter, r *edge.Request) error {
	a := p.assets[r.URL.Path]
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = w.Write(a.data)
	return nil
}

// page draws a template and writes it as a page.
func (p *Panel) page(w http.ResponseWriter, name string, data any) error {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return edge.Internal(fmt.Errorf("draw page %s: %w", name, err))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
	return nil
}

func (p *Panel) board(w http.ResponseWriter, r *edge.Request) error {
	v, err := p.boardView(r)
	if err != nil {
		return err
	}
	v.Address = "http://" + r.Host + "/mcp"
	return p.page(w, "board", v)
}

// listPage is a list's own page.
type listPage struct {
	listView
	Shown listView // the revision that is drawn: the newest or an old one
}

// list serves a list's page at its newest revision or at ?revision=, which
// pages use without script. If the id ends in .md or .json it serves the list
// itself, as markdown or JSON.
func (p *Panel) list(w http.ResponseWriter, r *edge.Request) error {
	id := r.PathValue("id")
	for suffix, write := range map[string]func(http.ResponseWriter, todo.Snapshot) error{".md": writeMarkdown, ".json": writeDocument} {
		if bare, ok := strings.CutSuffix(id, suffix); ok {
			l, err := r.Lists.Load(r.Context(), bare, 0)
			if err != nil {
				return err
			}
			return write(w, l)
		}
	}
	v, err := p.listView(r.Context(), r.Lists, id)
	if err != nil {
		return err
	}
	page := listPage{listView: v, Shown: v}
	if wanted, err := strconv.ParseInt(r.URL.Query().Get("revision"), 10, 64); err == nil && wanted > 0 && wanted < v.Revision {
		if page.Shown, err = p.revision(r, id, wanted); err != nil {
			return err
		}
	}
	return p.page(w, "list", page)
}

func writeMarkdown(w http.ResponseWriter, l todo.Snapshot) error {
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	_, _ = w.Write([]byte(render.Markdown(l)))
	return nil
}

func writeDocument(w http.ResponseWriter, l todo.Snapshot) error {
	w.Header().Set("Content-Disposition", `attachment; filename="`+l.List.ID+`.json"`)
	return edge.WriteJSON(w, http.StatusOK, render.Document(l))
}

// listView returns the view of a list's newest revision, with its sub-agents'
// lists and the oldest revision that is kept.
func (p *Panel) listView(ctx context.Context, lists todo.Lists, id string) (listView, error) {
	l, err := lists.Load(ctx, id, 0)
	if err != nil {
		return listView{}, err
	}
	subs, err := lists.Find(ctx, todo.Query{Parent: id})
	if err != nil {
		return listView{}, err
	}
	f := newFamily(l, subs)
	left, err := leftBehind(ctx, lists, []family{f})
	if err != nil {
		return listView{}, err
	}
	kept, err := lists.History(ctx, id, 0, 1)
	v := viewOf(f, left, p.config.Now())
	v.Oldest = l.Revision
	if len(kept) > 0 {
		v.Oldest = min(v.Oldest, kept[0].Revision) // the list may have changed since it was read
	}
	return v, err
}

// revision returns the view of an old revision, with its changes marked.
func (p *Panel) revision(r *edge.Request, id string, n int64) (listView, error) {
	l, err := r.Lists.Load(r.Context(), id, n)
	if err != nil {
		return listView{}, err
	}
	before, err := r.Lists.Load(r.Context(), id, n-1)
	if n == 1 || errors.Is(err, todo.ErrNotFound) {
		before, err = todo.Snapshot{}, nil
	}
	return oldView(before, l, p.config.Now()), err
}

// restore writes an old revision as a new one. The edge has refused requests
// from foreign pages before.
func (p *Panel) restore(w http.ResponseWriter, r *edge.Request) error {
	n, err := revisionOf(r)
	if err != nil {
		return err
	}
	out, err := r.Lists.Restore(r.Context(), r.PathValue("id"), n, todo.Writer{Client: "panel", Variant: "restore", Person: true})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, render.Document(out.After))
}

// revisionOf returns the revision in the path. Its error is an [*edge.Error]
// with status 404.
func revisionOf(r *edge.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil || n < 1 {
		return 0, &edge.Error{Status: http.StatusNotFound, Text: "no such revision"}
	}
	return n, nil
}

// oldRevision serves the items of an old revision as HTML, for the timeline.
func (p *Panel) oldRevision(w http.ResponseWriter, r *edge.Request) error {
	n, err := revisionOf(r)
	if err != nil {
		return err
	}
	v, err := p.revision(r, r.PathValue("id"), n)
	if err != nil {
		return err
	}
	return p.page(w, "revision", v)
}
