package sqlite

import (
	"context"
	"fmt"
	"time"

	"todo-mcp/internal/store/record"
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
	hints, remove := s.watchers.Add()
	defer remove()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var seen dataVersion
	defer seen.close()
	for {
		changed, err := seen.changed(ctx, s.path)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !busy(err):
			return fmt.Errorf("watch store: %w", err)
		case changed:
			hint()
		}
		if err := record.Relay(ctx, hints, tick.C, s.quit, hint); err != nil {
			return err
		}
	}
}

// dataVersion polls PRAGMA data_version, which changes when another connection
// commits. It has a connection of its own, because a watch can last for hours
// and must not occupy one of the readers.
type dataVersion struct {
	file *file
	last int64
}

// changed reports whether any other connection committed since the last call.
// It also reports true for a file that has appeared or been replaced since.
func (v *dataVersion) changed(ctx context.Context, path string) (bool, error) {
	before := v.file
	var err error
	if v.file, err = v.file.renew(ctx, path, 1); v.file == nil || err != nil {
		return false, err
	}
	var now int64
	if err := v.file.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
		return false, describe(path, err)
	}
	changed := v.file != before || now != v.last
	v.last = now
	return changed, nil
}

func (v *dataVersion) close() { _ = v.file.release() }
