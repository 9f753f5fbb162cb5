package memorytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"todo-mcp/internal/board"
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
	t.lists, t.seen, t.operations = maps.Clone(t.lists), maps.Clone(t.seen), nil
	t.reader = reader{s, func(context.Context) *state { return &t.state }}
	return t
}

// Load implements board.Tx. Nobody changes what a transaction has read, so that the newest
// revision need not be a copy.
func (t *tx) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	if s := t.lists[id].newest(); n == 0 && s.Revision > 0 {
		return t.withParent(s), ctx.Err()
	}
	return t.reader.Load(ctx, id, n)
}

// See implements board.Tx.
func (t *tx) See(ctx context.Context, s board.Seen) error {
	known := len(t.seen[s.Key])
	t.seen[s.Key], _ = board.See(t.seen[s.Key], s, time.Now())
	t.changed = true
	if len(t.seen[s.Key]) > known {
		return t.forgetHolder(ctx, s)
	}
	return ctx.Err()
}

// forgetHolder forgets what one chat has seen of a list that too many know.
func (t *tx) forgetHolder(ctx context.Context, s board.Seen) error {
	on, err := t.SeenOn(ctx, s.Principal, s.List)
	if err != nil || len(on) <= board.MaxHolders {
		return err
	}
	oldest := slices.MinFunc(on, func(a, b board.Seen) int { return a.At.Compare(b.At) })
	t.seen[oldest.Key] = slices.DeleteFunc(slices.Clone(t.seen[oldest.Key]), func(k board.Seen) bool { return k.List == s.List })
	return nil
}

// usage returns how many bytes are in use.
func (t *tx) usage(principal string) board.Usage {
	u := board.Usage{Bytes: t.size}
	if principal == "" {
		return u
	}
	for _, l := range t.lists {
		if l.newest().List.Principal == principal {
			u.Own += l.size
		}
	}
	u.Own += t.sizeOfChats(principal)
	return u
}

// Save implements board.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	l, now := t.lists[next.List.ID], time.Now()
	before := l.newest()
	if !next.Follows(before) {
		return todo.Snapshot{}, fmt.Errorf("save revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, board.ErrNotFound)
	}
	next = next.Clone()
	if before.Revision > 0 {
		next.List = before.List
		if t.store.keep.IsTight(t.size) && !next.Leaves(before) {
			if err := t.makeRoom(ctx, next.List, false, now); err != nil {
				return todo.Snapshot{}, err
			}
		}
		return t.withParent(t.add(l, next)), nil
	}
	if err := t.makeRoom(ctx, next.List, true, now); err != nil {
		return todo.Snapshot{}, err
	}
	old := board.Oldness(now, t.saved)
	for id, l := range t.lists {
		if last := l.newest(); last.Deleted && last.Updated.Before(old.Add(-board.TrashAge)) {
			t.remove(id, next.List)
		}
	}
	t.tidyChats(old)
	if err := t.store.keep.Expire(old, t.evict(ctx, next.List, now)); err != nil {
		return todo.Snapshot{}, err
	}
	if next.List.ParentConversation != "" {
		next.List.Parent = "" // it is looked up
	}
	return t.withParent(t.add(list{begun: now}, next)), ctx.Err()
}

// add adds a revision to a list, and forgets the ones that are not kept.
func (t *tx) add(l list, next todo.Snapshot) todo.Snapshot {
	t.seq++
	next.Seq, t.saved = t.seq, next.Updated
	t.size += footprint(next)
	l.size += footprint(next)
	if op := next.Operation.ID; op != "" {
		t.operations = append(t.operations, indexed{op, next.List.ID})
	}
	l.revisions = append(l.revisions, next) // beyond what others read
	for l.revisions[0].Revision < t.store.keep.First(next.Revision) {
		t.forget(&l, l.revisions[0])
		l.revisions = l.revisions[1:]
	}
	t.lists[next.List.ID] = l
	t.changed = true
	return next
}

// forget forgets what a state knows of a revision that a list has no more.
func (t *tx) forget(l *list, s todo.Snapshot) {
	size := footprint(s)
	t.size -= size
	l.size -= size
	if op := s.Operation.ID; op != "" {
		t.operations = append(t.operations, indexed{operation: op})
	}
}

// makeRoom returns an error when a list may not begin, or not change, see
// [board.Keep.MakeRoom].
func (t *tx) makeRoom(ctx context.Context, next todo.List, begins bool, now time.Time) error {
	usage := func(since time.Time) (u board.Usage, err error) {
		u = t.usage(next.Principal)
		for _, l := range t.lists {
			last := l.newest()
			if last.List.Principal != next.Principal {
				continue
			}
			if !last.Deleted {
				u.Lists++
			}
			if last.List.Conversation == next.Conversation && l.begun.After(since) && last.Updated.After(since) {
				u.Begun++
			}
		}
		return u, nil
	}
	return t.store.keep.MakeRoom(next, begins, now, usage, t.evict(ctx, next, now))
}

// evict returns a function that removes some lists of a kind for another one of the same
// principal. Watchers see finished ones go.
func (t *tx) evict(ctx context.Context, forList todo.List, now time.Time) func(kind todo.Spare, before time.Time, isShort bool) error {
	return func(kind todo.Spare, before time.Time, isShort bool) error {
		var some []todo.Snapshot
		for id, l := range t.lists {
			last := l.newest()
			isOld := last.Updated.Before(before) && (isShort || l.begun.Before(before))
			if id != forList.ID && last.List.Principal == forList.Principal && last.Spare() == kind && isOld {
				some = append(some, last)
			}
		}
		if kind == todo.SpareDeleted {
			for _, s := range some {
				t.remove(s.List.ID, forList)
			}
			return nil
		}
		ids, err := board.Leaving(ctx, t, some, isShort, now, t.store.Alive)
		for _, id := range ids {
			if kind == todo.SpareUnseen {
				t.remove(id, forList)
			} else if err == nil {
				err = t.purge(ctx, id, forList, todo.Writer{}, now)
			}
		}
		return err
	}
}

// remove removes a list with all that belongs to it, and the chats that held no other. It goes
// for another list, unless that is the zero one.
func (t *tx) remove(id string, forList todo.List) {
	t.forgetChatsOf(id, forList)
	l := t.lists[id]
	for _, s := range l.revisions {
		t.forget(&l, s)
	}
	delete(t.lists, id)
	isOn := func(c board.Seen) bool { return c.List == id }
	for of, all := range t.seen {
		if slices.ContainsFunc(all, isOn) {
			t.seen[of] = slices.DeleteFunc(slices.Clone(all), isOn)
		}
	}
	t.names = maps.Clone(t.names)
	maps.DeleteFunc(t.names, func(_ nameKey, list string) bool { return list == id })
}

// Purge implements board.Tx. One revision without content takes the place of all.
func (t *tx) Purge(ctx context.Context, id string, by todo.Writer, now time.Time) error {
	return t.purge(ctx, id, todo.List{}, by, now)
}

func (t *tx) purge(ctx context.Context, id string, forList todo.List, by todo.Writer, now time.Time) error {
	l := t.lists[id]
	last := l.newest()
	if last.Revision == 0 {
		return board.ErrNotFound
	}
	t.remove(id, forList)
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
