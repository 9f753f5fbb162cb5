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

// Bind implements todo.Store.
func (s *Store) Bind(ctx context.Context, bindings ...todo.Binding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return fmt.Errorf("save bindings: %w", err)
	}
	for _, b := range bindings {
		s.bind(b)
	}
	return nil
}

// key joins a principal and an id of something of theirs.
func key(principal, id string) string { return principal + "\x1f" + id }

// bind stores one binding. The caller must hold s.mu.
func (s *Store) bind(b todo.Binding) {
	k := key(b.Principal, b.Conversation)
	s.bindings[k], _ = todo.Bind(s.bindings[k], b, time.Now())
}

// Bindings implements todo.Store.
func (s *Store) Bindings(ctx context.Context, principal, conversation string) ([]todo.Binding, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	return slices.Clone(s.bindings[key(principal, conversation)]), nil
}

// held returns the list that a conversation holds, or empty. The caller must
// hold s.mu.
func (s *Store) held(principal, conversation string) string {
	all := s.bindings[key(principal, conversation)]
	if len(all) == 0 || all[0].Moved == 0 {
		return ""
	}
	return all[0].List
}

// newest returns the newest snapshot of a list; the zero Snapshot when there is
// none. The caller must hold s.mu.
func (s *Store) newest(list string) todo.Snapshot {
	stored := s.lists[list]
	if len(stored) == 0 {
		return todo.Snapshot{}
	}
	return s.read(stored[len(stored)-1])
}

// Holders implements todo.Store.
func (s *Store) Holders(ctx context.Context, principal, list string) (found []todo.Binding, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	for _, all := range s.bindings {
		if last := all[0]; last.Principal == principal && last.Moved > 0 && last.List != "" && (list == "" || last.List == list) {
			found = append(found, last)
		}
	}
	slices.SortFunc(found, func(a, b todo.Binding) int { return cmp.Compare(a.Conversation, b.Conversation) })
	return found, nil
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
