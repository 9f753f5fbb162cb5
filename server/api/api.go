// Package api is what front ends read over plain HTTP: lists and their history as
// JSON, changes as events, and the calls of write_todos as its own front ends
// know them (VARIANTS.md W2, W3).
//
// It only reads. A stream may skip revisions for a reader that is slow.
package api

import (
	"errors"
	"net/http"
	"strconv"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// maxListed bounds how many lists one answer carries.
const maxListed = 2000

// Route adds what programs read over plain HTTP to an edge. Everything is JSON,
// and only reads.
func Route(e *edge.Edge) {
	e.Handle("GET /api/lists", edge.JSON, lists)
	e.Handle("GET /api/lists/{id}", edge.JSON, list)
	e.Handle("GET /api/lists/{id}/history", edge.JSON, history)
	e.Handle("GET /api/workspace", edge.JSON, workspace)
	e.HandleUnbounded("GET /api/events", edge.JSON, func(w http.ResponseWriter, r *edge.Request) error { return events(w, r, e.Timeout()) })
	e.HandleUnbounded("GET /api/stream", edge.JSON, calls)
}

// lists gives lists as [render.ListDocument]s, last changed first; ?limit=.
func lists(w http.ResponseWriter, r *edge.Request) error {
	limit, err := number(r, "limit", maxListed)
	if err != nil {
		return err
	}
	found, err := r.Lists.Find(r.Context(), todo.Query{Limit: int(min(limit, maxListed))})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, documents(found))
}

// list gives one list, at its newest revision or at ?revision=.
func list(w http.ResponseWriter, r *edge.Request) error {
	revision, err := number(r, "revision", 0)
	if err != nil {
		return err
	}
	l, err := r.Lists.Load(r.Context(), r.PathValue("id"), revision)
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, render.Document(l))
}

// history gives a list's revisions, oldest first, after ?after= and at most
// ?limit=.
func history(w http.ResponseWriter, r *edge.Request) error {
	after, err1 := number(r, "after", 0)
	limit, err2 := number(r, "limit", maxListed)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, err := r.Lists.Load(r.Context(), id, 0); err != nil {
		return err
	}
	revisions, err := r.Lists.History(r.Context(), id, after, int(min(limit, maxListed)))
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, documents(revisions))
}

func documents(lists []todo.Snapshot) []render.ListDocument {
	out := make([]render.ListDocument, 0, len(lists))
	for _, l := range lists {
		out = append(out, render.Document(l))
	}
	return out
}

// number reads a query parameter that is a whole number, 0 or more; def when it
// is not there.
func number(r *edge.Request, name string, def int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	return parseNumber(name, text)
}

func parseNumber(name, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, edge.BadRequest("%s must be a whole number, 0 or more", name)
	}
	return n, nil
}
