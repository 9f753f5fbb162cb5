package sqlite

import (
	"context"
	"fmt"
)

// Watch implements todo.Store. It hints saves through this store at once, and all others
// when SQLite's data_version changes: when another connection has committed. For that it
// has a connection of its own, because a watch can last for hours and must not occupy
// one of the readers.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("watch store: %w", err)
	}
	defer s.work.Done()
	var open *file
	var last int64
	defer func() { _ = open.release() }()
	return s.watchers.Watch(ctx, s.quit, hint, func() (err error) {
		before, now := open, int64(0)
		if open, err = open.renew(ctx, s.path, 1); open != nil && err == nil {
			err = describe(s.path, open.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now))
		}
		switch {
		case busy(err):
			return nil
		case err == nil && open != nil && (open != before || now != last):
			last = now
			hint()
		}
		return err
	})
}
