package postgres

import (
	"context"
	"fmt"
)

// SessionKey implements store.SessionKeeper: the key that signs the ids of sessions
// is kept with the lists, so that a session is valid on every server. fresh is the
// key that it becomes if there is none.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	err = s.call(ctx, "read session key", func() error {
		return one(ctx, s.pool, []any{&key}, `UPDATE todo_mcp.store SET session_key = coalesce(session_key, $1) RETURNING session_key`, fresh)
	})
	if err == nil && len(key) < len(fresh) {
		err = fmt.Errorf("read session key: it has %d bytes, not %d", len(key), len(fresh))
	}
	return key, err
}
