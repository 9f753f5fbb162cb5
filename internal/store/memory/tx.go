package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// tx is a transaction, which makes the next state.
type tx struct {
	reader
	state
	changed bool
}

func newTx(s *Store) *tx {
	t := &tx{state: *s.now.Load()}
	t.lists, t.cursors = maps.Clone(t.lists), maps.Clone(t.cursors)
	t.reader = reader{s, func() *state { return &t.state }}
	return t
}

// Load implements todo.Tx. Nobody changes what a transaction has read, so that the newest
// revision need not be a copy.
func (t *tx) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	if s := t.lists[id].newest(); n == 0 && s.Revision > 0 {
		return t.withParent(s), ctx.Err()
	}
	return t.reader.Load(ctx, id, n)
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(ctx context.Context, c todo.Cursor) error {
	t.cursors[c.Key], _ = todo.SetCursor(t.cursors[c.Key], c, time.Now())
	t.changed = true
	return ctx.Err()
}

// Save implements todo.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	l, now := t.lists[next.List.ID], time.Now()
	before := l.newest()
	if next.Revision != before.Revision+1 && (before.Revision > 0 || next.Revision < 1) {
		return todo.Snapshot{}, fmt.Errorf("save revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	next = next.Clone()
	if before.Revision > 0 {
		next.List = before.List
		if err := t.store.keep.CheckBytes(t.size, false); err != nil && !next.Deleted {
			return todo.Snapshot{}, err
		}
		return t.withParent(t.add(l, next)), nil
	}
	if err := t.makeRoom(next.List, now); err != nil {
		return todo.Snapshot{}, err
	}
	t.remove(t.idsOf(func(_ list, last todo.Snapshot) bool {
		return last.Deleted && last.Updated.Before(now.Add(-todo.TrashAge))
	}))
	if next.List.ParentConversation != "" {
		next.List.Parent = "" // it is looked up
	}
	return t.withParent(t.add(list{begun: now}, next)), ctx.Err()
}

// add adds a revision to a list, and forgets the ones that are not kept.
func (t *tx) add(l list, next todo.Snapshot) todo.Snapshot {
	t.seq++
	next.Seq = t.seq
	t.size += footprint(next)
	l.revisions = append(l.revisions, next) // beyond what others read
	for l.revisions[0].Revision < t.store.keep.First(next.Revision) {
		t.size -= footprint(l.revisions[0])
		l.revisions = l.revisions[1:]
	}
	t.lists[next.List.ID] = l
	t.changed = true
	return next
}

// makeRoom returns an error when a list may not begin, see [todo.Keep.MakeRoom].
func (t *tx) makeRoom(next todo.List, now time.Time) error {
	idsOf := func(fits func(list, todo.Snapshot) bool) []string {
		return t.idsOf(func(l list, last todo.Snapshot) bool { return last.List.Principal == next.Principal && fits(l, last) })
	}
	usage := func(since time.Time) (todo.Usage, error) {
		begun := idsOf(func(l list, last todo.Snapshot) bool {
			return last.List.Conversation == next.Conversation && l.begun.After(since)
		})
		lists := idsOf(func(_ list, last todo.Snapshot) bool { return !last.Deleted })
		return todo.Usage{Begun: len(begun), Lists: len(lists), Bytes: t.size}, nil
	}
	return t.store.keep.MakeRoom(next, now, usage, func(before time.Time) error {
		abandoned := idsOf(func(_ list, last todo.Snapshot) bool {
			return last.Revision == 1 && last.List.Conversation != "" && last.Updated.Before(before) && !t.wasShown(last.List)
		})
		slices.SortFunc(abandoned, func(a, b string) int {
			return t.lists[a].newest().Updated.Compare(t.lists[b].newest().Updated)
		})
		t.remove(abandoned[:min(len(abandoned), todo.MaxAbandoned)])
		return nil
	})
}

// idsOf returns the ids of the lists that fit, with their newest revision.
func (t *tx) idsOf(fits func(list, todo.Snapshot) bool) (ids []string) {
	for id, l := range t.lists {
		if fits(l, l.newest()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// wasShown reports whether a list was shown to anybody but the conversation that
// began it.
func (t *tx) wasShown(l todo.List) bool {
	for of, cursors := range t.cursors {
		if of.Conversation != l.Conversation && slices.ContainsFunc(cursors, func(c todo.Cursor) bool { return c.List == l.ID }) {
			return true
		}
	}
	return false
}

// remove removes lists with all that belongs to them.
func (t *tx) remove(ids []string) {
	for _, id := range ids {
		for _, s := range t.lists[id].revisions {
			t.size -= footprint(s)
		}
		delete(t.lists, id)
	}
	isOn := func(c todo.Cursor) bool { return slices.Contains(ids, c.List) }
	for of, cursors := range t.cursors {
		if slices.ContainsFunc(cursors, isOn) {
			t.cursors[of] = slices.DeleteFunc(slices.Clone(cursors), isOn)
		}
	}
}

// Purge implements todo.Tx. One revision without content takes the place of all.
func (t *tx) Purge(ctx context.Context, id string, by todo.Writer, now time.Time) error {
	l := t.lists[id]
	last := l.newest()
	if last.Revision == 0 {
		return todo.ErrNotFound
	}
	t.remove([]string{id})
	t.add(list{begun: l.begun}, record.Purged(id, last.List.Principal, last.Revision, l.begun, by, now))
	return ctx.Err()
}

// footprint estimates the memory that a revision takes, in bytes. Texts count in full,
// although revisions share them.
func footprint(s todo.Snapshot) int64 {
	size := 1024 + 128*len(s.Report.Notes)
	for _, items := range [][]todo.Item{s.Items, s.Report.Dropped} {
		size += 256*len(items) + todo.Size(items)
	}
	for _, d := range s.Report.Unseen {
		size += 512 + todo.Size([]todo.Item{d.Before, d.After})
	}
	return int64(size)
}
