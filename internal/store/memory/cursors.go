package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"todo-mcp/internal/todo"
)

// key joins a principal and an id of something of theirs.
func key(principal, id string) string { return principal + "\x1f" + id }

// Cursors implements todo.Store.
func (s *Store) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	return look(ctx, s, "read cursors", func() ([]todo.Cursor, error) { return slices.Clone(s.cursors[of]), nil })
}

// CursorsOn implements todo.Store.
func (s *Store) CursorsOn(ctx context.Context, principal, list string) ([]todo.Cursor, error) {
	return look(ctx, s, "read cursors", func() (found []todo.Cursor, err error) {
		for of, all := range s.cursors {
			for _, c := range all {
				if of.Principal == principal && (c.List == list || list == "" && c.Current) {
					found = append(found, c)
				}
			}
		}
		slices.SortFunc(found, func(a, b todo.Cursor) int { return cmp.Compare(a.Conversation, b.Conversation) })
		return found, nil
	})
}

// Attend implements todo.Store.
func (s *Store) Attend(process string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attending[process] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attending, process)
	}, nil
}

// Alive implements todo.Store. Whoever shares this memory is in the same
// process, and alive until it leaves.
func (s *Store) Alive(process string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.attending[process]
}

// notedCall is a host call with the time it was noted.
type notedCall struct {
	todo.HostCall
	at time.Time
}

// NoteHostCall implements todo.Store.
func (s *Store) NoteHostCall(ctx context.Context, principal string, c todo.HostCall, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return fmt.Errorf("save host call: %w", err)
	}
	maps.DeleteFunc(s.hostCalls, func(_ string, old notedCall) bool { return at.Sub(old.at) > todo.HostCallAge })
	s.hostCalls[key(principal, c.ID)] = notedCall{c, at}
	return nil
}

// HostCall implements todo.Store.
func (s *Store) HostCall(ctx context.Context, principal, id string) (todo.HostCall, error) {
	return look(ctx, s, "read host call", func() (found todo.HostCall, err error) {
		if noted := s.hostCalls[key(principal, id)]; time.Since(noted.at) <= todo.HostCallAge {
			found = noted.HostCall
		}
		return found, nil
	})
}
