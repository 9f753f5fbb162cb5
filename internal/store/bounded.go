package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/board"
)

// Bounded returns a store in which an update whose context has no end of its own ends within
// a time: another program may have the store locked for ever.
func Bounded(st board.Store, within time.Duration) board.Store { return &bounded{st, within} }

type bounded struct {
	board.Store
	within time.Duration
}

func (b *bounded) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	if _, ends := ctx.Deadline(); ends {
		return b.Store.Update(ctx, key, change)
	}
	within, cancel := context.WithTimeout(ctx, b.within)
	defer cancel()
	err := b.Store.Update(within, key, change)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, board.ErrUnknownOutcome) {
		return fmt.Errorf("nothing was saved within %v, another program has the store locked; end it, or try again: %w", b.within, err)
	}
	return err
}
