package memory

import (
	"context"
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

// room returns what there is beside a list that begins. Abandoned lists go with the
// transaction. The caller must hold t.mu.
func (t *tx) room(l todo.List) todo.Room {
	return todo.Room{
		Begun: func(since time.Time) (int, error) {
			return t.count(func(s todo.Snapshot) bool {
				begun, stored := t.begun[s.List.ID]
				return s.List.Principal == l.Principal && s.List.Conversation == l.Conversation && (!stored || begun.After(since))
			}), nil
		},
		Lists: func() (int, error) {
			return t.count(func(s todo.Snapshot) bool { return s.List.Principal == l.Principal && !s.Deleted }), nil
		},
		Size: t.sized,
		Evict: func(before time.Time) error {
			for _, id := range t.abandoned(l.Principal, before) {
				t.gone[id] = true
			}
			return nil
		},
	}
}

// count counts the lists whose newest snapshots, as they are when the transaction is
// stored, fit.
func (t *tx) count(fits func(todo.Snapshot) bool) (n int) {
	for id, revisions := range t.Store.lists {
		if len(t.lists[id]) == 0 && !t.gone[id] && fits(revisions[len(revisions)-1]) {
			n++
		}
	}
	for _, revisions := range t.lists {
		if fits(revisions[len(revisions)-1]) {
			n++
		}
	}
	return n
}

// sized returns the size of all revisions when the transaction is stored, about.
func (t *tx) sized() (int64, error) {
	size := t.size
	for _, s := range t.saved {
		size += int64(record.Footprint(s))
	}
	for id := range t.gone {
		for _, r := range t.Store.lists[id] {
			size -= int64(record.Footprint(r))
		}
	}
	return size, nil
}

// abandoned returns the ids of lists of a principal that are abandoned (see
// [todo.Keep.Abandoned]), the oldest first.
func (t *tx) abandoned(principal string, before time.Time) (ids []string) {
	for id, revisions := range t.Store.lists {
		r := revisions[0]
		if len(revisions) == 1 && r.Revision == 1 && len(t.lists[id]) == 0 && !t.gone[id] && r.List.Principal == principal && r.List.Conversation != "" && r.Updated.Before(before) && !t.wasShown(r.List) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return t.Store.lists[a][0].Updated.Compare(t.Store.lists[b][0].Updated)
	})
	return ids[:min(len(ids), todo.MaxAbandoned)]
}

// wasShown reports whether a list was shown to anybody but the conversation that
// began it.
func (s *Store) wasShown(l todo.List) bool {
	for of, cursors := range s.cursors {
		if of.Conversation != l.Conversation && slices.ContainsFunc(cursors, func(c todo.Cursor) bool { return c.List == l.ID }) {
			return true
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
	for of, cursors := range s.cursors {
		cursors = slices.DeleteFunc(cursors, func(c todo.Cursor) bool { return c.List == id })
		if s.cursors[of] = cursors; len(cursors) == 0 {
			delete(s.cursors, of)
		}
	}
}

// Purge implements todo.Store.
func (s *Store) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) (purged []string, err error) {
	if err := s.take(ctx); err != nil {
		return nil, fmt.Errorf("purge lists: %w", err)
	}
	defer func() { <-s.turn }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range lists {
		if revisions := s.lists[id]; len(revisions) > 0 {
			s.purge(revisions[len(revisions)-1], by, now)
			purged = append(purged, id)
		}
	}
	s.watchers.Send()
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
