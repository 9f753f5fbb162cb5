// Package web assembles the HTTP server: MCP, the API for front ends, hook events and the panel.
package web

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/api"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/mcphttp"
	"github.com/todo-mcp/todo-mcp/server/panel"
)

// New returns an edge with all routes; s answers MCP clients.
func New(s *server.Server, c edge.Config) *edge.Edge {
	e := edge.New(c)
	mcphttp.Route(e, s)
	api.Route(e)
	e.Handle("POST /hook", edge.JSON, takeEvents(s.Texts.Language))
	panel.New(c.Board.Process(), c.Now).Route(e)
	return e
}

// takeEvents returns the handler of hook events, which a host posts itself or through `todo-mcp hook --server`. The
// handler applies an event to its sender's lists. It answers in the host's form of JSON, in the given language, and
// with {} if there is nothing to tell the agent. With ?finish it refuses to end a turn, once for the same open items.
func takeEvents(language string) edge.Handler {
	return func(w http.ResponseWriter, r *edge.Request) error {
		if r.ReadOnly {
			return board.ErrReadOnly
		}
		body, tooLarge := r.ReadJSON(w)
		if tooLarge != nil {
			return tooLarge
		}
		event, err := hook.Read(bytes.NewReader(body))
		if err != nil {
			return edge.BadRequest("%v", err)
		}
		event.Finish, event.Language = r.URL.Query().Has("finish"), language
		told, err := new(hook.Spool).Do(r.Context(), event, func() (board.Lists, func(), error) { return r.Lists, func() {}, nil })
		switch {
		case errors.Is(err, hook.ErrNotUnderstood):
			return edge.BadRequest("%v", err)
		case err != nil && !errors.Is(err, hook.ErrNotNeeded):
			return cmp.Or(errors.Unwrap(err), err) // without the sender's names for event and tool
		case told == "":
			return edge.WriteJSON(w, http.StatusOK, struct{}{})
		}
		return edge.WriteJSON(w, http.StatusOK, event.Answer(told))
	}
}
