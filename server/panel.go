package server

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
)

//go:embed panel
var panelFiles embed.FS

// panelPolicy lets the page load its own script and style and nothing else
// (BAD-INPUT 36).
const panelPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// panel draws the pages. One place draws: the script puts in place what the
// server has drawn.
type panel struct {
	templates *template.Template
	assets    map[string]asset // by path
}

type asset struct {
	data      []byte
	mediaType string
	tag       string
}

func newPanel() (*panel, error) {
	p := &panel{assets: make(map[string]asset)}
	for name, mediaType := range map[string]string{"panel.js": "text/javascript; charset=utf-8", "panel.css": "text/css; charset=utf-8"} {
		data, err := panelFiles.ReadFile("panel/" + name)
		if err != nil {
			return nil, fmt.Errorf("read panel: %w", err)
		}
		sum := sha256.Sum256(data)
		p.assets["/"+name] = asset{data, mediaType, `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	var err error
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"ago":   func(t time.Time) string { return render.Ago(time.Since(t)) },
		"since": func(t time.Time) string { return render.Took(time.Since(t)) },
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"has":   func(t time.Time) bool { return !t.IsZero() },
	}).ParseFS(panelFiles, "panel/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read panel: %w", err)
	}
	return p, nil
}

func (h *HTTP) routePanel() error {
	var err error
	if h.panel, err = newPanel(); err != nil {
		return err
	}
	h.mux.HandleFunc("GET /{$}", h.panelBoard)
	h.mux.HandleFunc("GET /lists/{id}", h.panelList)
	h.mux.HandleFunc("GET /lists/{id}/at/{revision}", h.panelRevision)
	h.mux.HandleFunc("POST /lists/{id}/restore/{revision}", h.panelRestore)
	h.mux.HandleFunc("GET /lists/{id}/edit", h.panelEditor)
	h.mux.HandleFunc("POST /lists/{id}/edit", h.panelEdit)
	h.mux.HandleFunc("GET /panel/events", h.panelEvents)
	for path := range h.panel.assets {
		h.mux.HandleFunc("GET "+path, h.panelAsset)
	}
	return nil
}

func (h *HTTP) panelAsset(w http.ResponseWriter, r *http.Request) {
	a := h.panel.assets[r.URL.Path]
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(a.data)
}

// page writes a drawn page, or says what went wrong.
func (h *HTTP) page(w http.ResponseWriter, name string, data any) {
	var b bytes.Buffer
	if err := h.panel.templates.ExecuteTemplate(&b, name, data); err != nil {
		h.server.Log.Error("draw panel", "error", err)
		http.Error(w, "the page cannot be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", panelPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes())
}

func (h *HTTP) panelBoard(w http.ResponseWriter, r *http.Request) {
	v, err := h.board(r.Context())
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusServiceUnavailable)
		return
	}
	v.Address = "http://" + r.Host + "/mcp"
	h.page(w, "board", v)
}

// listPage is a list's own page.
type listPage struct {
	listView
	Shown  listView // what is drawn: the newest revision, or an old one
	Oldest int64
}

// panelList serves a list's page at its newest or, without script, an asked
// revision; with .md or .json behind the id, the list itself.
func (h *HTTP) panelList(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	for suffix, give := range map[string]func(http.ResponseWriter, todo.Snapshot){".md": giveMarkdown, ".json": giveJSON} {
		if bare, ok := strings.CutSuffix(id, suffix); ok {
			if l, err := h.server.lists().Load(r.Context(), bare, 0); err != nil {
				apiError(w, err)
			} else {
				give(w, l)
			}
			return
		}
	}
	v, err := h.listView(r.Context(), id)
	if err != nil {
		h.noList(w, err)
		return
	}
	page := listPage{listView: v, Shown: v, Oldest: 1}
	if asked, err := intParam(r, "revision", 0); err == nil && asked > 0 && asked < v.Revision {
		if page.Shown, err = h.revision(r.Context(), id, asked); err != nil {
			h.noList(w, err)
			return
		}
	}
	h.page(w, "list", page)
}

func giveMarkdown(w http.ResponseWriter, l todo.Snapshot) {
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	_, _ = w.Write([]byte(render.Markdown(l)))
}

func giveJSON(w http.ResponseWriter, l todo.Snapshot) {
	w.Header().Set("Content-Disposition", `attachment; filename="`+l.List.ID+`.json"`)
	writeJSON(w, http.StatusOK, render.Document(l))
}

func (h *HTTP) noList(w http.ResponseWriter, err error) {
	if errors.Is(err, todo.ErrNotFound) {
		http.Error(w, "no such list", http.StatusNotFound)
		return
	}
	http.Error(w, "the store cannot be read", http.StatusServiceUnavailable)
}

// listView draws the newest revision of a list.
func (h *HTTP) listView(ctx context.Context, id string) (listView, error) {
	store := h.server.lists()
	l, err := store.Load(ctx, id, 0)
	if err != nil {
		return listView{}, err
	}
	subs, err := store.Find(ctx, todo.Query{Parent: id})
	return viewOf(l, subs, h.server.Now()), err
}

// revision draws an old revision of a list.
func (h *HTTP) revision(ctx context.Context, id string, n int64) (listView, error) {
	store := h.server.lists()
	l, err := store.Load(ctx, id, n)
	if err != nil {
		return listView{}, err
	}
	before, err := store.Load(ctx, id, n-1)
	if n == 1 || errors.Is(err, todo.ErrNotFound) {
		before, err = todo.Snapshot{}, nil
	}
	return at(before, l, h.server.Now()), err
}

// panelRestore brings an old revision back as a new one. The guard has seen to
// it that no foreign page asks.
func (h *HTTP) panelRestore(w http.ResponseWriter, r *http.Request) {
	n, ok := revisionOf(w, r)
	if !ok {
		return
	}
	if _, err := h.server.lists().Load(r.Context(), r.PathValue("id"), n); err != nil {
		apiError(w, err)
		return
	}
	out, err := h.server.lists().Restore(r.Context(), r.PathValue("id"), n, todo.Writer{Client: "panel", Variant: "restore", Person: true})
	if err != nil {
		apiError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, render.Document(out.After))
}

// revisionOf reads the revision in the path; it answers 404 for none.
func revisionOf(w http.ResponseWriter, r *http.Request) (int64, bool) {
	n, err := strconv.ParseInt(r.PathValue("revision"), 10, 64)
	if err != nil || n < 1 {
		http.Error(w, "no such revision", http.StatusNotFound)
		return 0, false
	}
	return n, true
}

// panelRevision gives the drawn items of an old revision, for the timeline.
func (h *HTTP) panelRevision(w http.ResponseWriter, r *http.Request) {
	n, ok := revisionOf(w, r)
	if !ok {
		return
	}
	v, err := h.revision(r.Context(), r.PathValue("id"), n)
	if err != nil {
		h.noList(w, err)
		return
	}
	h.page(w, "revision", v)
}

// drawn is the data of a panel event: the parts of the page that show a list.
type drawn struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Seq      int64  `json:"seq"`
	Revision int64  `json:"revision"`
	Settled  bool   `json:"settled"`
	Card     string `json:"card"`
	Rail     string `json:"rail"`
	Now      string `json:"now,omitempty"` // empty when nothing is in progress
	Say      string `json:"say"`           // for screen readers
}

// panelEvents streams each changed list as drawn. ?list= restricts to one, whose
// card is then drawn large.
func (h *HTTP) panelEvents(w http.ResponseWriter, r *http.Request) {
	h.follow(w, r, fmt.Appendf(nil, "event: hello\ndata: %s\n\n", h.server.Board.Process()), h.sendDrawn)
}

// sendDrawn draws each changed main list once, also when it was a sub-agent's
// that changed.
func (h *HTTP) sendDrawn(stream *eventStream, changed []todo.Snapshot, want func(todo.Snapshot) bool) bool {
	seen := make(map[string]bool)
	for _, l := range changed {
		id := l.List.ID
		if l.List.Parent != "" {
			id = l.List.Parent
		}
		if !want(l) || seen[id] {
			continue
		}
		seen[id] = true
		v, err := h.listView(stream.ctx, id)
		if err != nil {
			continue // its main list is not there (yet)
		}
		if d, err := h.draw(v); err != nil || !stream.event("list", l.Seq, d) {
			return false
		}
	}
	return true
}

func (h *HTTP) draw(v listView) (drawn, error) {
	d := drawn{ID: v.ID, Name: v.Name, Seq: v.Seq, Revision: v.Revision, Settled: v.Settled, Say: spoken(v)}
	for part, to := range map[string]*string{"card": &d.Card, "railitem": &d.Rail, "nowitem": &d.Now} {
		var b strings.Builder
		if err := h.panel.templates.ExecuteTemplate(&b, part, v); err != nil {
			return d, err
		}
		*to = strings.TrimSpace(b.String())
	}
	return d, nil
}

// spoken is a change in a sentence.
func spoken(v listView) string {
	text := fmt.Sprintf("%s: %d of %d done", v.Name, v.Progress.Done, v.Progress.Total)
	if v.Current != nil {
		text += ", now " + v.Current.Title
	}
	return text
}
