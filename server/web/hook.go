package web

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// takeEvents returns what takes the events of hooks, which a host posts by itself or
// `todo-mcp hook --server` passes on. It does what an event asks for in the lists of who sent
// it, and answers what the host reads: {} where its agent is told nothing, in the language.
// With ?finish the end of a turn is kept from coming too early.
func takeEvents(language string) edge.Handler {
	return func(w http.ResponseWriter, r *edge.Request) error {
		if r.ReadOnly { // whatever it says: it is for lists that its sender writes
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
		told, err := hook.Do(r.Context(), event, func() (board.Lists, func(), error) { return r.Lists, func() {}, nil })
		switch {
		case errors.Is(err, hook.ErrNotUnderstood):
			return edge.BadRequest("%v", err)
		case err != nil && !errors.Is(err, hook.ErrNotNeeded):
			return cmp.Or(errors.Unwrap(err), err) // without what the sender calls the event and the tool
		case told == "":
			return edge.WriteJSON(w, http.StatusOK, struct{}{})
		}
		return edge.WriteJSON(w, http.StatusOK, event.Answer(told))
	}
}
