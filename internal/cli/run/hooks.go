package run

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
)

// hook takes in an event of a hook that calls the server on its host's machine.
func (a *service) hook(ctx context.Context, lists board.Lists, event json.RawMessage) ([]byte, error) {
	e, err := hook.ReadCall(event)
	if err != nil {
		return nil, err
	}
	e.Language = a.Language
	told, err := hook.Do(ctx, e.WithFiles(a.Getenv).WithHost(), func() (board.Lists, func(), error) { return lists, func() {}, nil })
	if err != nil && !errors.Is(err, hook.ErrNotNeeded) {
		return nil, err
	}
	if told == "" {
		return []byte("{}"), nil
	}
	return json.Marshal(e.Answer(told))
}
