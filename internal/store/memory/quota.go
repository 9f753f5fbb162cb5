package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

func (s *Store) forgetRevision(r todo.Snapshot) {
	s.size -= int64(record.Footprint(r))
	delete(s.operations, r.Operation.ID)
}

// makeRoom returns an error when a list may not begin, see [todo.Keep]. Where
// only room is missing it first removes abandoned lists of the same principal.
// The caller must hold s.mu.
func (s *Store) makeRoom(l todo.List) error {
	now := time.Now()
	if l.Conversation != "" {
		if err := s.keep.CheckBegun(s.countBegun(l, now.Add(-24*time.Hour))); err != nil {
			return err
		}
	}
	err := s.checkRoom(l.Principal)
	if !errors.Is(err, todo.ErrTooManyLists) && !errors.Is(err, todo.ErrStoreFull) || s.keep.Abandoned <= 0 {
		return err
	}
	for _, id := range s.abandoned(l.Principal, now.Add(-s.keep.Abandoned)) {
		s.forget(id)
	}
	return s.checkRoom(l.Principal)
}

func (s *Store) checkRoom(principal string) error {
	n := 0
	for _, revisions := range s.lists {
		if newest := revisions[len(revisions)-1]; newest.List.Principal == principal && !newest.Deleted {
			n++
		}
	}
	if err := s.keep.CheckLists(n); err != nil {
		return err
	}
	return s.keep.CheckBytes(s.size, true)
}

// countBegun counts the lists that the conversation of a list began since then.
func (s *Store) countBegun(l todo.List, since time.Time) (n int) {
	for id, revisions := range s.lists {
		if o := revisions[0].List; o.Principal == l.Principal && o.Conversation == l.Conversation && s.begun[id].After(since) {
			n++
		}
	}
	return n
}

// abandoned returns the ids of lists of a principal that are abandoned (see
// [todo.Keep.Abandoned]), the oldest first.
func (s *Store) abandoned(principal string, before time.Time) (ids []string) {
	for id, revisions := range s.lists {
		r := revisions[0]
		if len(revisions) == 1 && r.Revision == 1 && r.List.Principal == principal && r.List.Conversation != "" && r.Updated.Before(before) && !s.wasShown(r.List) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return s.lists[a][0].Updated.Compare(s.lists[b][0].Updated) })
	return ids[:min(len(ids), todo.MaxAbandoned)]
}

// wasShown reports whether a list was shown to anybody but the conversation that
// began it.
func (s *Store) wasShown(l todo.List) bool {
	for _, bindings := range s.bindings {
		for _, b := range bindings {
			if b.List == l.ID && b.Conversation != l.Conversation {
				return true
			}
		}
	}
	return false
}

// forgetTrash removes the lists that were deleted too long ago to bring them back.
func (s *Store) forgetTrash() {
	before := time.Now().Add(-todo.TrashAge)
	for id, revisions := range s.lists {
		if newest := revisions[len(revisions)-1]; newest.Deleted && newest.Updated.Before(before) {
			s.forget(id)
		}
	}
}

// forget removes a list with all that belongs to it.
func (s *Store) forget(id string) {
	for _, r := range s.lists[id] {
		s.forgetRevision(r)
	}
	delete(s.lists, id)
	delete(s.begun, id)
	for key, bindings := range s.bindings {
		bindings = slices.DeleteFunc(bindings, func(b todo.Binding) bool { return b.List == id })
		if s.bindings[key] = bindings; len(bindings) == 0 {
			delete(s.bindings, key)
		}
	}
}

// Purge implements todo.Store.
func (s *Store) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) (purged []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("purge lists: %w", err)
	}
	for _, id := range lists {
		if newest := s.newest(id); newest.Revision > 0 {
			s.purge(newest, by, now)
			purged = append(purged, id)
		}
	}
	s.hintAll()
	return purged, nil
}

// purge replaces all revisions of a list by one without content, which tells
// watchers that it was deleted.
func (s *Store) purge(newest todo.Snapshot, by todo.Writer, now time.Time) {
	id, begun := newest.List.ID, s.begun[newest.List.ID]
	s.forget(id)
	s.seq++
	last := todo.Snapshot{List: todo.List{ID: id, Principal: newest.List.Principal, Created: begun.UTC()}, Revision: newest.Revision + 1, Items: []todo.Item{},
		Updated: now.UTC(), Deleted: true, Writer: by, Seq: s.seq}
	s.lists[id], s.begun[id], s.size = []todo.Snapshot{last}, begun, s.size+int64(record.Footprint(last))
}
