package board

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Errors of boards and stores.
var (
	ErrNotFound        = errors.New("no such list") // no such list or revision, or another principal's
	ErrOperationReused = errors.New("operation id already used for a different write")
	ErrCorrupt         = errors.New("store is damaged")
	ErrDamaged         = fmt.Errorf("%w", ErrCorrupt)    // one row is damaged: a read of several skips it
	ErrTooManyLists    = errors.New("too many lists")    // of a principal, or begun by a chat, see [Keep]
	ErrStoreFull       = errors.New("the store is full") // see [Keep]
	ErrReadOnly        = errors.New("these lists may only be read")
	ErrUnavailable     = errors.New("the database does not answer")
	ErrClosed          = errors.New("closed") // the store or the board is closed
	// ErrUnknownOutcome: the write may have been applied. It is safe to repeat with the same operation id.
	ErrUnknownOutcome = errors.New("outcome unknown, safe to repeat")
	// ErrEarlier: the store is of an earlier version. A server upgrades it when it starts.
	ErrEarlier = errors.New("an earlier todo-mcp wrote the store: restart your client, which upgrades it")
	// ErrTooNew: a newer version has upgraded the store, perhaps after it was opened.
	ErrTooNew = errors.New("a newer todo-mcp has upgraded the store: restart your client with that todo-mcp")
)

// FullError refuses a save for which there is no room. It wraps [ErrTooManyLists] or [ErrStoreFull].
type FullError struct {
	Err    error
	Detail string // the setting that is the limit, and what to do
}

func (e *FullError) Error() string { return e.Err.Error() + ": " + e.Detail }
func (e *FullError) Unwrap() error { return e.Err }

// Kind is what an error means to the caller.
type Kind string

// The kinds of errors.
const (
	KindNone      Kind = "none"      // there is no error
	KindUnknown   Kind = "unknown"   // [ErrUnknownOutcome]
	KindInvalid   Kind = "invalid"   // [todo.InputError], [todo.TakenError], [todo.ErrCycle]
	KindMissing   Kind = "missing"   // [ErrNotFound]
	KindItemGone  Kind = "item gone" // [todo.ErrItemGone]
	KindReused    Kind = "reused"    // [ErrOperationReused]
	KindMirrored  Kind = "mirrored"  // [todo.ErrMirrored]
	KindReadOnly  Kind = "read only" // [ErrReadOnly]
	KindFull      Kind = "full"      // [FullError]
	KindTooNew    Kind = "too new"   // [ErrTooNew]
	KindCancelled Kind = "cancelled" // [context.Canceled]
	KindLate      Kind = "late"      // [context.DeadlineExceeded]
	KindFailed    Kind = "failed"    // any other
)

// KindOf returns the kind of an error. If it wraps several, the one that says most about a write's outcome counts.
func KindOf(err error) Kind {
	if err == nil {
		return KindNone
	}
	for _, known := range []struct {
		err  error
		kind Kind
	}{
		{ErrUnknownOutcome, KindUnknown}, {ErrNotFound, KindMissing}, {todo.ErrItemGone, KindItemGone},
		{ErrOperationReused, KindReused}, {todo.ErrMirrored, KindMirrored}, {ErrReadOnly, KindReadOnly},
		{ErrTooManyLists, KindFull}, {ErrStoreFull, KindFull}, {ErrTooNew, KindTooNew},
		{context.Canceled, KindCancelled}, {context.DeadlineExceeded, KindLate},
	} {
		if errors.Is(err, known.err) {
			return known.kind
		}
	}
	_, isInput := errors.AsType[*todo.InputError](err)
	_, isTaken := errors.AsType[*todo.TakenError](err)
	if isInput || isTaken || errors.Is(err, todo.ErrCycle) {
		return KindInvalid
	}
	return KindFailed
}

// IsRefusal reports whether a write was refused, by rules or for want of room: then no attempt stored anything.
func IsRefusal(err error) bool {
	refusals := []Kind{KindInvalid, KindMissing, KindItemGone, KindReused, KindMirrored, KindReadOnly, KindFull}
	return slices.Contains(refusals, KindOf(err))
}
