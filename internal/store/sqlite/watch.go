package sqlite

import (
	"context"
	"fmt"
	"time"

	"todo-mcp/internal/todo"
)

// pollEvery is how often a watch looks for saves of other processes.
const pollEvery = 50 * time.Millisecond

// Watch implements todo.Store. It hints saves through this store at once, and
// all others when SQLite's data_version changes, which it polls.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	slot, remove := s.watchers.Add()
	defer remove()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var seen dataVersion
	defer func() { _ = seen.file.release() }()
	err := seen.poll(ctx, s.path, hint)
	for err == nil && ctx.Err() == nil {
		select {
		case <-slot:
			hint()
		case <-tick.C:
			err = seen.poll(ctx, s.path, hint)
		case <-s.quit:
			err = todo.ErrClosed
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch store: %w", err)
}

// dataVersion polls PRAGMA data_version, which changes when another connection
// commits. It has a connection of its own, because a watch can last for hours
// and must not occupy one of the readers.
type dataVersion struct {
	file *file
	last int64
}

// poll calls hint if any other connection committed since the last call, and for a file
// that has appeared or been replaced since.
func (v *dataVersion) poll(ctx context.Context, path string, hint func()) (err error) {
	before, now := v.file, int64(0)
	if v.file, err = v.file.renew(ctx, path, 1); v.file != nil && err == nil {
		err = describe(path, v.file.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now))
	}
	if err == nil && v.file != nil && (v.file != before || now != v.last) {
		v.last = now
		hint()
	}
	if busy(err) {
		return nil
	}
	return err
}
