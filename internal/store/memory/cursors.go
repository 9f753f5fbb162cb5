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
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	return slices.Clone(s.cursors[of]), nil
}

// CursorsOn implements todo.Store.
func (s *Store) CursorsOn(ctx context.Context, principal, list string) (found []todo.Cursor, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	for of, all := range s.cursors {
		if of.Principal != principal {
			continue
		}
		for _, c := range all {
			if c.List == list || list == "" && c.Current {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b todo.Cursor) int { return cmp.Compare(a.Conversation, b.Conversation) })
	return found, nil
}

// held returns the list that a conversation holds, or empty. The caller must
// hold s.mu.
func (s *Store) held(principal, conversation string) string {
	return current(s.cursors[todo.Key{Principal: principal, Conversation: conversation}])
}

// current returns the list that a conversation with these cursors holds, or empty.
func current(all []todo.Cursor) string {
	if len(all) == 0 || !all[0].Current {
		return ""
	}
	return all[0].List
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
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return todo.HostCall{}, fmt.Errorf("read host call: %w", err)
	}
	noted := s.hostCalls[key(principal, id)]
	if time.Since(noted.at) > todo.HostCallAge {
		return todo.HostCall{}, nil
	}
	return noted.HostCall, nil
}
