package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// tx is a transaction. Only one is open at a time, so it reads without a lock.
type tx struct {
	reader
	seq, size int64
}

func newTx(s *Store) *tx {
	return &tx{reader{s, s.lists.begin(), s.cursors.begin(), s.operations.begin()}, s.seq, s.size}
}

// commit stores what the transaction changed, and hints watchers.
func (t *tx) commit() {
	s := t.store
	s.mu.Lock()
	t.lists.commit()
	t.cursors.commit()
	t.operations.commit()
	s.seq, s.size = t.seq, t.size
	s.mu.Unlock()
	if len(t.lists.changed)+len(t.cursors.changed) > 0 {
		s.watchers.Send()
	}
}

// Load implements todo.Tx. Nobody changes what a transaction has read, so that the newest
// revision need not be a copy.
func (t *tx) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	if s := newest(t.lists.get(id)); n == 0 && s.Revision > 0 {
		return t.withParent(s.Snapshot), ctx.Err()
	}
	return t.reader.Load(ctx, id, n)
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(ctx context.Context, c todo.Cursor) error {
	all, err := t.Cursors(ctx, c.Key)
	if err == nil {
		t.cursors.changed[c.Key], _ = todo.SetCursor(all, c, time.Now())
	}
	return err
}

// Save implements todo.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	stored := t.lists.get(next.List.ID)
	before, now := newest(stored), time.Now()
	if next.Revision != before.Revision+1 && (before.Revision > 0 || next.Revision < 1) {
		return todo.Snapshot{}, fmt.Errorf("save revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	next = next.Clone()
	if before.Revision > 0 {
		next.List = before.List
		if err := t.store.keep.CheckBytes(t.size, false); err != nil && !next.Deleted {
			return todo.Snapshot{}, err
		}
		return t.withParent(t.add(stored, next, before.begun)), nil
	}
	if err := t.makeRoom(next.List, now); err != nil {
		return todo.Snapshot{}, err
	}
	t.remove(t.idsOf(func(l revision) bool { return l.Deleted && l.Updated.Before(now.Add(-todo.TrashAge)) }))
	if next.List.ParentConversation != "" {
		next.List.Parent = "" // it is looked up
	}
	return t.withParent(t.add(nil, next, now)), ctx.Err()
}

// add adds a revision to a list, and forgets the ones that are not kept.
func (t *tx) add(stored []revision, next todo.Snapshot, begun time.Time) todo.Snapshot {
	t.seq++
	next.Seq = t.seq
	t.size += int64(record.Footprint(next))
	if next.Operation.ID != "" {
		t.operations.changed[next.Operation.ID] = []todo.Snapshot{next}
	}
	stored = append(stored, revision{next, begun}) // beyond what others read
	for stored[0].Revision < t.store.keep.First(next.Revision) {
		t.forget(stored[0])
		stored = stored[1:]
	}
	t.lists.changed[next.List.ID] = stored
	return next
}

// forget forgets what a revision took, and its operation.
func (t *tx) forget(s revision) {
	t.size -= int64(record.Footprint(s.Snapshot))
	if s.Operation.ID != "" {
		t.operations.changed[s.Operation.ID] = nil
	}
}

// makeRoom returns an error when a list may not begin, see [todo.Keep.MakeRoom].
func (t *tx) makeRoom(next todo.List, now time.Time) error {
	idsOf := func(fits func(revision) bool) []string {
		return t.idsOf(func(l revision) bool { return l.List.Principal == next.Principal && fits(l) })
	}
	usage := func(since time.Time) (todo.Usage, error) {
		begun := idsOf(func(l revision) bool { return l.List.Conversation == next.Conversation && l.begun.After(since) })
		lists := idsOf(func(l revision) bool { return !l.Deleted })
		return todo.Usage{Begun: len(begun), Lists: len(lists), Bytes: t.size}, nil
	}
	return t.store.keep.MakeRoom(next, now, usage, func(before time.Time) error {
		abandoned := idsOf(func(l revision) bool {
			return l.Revision == 1 && l.List.Conversation != "" && l.Updated.Before(before) && !t.wasShown(l.List)
		})
		slices.SortFunc(abandoned, func(a, b string) int {
			return newest(t.lists.get(a)).Updated.Compare(newest(t.lists.get(b)).Updated)
		})
		t.remove(abandoned[:min(len(abandoned), todo.MaxAbandoned)])
		return nil
	})
}

// idsOf returns the ids of the lists whose newest revision fits.
func (t *tx) idsOf(fits func(revision) bool) (ids []string) {
	for id, revisions := range t.lists.all() {
		if fits(newest(revisions)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// wasShown reports whether a list was shown to anybody but the conversation that
// began it.
func (t *tx) wasShown(l todo.List) bool {
	for of, cursors := range t.cursors.all() {
		if of.Conversation != l.Conversation && slices.ContainsFunc(cursors, func(c todo.Cursor) bool { return c.List == l.ID }) {
			return true
		}
	}
	return false
}

// remove removes lists with all that belongs to them.
func (t *tx) remove(ids []string) {
	for _, id := range ids {
		for _, s := range t.lists.get(id) {
			t.forget(s)
		}
		t.lists.changed[id] = nil
	}
	isOn := func(c todo.Cursor) bool { return slices.Contains(ids, c.List) }
	for of, cursors := range t.cursors.all() {
		if slices.ContainsFunc(cursors, isOn) {
			t.cursors.changed[of] = slices.DeleteFunc(slices.Clone(cursors), isOn)
		}
	}
}

// Purge implements todo.Tx. One revision without content takes the place of all.
func (t *tx) Purge(ctx context.Context, id string, by todo.Writer, now time.Time) error {
	last := newest(t.lists.get(id))
	if last.Revision == 0 {
		return todo.ErrNotFound
	}
	t.remove([]string{id})
	t.add(nil, record.Purged(id, last.List.Principal, last.Revision, last.begun, by, now), last.begun)
	return ctx.Err()
}
