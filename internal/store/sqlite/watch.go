package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
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
	own := s.hints.add()
	defer s.hints.remove(own)
	tick := time.NewTicker(s.poll)
	defer tick.Stop()
	var seen dataVersion
	defer seen.close()
	for {
		select {
		case <-own:
			hint()
			continue
		case <-tick.C:
		case <-s.quit:
			return nil
		case <-ctx.Done():
			return nil
		}
		moved, err := seen.moved(ctx, s)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch store: %w", err)
		}
		if moved {
			hint()
		}
	}
}

// dataVersion is SQLite's count of others' changes, as one connection sees it.
type dataVersion struct {
	db   *sql.DB
	conn *sql.Conn
	last int64
}

// moved reports whether anyone committed since the last call. A file that has
// appeared, or is another than before, counts as a change.
func (v *dataVersion) moved(ctx context.Context, s *Store) (bool, error) {
	db, err := s.reader(ctx)
	if err != nil || db == nil {
		v.close()
		return false, err
	}
	fresh := db != v.db
	if fresh {
		v.close()
		if v.conn, err = db.Conn(ctx); err != nil {
			return false, err
		}
		v.db = db
	}
	var now int64
	if err := v.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
		return false, errors.Join(err, v.close())
	}
	moved := fresh || now != v.last
	v.last = now
	return moved, nil
}

func (v *dataVersion) close() error {
	if v.conn == nil {
		return nil
	}
	err := v.conn.Close()
	*v = dataVersion{}
	return err
}
