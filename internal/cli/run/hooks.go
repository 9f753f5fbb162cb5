package run

import (
	"context"

	"todo-mcp/internal/hook"
	"todo-mcp/internal/todo"
)

// writeForHooks writes what hooks were told and could not write themselves: as the server
// starts, and with watches until it ends. A user may watch few folders at a time, and a
// server on stdio starts with each chat.
func (a *service) writeForHooks(board *todo.Board, watches bool) error {
	place, err := a.Place()
	if err != nil {
		return err
	}
	spool := hook.Spool{
		Folder: place.Spool(a.Getenv),
		Open:   func() (todo.Lists, func(), error) { return board.As(""), func() {}, nil },
		Log:    func(err error) { a.Logger().Warn("what a hook was told", "error", err) },
	}
	if spool.Folder == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if watches {
			spool.Watch(ctx)
		} else {
			spool.Empty(ctx)
		}
	}()
	a.ends = append(a.ends, func() { cancel(); <-done })
	return nil
}
