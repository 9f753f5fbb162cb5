package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Observer is told how long each update, load, find and history of a store took, with that
// word and that for how it ended, an [Outcome].
// What the function of an update asks of its transaction is part of the update. It is not called
// for what only some stores can do, nor for what reads a row or two beside lists, which would fail
// with them. Several goroutines call it at once.
type Observer func(took time.Duration, labels ...string)

// Outcome says in one word how an operation ended. The words are applied (it did
// what it was asked), missing ([board.ErrNotFound]), full (a quota is reached:
// [board.ErrTooManyLists], [board.ErrStoreFull]), refused (by the rules for lists, see
// [board.IsRefusal]: its caller's mistake), unknown ([board.ErrUnknownOutcome]),
// cancelled (its caller had gone) and failed (the store could not do it; nothing
// changed).
func Outcome(err error) string {
	if err == nil {
		return "applied"
	}
	switch kind := board.KindOf(err); kind {
	case board.KindUnknown, board.KindMissing, board.KindFull, board.KindCancelled:
		return string(kind)
	}
	if board.IsRefusal(err) {
		return "refused"
	}
	return "failed"
}

// errPanicked is how an operation ended that did not return.
var errPanicked = errors.New("panic")

// observe runs an operation and tells the observer how it ended.
func observe[T any](o *Opened, operation string, run func() (T, error)) (result T, err error) {
	if o.Observer == nil {
		return run()
	}
	began := time.Now()
	err = errPanicked
	defer func() { o.Observer(time.Since(began), operation, Outcome(err)) }()
	result, err = run()
	return result, err
}

// Update implements [board.Store]. One whose context has no end of its own ends after
// [Opened.Within].
func (o *Opened) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	within := ctx
	if _, ends := ctx.Deadline(); !ends && o.Within > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, o.Within)
		defer cancel()
	}
	_, err := observe(o, "update", func() (any, error) { return nil, o.Store.Update(within, key, change) })
	if within != ctx && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, board.ErrUnknownOutcome) {
		return fmt.Errorf("nothing was saved within %v, another program has the store locked; end it, or try again: %w", o.Within, err)
	}
	return err
}

// Load implements [board.Store].
func (o *Opened) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	return observe(o, "load", func() (todo.Snapshot, error) { return o.Store.Load(ctx, list, revision) })
}

// Find implements [board.Store].
func (o *Opened) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	return observe(o, "find", func() ([]todo.Snapshot, error) { return o.Store.Find(ctx, q) })
}

// History implements [board.Store].
func (o *Opened) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return observe(o, "history", func() ([]todo.Snapshot, error) { return o.Store.History(ctx, list, after, limit) })
}
