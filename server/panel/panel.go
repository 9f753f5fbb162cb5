// Package panel serves the web pages on which people watch and edit lists.
//
// Every page is complete without script. A change appears on an open page
// within a tenth of a second, without moving what a person reads or types. The
// texts of a list cannot run as markup or script (BAD-INPUT 36, 38).
package panel

import (
	"bytes"
	"cmp"
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
	"todo-mcp/server/sse"
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
	kept, err := lists.History(ctx, id, 0, 1)
	v := viewOf(l, subs, p.config.Now())
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

// drawnList is the data of a panel event: the parts of the page that show a
// list, as HTML.
type drawnList struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Seq      int64  `json:"seq"`
	Revision int64  `json:"revision"`
	Oldest   int64  `json:"oldest"` // the first revision that is kept
	Settled  bool   `json:"settled"`
	Card     string `json:"card"`
	Rail     string `json:"rail"`
	Now      string `json:"now,omitempty"` // empty when nothing is in progress
	Say      string `json:"say"`           // plain text for screen readers
}

// events streams each changed list as a drawnList, after an event hello with the
// process. ?list= restricts the stream to one list and its sub-agents' lists.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	f, err := sse.FollowRequest(r.Request, r.Lists, r.ReadTimeout())
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	watch := r.Lists.Watch(f.Want)
	defer watch.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		f.Send = func(changed []todo.Snapshot) error {
			ctx, cancel := context.WithTimeout(stream.Context(), r.ReadTimeout())
			defer cancel()
			events, err := p.drawAll(ctx, r.Lists, changed)
			if err != nil {
				return fmt.Errorf("draw changed lists: %w", err)
			}
			return stream.Send(events...)
		}
		if err := errors.Join(stream.Begin(), stream.Send(sse.Event{Name: "hello", Data: p.config.Process})); err != nil {
			return err
		}
		return stream.Follow(f, watch)
	})
}

// drawAll returns one event for each main list that changed or has a
// sub-agent's list that changed.
func (p *Panel) drawAll(ctx context.Context, lists todo.Lists, changed []todo.Snapshot) (events []sse.Event, err error) {
	drawn := make(map[string]bool)
	for _, l := range changed {
		id := cmp.Or(l.List.Parent, l.List.ID)
		if drawn[id] {
			continue
		}
		drawn[id] = true
		v, err := p.listView(ctx, lists, id)
		if errors.Is(err, todo.ErrNotFound) {
			continue // the sub-agent's main list does not exist yet
		}
		if err != nil {
			return nil, err
		}
		d, err := p.draw(v)
		if err != nil {
			return nil, err
		}
		events = append(events, sse.Event{ID: l.Seq, Name: "list", Data: d})
	}
	return events, nil
}

func (p *Panel) draw(v listView) (drawnList, error) {
	d := drawnList{ID: v.ID, Name: v.Name, Seq: v.Seq, Revision: v.Revision, Oldest: v.Oldest, Settled: v.Settled, Say: spoken(v)}
	for part, to := range map[string]*string{"card": &d.Card, "railitem": &d.Rail, "nowitem": &d.Now} {
		var b strings.Builder
		if err := p.templates.ExecuteTemplate(&b, part, v); err != nil {
			return d, fmt.Errorf("draw %s: %w", part, err)
		}
		*to = strings.TrimSpace(b.String())
	}
	return d, nil
}

// spoken returns what screen readers say when a list changes.
func spoken(v listView) string {
	text := fmt.Sprintf("%s: %d of %d done", v.Name, v.Progress.Done, v.Progress.Total)
	if v.Current != nil {
		text += ", now " + v.Current.Title
	}
	return text
}
