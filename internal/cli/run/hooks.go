package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"todo-mcp/internal/hook"
	"todo-mcp/internal/todo"
)

// hook takes in an event of a hook that calls the server on its host's machine.
func (a *service) hook(ctx context.Context, lists todo.Lists, event json.RawMessage) ([]byte, error) {
	e, err := hook.ReadCall(event)
	if err != nil {
		return nil, err
	}
	e.Language = a.Language
	spool, err := a.spool(lists)
	if err != nil {
		return nil, err
	}
	told, err := spool.Answer(ctx, e.WithFiles())
	if err != nil && !errors.Is(err, hook.ErrNotNeeded) {
		return nil, err
	}
	if told == "" {
		return []byte("{}"), nil
	}
	var out bytes.Buffer
	err = json.NewEncoder(&out).Encode(e.Answer(told))
	return bytes.TrimSpace(out.Bytes()), err
}

// spool returns what hooks of this store were told and nobody has written yet.
func (a *service) spool(lists todo.Lists) (s hook.Spool, err error) {
	place, err := a.Place()
	if err != nil {
		return s, err
	}
	return hook.Spool{
		Folder: place.Spool(a.Getenv),
		Open:   func() (todo.Lists, func(), error) { return lists, func() {}, nil },
		Log:    func(err error) { a.Logger().Warn("what a hook was told", "error", err) },
	}, nil
}

// writeForHooks writes what hooks were told and could not write themselves: as the server
// starts, and with watches until it ends. A user may watch few folders at a time, and a
// server on stdio starts with each chat.
func (a *service) writeForHooks(board *todo.Board, watches bool) error {
	spool, err := a.spool(board.As(""))
	if err != nil || spool.Folder == "" {
		return err
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
