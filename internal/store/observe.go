package store

import (
	"context"
	"errors"
	"time"

	"todo-mcp/internal/todo"
)

// Observer is told of the calls of a store's methods, those of [todo.Store]. What
// only some stores can do, which [As] finds, is not told: subscriptions of sessions
// and the key of session ids. It is safe for concurrent use.
type Observer interface {
	// Begin is called before an operation, which is named as the method in snake case. The operation runs
	// with the context that it returns, and calls end with its error.
	Begin(ctx context.Context, operation string) (_ context.Context, end func(error))
}

// Outcome says in one word how an operation ended. The words are applied (it did
// what it was asked), missing ([todo.ErrNotFound]), conflict
// ([todo.ConflictError]), outdated (the same for a save on an old [todo.Basis]), full (a quota is reached: [todo.ErrTooManyLists],
// [todo.ErrStoreFull]), refused ([todo.ErrOperationReused]: its caller's mistake),
// unknown ([todo.ErrUnknownOutcome]), cancelled (its caller had gone) and failed
// (the store could not do it; nothing changed).
func Outcome(err error) string {
	var conflict *todo.ConflictError
	switch {
	case err == nil:
		return "applied"
	case errors.Is(err, todo.ErrUnknownOutcome):
		return "unknown"
	case errors.As(err, &conflict) && conflict.Outdated:
		return "outdated"
	case errors.As(err, &conflict):
		return "conflict"
	case errors.Is(err, todo.ErrNotFound):
		return "missing"
	case errors.Is(err, todo.ErrTooManyLists), errors.Is(err, todo.ErrStoreFull):
		return "full"
	case errors.Is(err, todo.ErrOperationReused):
		return "refused"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}

// Observed returns a store that tells observers of its calls, the first of them
// around the others. Watch and Close, which last as long as the store is used,
// and what answers from memory, are not told.
func Observed(st todo.Store, observers ...Observer) todo.Store {
	for i := len(observers) - 1; i >= 0; i-- {
		st = &observed{st, observers[i]}
	}
	return st
}

type observed struct {
	todo.Store
	observer Observer
}

// Unwrap returns the store that is observed.
func (o *observed) Unwrap() todo.Store { return o.Store }

// As returns the first that is a T of a store and of those that it wraps, each by
// its method Unwrap() todo.Store; ok is false if none is. T is what only some
// stores can do, such as [SessionKeeper].
func As[T any](st todo.Store) (as T, ok bool) {
	for st != nil {
		if as, ok = st.(T); ok {
			return as, true
		}
		wrapper, wraps := st.(interface{ Unwrap() todo.Store })
		if !wraps {
			break
		}
		st = wrapper.Unwrap()
	}
	return as, false
}

// observe runs an operation between its observer's Begin and end.
func observe[T any](ctx context.Context, o *observed, operation string, run func(context.Context) (T, error)) (T, error) {
	ctx, end := o.observer.Begin(ctx, operation)
	result, err := run(ctx)
	end(err)
	return result, err
}

// none is the result of an operation that returns an error alone.
type none = struct{}

func (o *observed) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	return observe(ctx, o, "save", func(ctx context.Context) (todo.Snapshot, error) { return o.Store.Save(ctx, next, bindings...) })
}

func (o *observed) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	return observe(ctx, o, "load", func(ctx context.Context) (todo.Snapshot, error) { return o.Store.Load(ctx, list, revision) })
}

func (o *observed) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	return observe(ctx, o, "find", func(ctx context.Context) ([]todo.Snapshot, error) { return o.Store.Find(ctx, q) })
}

func (o *observed) Position(ctx context.Context) (int64, error) {
	return observe(ctx, o, "position", o.Store.Position)
}

func (o *observed) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return observe(ctx, o, "history", func(ctx context.Context) ([]todo.Snapshot, error) { return o.Store.History(ctx, list, after, limit) })
}

func (o *observed) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return observe(ctx, o, "last_by", func(ctx context.Context) (todo.Snapshot, error) { return o.Store.LastBy(ctx, list, person, upTo) })
}

func (o *observed) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) ([]string, error) {
	return observe(ctx, o, "purge", func(ctx context.Context) ([]string, error) { return o.Store.Purge(ctx, by, now, lists...) })
}

func (o *observed) Bind(ctx context.Context, bindings ...todo.Binding) error {
	_, err := observe(ctx, o, "bind", func(ctx context.Context) (none, error) { return none{}, o.Store.Bind(ctx, bindings...) })
	return err
}

func (o *observed) Bindings(ctx context.Context, principal, conversation string) ([]todo.Binding, error) {
	return observe(ctx, o, "bindings", func(ctx context.Context) ([]todo.Binding, error) {
		return o.Store.Bindings(ctx, principal, conversation)
	})
}

func (o *observed) Holders(ctx context.Context, principal, list string) ([]todo.Binding, error) {
	return observe(ctx, o, "holders", func(ctx context.Context) ([]todo.Binding, error) { return o.Store.Holders(ctx, principal, list) })
}

func (o *observed) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	_, err := observe(ctx, o, "note_host_call", func(ctx context.Context) (none, error) {
		return none{}, o.Store.NoteHostCall(ctx, principal, c, at)
	})
	return err
}

func (o *observed) HostCall(ctx context.Context, principal, id string) (todo.HostCall, error) {
	return observe(ctx, o, "host_call", func(ctx context.Context) (todo.HostCall, error) { return o.Store.HostCall(ctx, principal, id) })
}

func (o *observed) Announce(ctx context.Context, a todo.Announcement) error {
	_, err := observe(ctx, o, "announce", func(ctx context.Context) (none, error) { return none{}, o.Store.Announce(ctx, a) })
	return err
}

func (o *observed) Announced(ctx context.Context, after int64) ([]todo.Announcement, error) {
	return observe(ctx, o, "announced", func(ctx context.Context) ([]todo.Announcement, error) { return o.Store.Announced(ctx, after) })
}
