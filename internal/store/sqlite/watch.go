package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"todo-mcp/internal/todo"
)

// hints are the watchers of this process, told at once after a commit.
type hints struct {
	mu       sync.Mutex
	watchers map[chan struct{}]struct{}
}

func (h *hints) add() chan struct{} {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = make(map[chan struct{}]struct{})
	}
	h.watchers[c] = struct{}{}
	return c
}

func (h *hints) remove(c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, c)
}

func (h *hints) all() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Watch implements todo.Store. Saves of this process are hinted at once, those
// of others when SQLite's data version moves.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	own := s.hints.add()
	defer s.hints.remove(own)
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	var seen dataVersion
	defer seen.close()
	for {
		moved, err := seen.moved(ctx, s.path)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !busy(err):
			return fmt.Errorf("watch store: %w", err)
		case moved:
			hint()
		}
		if err := s.awaitHint(ctx, own, tick.C, hint); err != nil {
			return err
		}
	}
}

// awaitHint passes on this process's own hints until it is time to look for
// others'. An ended ctx is no error.
func (s *Store) awaitHint(ctx context.Context, own <-chan struct{}, tick <-chan time.Time, hint func()) error {
	for {
		select {
		case <-own:
			hint()
		case <-tick:
			return nil
		case <-ctx.Done():
			return nil
		case <-s.quit:
			return fmt.Errorf("watch store: %w", todo.ErrClosed)
		}
	}
}

// dataVersion is SQLite's count of others' changes, as seen by a connection of
// its own: it may be held for hours.
type dataVersion struct {
	file *file
	last int64
}

// moved reports whether anyone committed since the last call. A file that has
// appeared, or is another than before, counts as a change.
func (v *dataVersion) moved(ctx context.Context, path string) (bool, error) {
	was := v.file
	var err error
	if v.file, err = v.file.renew(ctx, path, 1); v.file == nil || err != nil {
		return false, err
	}
	var now int64
	if err := v.file.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
		return false, describe(path, err)
	}
	moved := v.file != was || now != v.last
	v.last = now
	return moved, nil
}

func (v *dataVersion) close() { _ = v.file.release() }
