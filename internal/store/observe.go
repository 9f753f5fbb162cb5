package store

import (
	"context"
	"errors"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// Observer is called as each update, load, find and history of a [board.Store] ends, with
// that word. What the function of an update asks of its transaction is part of
// the update. It is not called for what only some stores can do, see
// [Opened]. Several goroutines call it at once.
type Observer func(operation string, took time.Duration, err error)

// Outcome says in one word how an operation ended. The words are applied (it did
// what it was asked), missing ([board.ErrNotFound]), full (a quota is reached:
// [board.ErrTooManyLists], [board.ErrStoreFull]), refused (by the rules for lists, see
// [board.IsRefusal]: its caller's mistake), unknown ([board.ErrUnknownOutcome]),
// cancelled (its caller had gone) and failed (the store could not do it; nothing
// changed).
func Outcome(err error) string {
	switch kind := board.KindOf(err); kind {
	case board.KindNone:
		return "applied"
	case board.KindUnknown, board.KindMissing, board.KindFull, board.KindCancelled:
		return string(kind)
	}
	if board.IsRefusal(err) {
		return "refused"
	}
	return "failed"
}

// Observed returns a store that tells an observer of its calls: of what writes and of what
// reads lists. What reads a row or two beside them would fail with them.
func Observed(st board.Store, observer Observer) board.Store { return &observed{st, observer} }

type observed struct {
	board.Store
	observer Observer
}

// errPanicked is how an operation ended that did not return.
var errPanicked = errors.New("panic")

// observe runs an operation and tells how it ended.
func observe[T any](o *observed, operation string, run func() (T, error)) (result T, err error) {
	began := time.Now()
	err = errPanicked
	defer func() { o.observer(operation, time.Since(began), err) }()
	result, err = run()
	return result, err
}

func (o *observed) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	_, err := observe(o, "update", func() (any, error) { return nil, o.Store.Update(ctx, key, change) })
	return err
}

func (o *observed) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	return observe(o, "load", func() (todo.Snapshot, error) { return o.Store.Load(ctx, list, revision) })
}

func (o *observed) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	return observe(o, "find", func() ([]todo.Snapshot, error) { return o.Store.Find(ctx, q) })
}

func (o *observed) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return observe(o, "history", func() ([]todo.Snapshot, error) { return o.Store.History(ctx, list, after, limit) })
}
