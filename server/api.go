package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// maxListed bounds how many lists one answer of the API carries.
const maxListed = 2000

// routeAPI adds what programs read over plain HTTP. Everything is JSON and
// only reads.
func (h *HTTP) routeAPI() {
	h.mux.HandleFunc("GET /api/lists", h.apiLists)
	h.mux.HandleFunc("GET /api/lists/{id}", h.apiList)
	h.mux.HandleFunc("GET /api/lists/{id}/history", h.apiHistory)
	h.mux.HandleFunc("GET /api/events", h.apiEvents)
	h.mux.HandleFunc("GET /api/stream", h.apiStream)
	h.mux.HandleFunc("GET /api/workspace", h.apiWorkspace)
}

// apiLists gives lists as [render.ListDocument]s, last changed first; ?limit=.
func (h *HTTP) apiLists(w http.ResponseWriter, r *http.Request) {
	limit, err := intParam(r, "limit", maxListed)
	if err != nil {
		apiError(w, err)
		return
	}
	lists, err := h.server.lists().Find(r.Context(), todo.Query{Limit: int(min(limit, maxListed))})
	if err != nil {
		apiError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, documents(lists))
}

// apiList gives one list, at its newest revision or at ?revision=.
func (h *HTTP) apiList(w http.ResponseWriter, r *http.Request) {
	revision, err := intParam(r, "revision", 0)
	if err != nil {
		apiError(w, err)
		return
	}
	list, err := h.server.lists().Load(r.Context(), r.PathValue("id"), revision)
	if err != nil {
		apiError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, render.Document(list))
}

// apiHistory gives a list's revisions, oldest first, after ?after= and at most
// ?limit=.
func (h *HTTP) apiHistory(w http.ResponseWriter, r *http.Request) {
	after, err1 := intParam(r, "after", 0)
	limit, err2 := intParam(r, "limit", maxListed)
	if err := errors.Join(err1, err2); err != nil {
		apiError(w, err)
		return
	}
	store, id := h.server.lists(), r.PathValue("id")
	if _, err := store.Load(r.Context(), id, 0); err != nil {
		apiError(w, err)
		return
	}
	revisions, err := store.History(r.Context(), id, after, int(min(limit, maxListed)))
	if err != nil {
		apiError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, documents(revisions))
}

func documents(lists []todo.Snapshot) []render.ListDocument {
	out := make([]render.ListDocument, 0, len(lists))
	for _, l := range lists {
		out = append(out, render.Document(l))
	}
	return out
}

// badParam is a query parameter that is no number.
type badParam string

func (b badParam) Error() string {
	return fmt.Sprintf("%s must be a whole number, 0 or more", string(b))
}

func intParam(r *http.Request, name string, def int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badParam(name)
	}
	return n, nil
}

// apiError answers {"error": …} with the status that fits.
func apiError(w http.ResponseWriter, err error) {
	status, text := http.StatusInternalServerError, "the store cannot be read"
	var bad badParam
	switch {
	case errors.As(err, &bad):
		status, text = http.StatusBadRequest, bad.Error()
	case errors.Is(err, todo.ErrNotFound):
		status, text = http.StatusNotFound, "no such list"
	case errors.Is(err, context.Canceled):
		return
	}
	writeJSON(w, status, map[string]string{"error": text})
}
