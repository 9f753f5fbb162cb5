package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Observer is told how long each update, load, find and history of a store took. Its labels are that word and the
// [Outcome]. An update includes what its transaction reads. Several goroutines call it at once.
type Observer func(took time.Duration, labels ...string)

// Outcome says in one word how an operation ended: applied (without an error), missing ([board.ErrNotFound]), full
// ([board.ErrTooManyLists], [board.ErrStoreFull]), refused (another mistake of the caller, see [board.IsRefusal]),
// unknown ([board.ErrUnknownOutcome]), cancelled (the caller had gone) or failed (by the store; nothing changed).
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

// errPanicked is the error of an operation that did not return.
var errPanicked = errors.New("panic")

// observe runs an operation and tells the observer of it.
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

// Update implements [board.Store]. It ends after [Opened.Within] if its context has no deadline.
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
