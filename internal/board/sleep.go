package board

import (
	"context"
	"time"
)

// Sleep waits for a time, or until ctx ends, and reports whether ctx has not ended.
func Sleep(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Signal sends on a channel with a buffer of one, unless the buffer is full.
func Signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}
