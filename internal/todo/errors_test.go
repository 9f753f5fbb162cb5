package todo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"todo-mcp/internal/todo"
)

// Each error has one kind, however it is wrapped, and a write that may have been saved
// is no refusal.
func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		err     error
		kind    todo.Kind
		refusal bool
	}{
		{nil, todo.KindNone, false},
		{fmt.Errorf("%w (%w)", todo.ErrUnknownOutcome, todo.ErrNotFound), todo.KindUnknown, false},
		{&todo.InputError{}, todo.KindInvalid, true},
		{todo.ErrNotFound, todo.KindMissing, true},
		{todo.ErrItemGone, todo.KindItemGone, true},
		{todo.ErrOperationReused, todo.KindReused, true},
		{todo.ErrMirrored, todo.KindMirrored, true},
		{todo.ErrReadOnly, todo.KindReadOnly, true},
		{&todo.FullError{Err: todo.ErrTooManyLists}, todo.KindFull, true},
		{&todo.FullError{Err: todo.ErrStoreFull}, todo.KindFull, true},
		{context.Canceled, todo.KindCancelled, false},
		{context.DeadlineExceeded, todo.KindLate, false},
		{errors.Join(todo.ErrCorrupt, todo.ErrClosed), todo.KindFailed, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("write list: %w", err)
		}
		if kind := todo.KindOf(err); kind != c.kind || todo.IsRefusal(err) != c.refusal {
			t.Errorf("%v: %s, refusal %v", err, kind, todo.IsRefusal(err))
		}
	}
}
