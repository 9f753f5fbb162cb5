package todo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// maxSameConflicts is how often a write meets the same conflict before it
	// gives up. Where others write, each conflict is with a newer revision.
	maxSameConflicts = 10
	// maxConflictPause is the longest pause after a conflict.
	maxConflictPause = 64 * time.Millisecond
)

// conflicts are those that one write has met.
type conflicts struct {
	pause time.Duration // after the next one; 0 for the first
	last  Snapshot      // what the last one was with
	same  int           // how many in a row were with it
}

// wait returns nil when the write is to be tried again after a conflict, of which
// err is the whole error. It waits before, for a random time so that two writers
// do not meet again.
func (c *conflicts) wait(ctx context.Context, conflict *ConflictError, err error) error {
	if now := conflict.Current; c.same == 0 || now.List.ID != c.last.List.ID || now.Revision != c.last.Revision {
		c.last, c.same = now, 0
	}
	if c.same++; c.same == maxSameConflicts {
		return fmt.Errorf("gave up after %d tries: %w", c.same, err)
	}
	pause := c.pause/2 + rand.N(c.pause/2+1)
	c.pause = min(max(2*c.pause, 2*time.Millisecond), maxConflictPause)
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
}
