package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"todo-mcp/internal/todo"
)

// table is a table of the store as a transaction sees it: the rows that are stored, but
// for those that it has changed. A key without rows is not there.
type table[K comparable, V any] struct{ stored, changed map[K][]V }

func newTable[K comparable, V any]() table[K, V] { return table[K, V]{stored: map[K][]V{}} }

// begin returns the table for a transaction.
func (t table[K, V]) begin() table[K, V] { return table[K, V]{t.stored, map[K][]V{}} }

func (t table[K, V]) get(key K) []V {
	if rows, ok := t.changed[key]; ok {
		return rows
	}
	return t.stored[key]
}

func (t table[K, V]) all() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for key, rows := range t.changed {
			if len(rows) > 0 && !yield(key, rows) {
				return
			}
		}
		for key, rows := range t.stored {
			if _, ok := t.changed[key]; !ok && !yield(key, rows) {
				return
			}
		}
	}
}

// commit stores what the transaction has changed.
func (t table[K, V]) commit() {
	maps.Copy(t.stored, t.changed)
	for key, rows := range t.changed {
		if len(rows) == 0 {
			delete(t.stored, key)
		}
	}
}

// revision is a revision of a list, with the time at which the list began by the store's
// clock.
type revision struct {
	todo.Snapshot
	begun time.Time
}

// newest returns the last revision of a list; the zero revision if there is none.
func newest(revisions []revision) (last revision) {
	if n := len(revisions); n > 0 {
		last = revisions[n-1]
	}
	return last
}

// reader implements todo.Reader, for the store and for a transaction.
type reader struct {
	store      *Store
	lists      table[string, revision]      // by id, ascending
	cursors    table[todo.Key, todo.Cursor] // the one that became current last is the first
	operations table[string, todo.Snapshot] // by operation id, the one snapshot that it stored
}

// look runs a read of a store, and names it in its error.
func look[T any](ctx context.Context, s *Store, what string, read func() (T, error)) (found T, err error) {
	if err = s.checkUsable(ctx); err == nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		found, err = read()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return found, err
}

// snapshot returns a copy of a stored snapshot as a caller reads it.
func (r reader) snapshot(stored todo.Snapshot) todo.Snapshot { return r.withParent(stored.Clone()) }

// withParent returns a snapshot with the parent that its list has now.
func (r reader) withParent(s todo.Snapshot) todo.Snapshot {
	if l := &s.List; l.ParentConversation != "" {
		l.Parent = todo.Current(r.cursors.get(todo.Key{Principal: l.Principal, Conversation: l.ParentConversation}))
	}
	return s
}

// last returns the newest revision of a list that fits.
func (r reader) last(ctx context.Context, id string, fits func(revision) bool) (todo.Snapshot, error) {
	return look(ctx, r.store, "read snapshot", func() (todo.Snapshot, error) {
		for _, s := range slices.Backward(r.lists.get(id)) {
			if fits(s) {
				return r.snapshot(s.Snapshot), nil
			}
		}
		return todo.Snapshot{}, todo.ErrNotFound
	})
}

// Load implements todo.Reader.
func (r reader) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	return r.last(ctx, id, func(s revision) bool { return n == 0 || s.Revision == n })
}

// LastBy implements todo.Reader.
func (r reader) LastBy(ctx context.Context, id string, person bool, upTo int64) (todo.Snapshot, error) {
	return r.last(ctx, id, func(s revision) bool { return s.Writer.Person == person && s.Revision <= upTo })
}

// Find implements todo.Reader.
func (r reader) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	return look(ctx, r.store, "read snapshots", func() (found []todo.Snapshot, err error) {
		add := func(stored todo.Snapshot) {
			if s := r.snapshot(stored); matches(q, s) {
				found = append(found, s)
			}
		}
		if q.Operation != "" {
			for _, s := range r.operations.get(q.Operation) {
				add(s)
			}
			return found, nil
		}
		for _, l := range r.lists.all() {
			add(newest(l).Snapshot)
		}
		slices.SortFunc(found, func(a, b todo.Snapshot) int {
			if q.OldestFirst {
				a, b = b, a
			}
			return cmp.Compare(b.Seq, a.Seq)
		})
		return atMost(q.Limit, found), nil
	})
}

// atMost returns the first rows, or all where the limit is 0.
func atMost[V any](limit int, all []V) []V {
	if limit > 0 && len(all) > limit {
		return all[:limit]
	}
	return all
}

func matches(q todo.Query, s todo.Snapshot) bool {
	return (q.Principal == nil || *q.Principal == s.List.Principal) &&
		(q.Client == "" || q.Client == s.List.Client) &&
		(q.Workspace == nil || *q.Workspace == s.List.Workspace) &&
		(q.Parent == "" || q.Parent == s.List.Parent) &&
		(q.Deleted || q.Operation != "" || !s.Deleted) &&
		!s.Updated.Before(q.UpdatedSince) && s.Seq > q.AfterSeq && (q.BeforeSeq == 0 || s.Seq < q.BeforeSeq)
}

// History implements todo.Reader.
func (r reader) History(ctx context.Context, id string, after int64, limit int) ([]todo.Snapshot, error) {
	return look(ctx, r.store, "read snapshots", func() (out []todo.Snapshot, err error) {
		revisions := r.lists.get(id)
		from, _ := slices.BinarySearchFunc(revisions, after+1, func(s revision, n int64) int { return cmp.Compare(s.Revision, n) })
		for _, s := range atMost(limit, revisions[from:]) {
			out = append(out, r.snapshot(s.Snapshot))
		}
		return out, nil
	})
}

// Cursors implements todo.Reader.
func (r reader) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	return look(ctx, r.store, "read cursors", func() ([]todo.Cursor, error) { return slices.Clone(r.cursors.get(of)), nil })
}

// CursorsOn implements todo.Reader.
func (r reader) CursorsOn(ctx context.Context, principal, id string) ([]todo.Cursor, error) {
	return look(ctx, r.store, "read cursors", func() (found []todo.Cursor, err error) {
		for of, all := range r.cursors.all() {
			for _, c := range all {
				if of.Principal == principal && (c.List == id || id == "" && c.Current) {
					found = append(found, c)
				}
			}
		}
		slices.SortFunc(found, func(a, b todo.Cursor) int { return cmp.Compare(a.Conversation, b.Conversation) })
		return found, nil
	})
}
