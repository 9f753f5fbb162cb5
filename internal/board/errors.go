package board

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var (
	// ErrNotFound: there is no such list or revision, or it belongs to another principal.
	ErrNotFound = errors.New("no such list")
	// ErrUnknownOutcome: the write may have been applied. It is safe to repeat with the same operation id.
	ErrUnknownOutcome = errors.New("outcome unknown, safe to repeat")
	// ErrOperationReused: the operation id was used for another write.
	ErrOperationReused = errors.New("operation id already used for a different write")
	// ErrEarlier: the store is of an earlier version. A server moves it to this one as it starts.
	ErrEarlier = errors.New("the store is of an earlier todo-mcp: restart your client, which moves it to this version")
	// ErrTooNew: the store is of a newer version, perhaps since it was opened.
	ErrTooNew = errors.New("a newer todo-mcp has moved the store to its version: restart your client, with that todo-mcp")
	// ErrCorrupt: the store's content cannot be read.
	ErrCorrupt = errors.New("store is damaged")
	// ErrDamaged: one row is damaged; it wraps ErrCorrupt. A read of several rows returns the others.
	ErrDamaged = fmt.Errorf("%w", ErrCorrupt)
	// ErrTooManyLists: the principal has, or the conversation began, as many lists as [Keep] allows.
	ErrTooManyLists = errors.New("too many lists")
	// ErrStoreFull: the store has the size that [Keep] allows.
	ErrStoreFull = errors.New("the store is full")
	// ErrReadOnly: the identity may see the lists and not change them.
	ErrReadOnly = errors.New("these lists may only be read")
	// ErrUnavailable: the database of the store cannot be reached, or is starting.
	ErrUnavailable = errors.New("the database does not answer")
	// ErrClosed: the store or board is closed.
	ErrClosed = errors.New("closed")
)

// FullError refuses a save for which there is no room. It wraps [ErrTooManyLists] or [ErrStoreFull].
type FullError struct {
	Err error
	// Detail says which setting bounds what, and what to do.
	Detail string
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

// KindOf returns the kind of an error. Of an error that wraps several it returns the kind that says
// most of what became of a write.
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
	var input *todo.InputError
	var taken *todo.TakenError
	if errors.As(err, &input) || errors.As(err, &taken) || errors.Is(err, todo.ErrCycle) {
		return KindInvalid
	}
	return KindFailed
}

// IsRefusal reports whether a write was refused, by the rules for lists or for want of room: then
// nothing was stored, by it or an earlier try.
func IsRefusal(err error) bool {
	refusals := []Kind{KindInvalid, KindMissing, KindItemGone, KindReused, KindMirrored, KindReadOnly, KindFull}
	return slices.Contains(refusals, KindOf(err))
}
