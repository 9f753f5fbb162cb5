package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// tx is a transaction, which makes the next state.
type tx struct {
	reader
	state
	changed bool
}

func newTx(s *Memory) *tx {
	t := &tx{state: *s.now.Load()}
	t.lists, t.seen, t.operations = maps.Clone(t.lists), maps.Clone(t.seen), nil
	t.reader = reader{s, func(context.Context) *state { return &t.state }}
	return t
}

// Load implements board.Tx. It returns the newest revision without a copy, since nobody changes what a transaction has
// read.
func (t *tx) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	if s := t.lists[id].newest(); n == 0 && s.Revision > 0 {
		return t.withParent(s), ctx.Err()
	}
	return t.reader.Load(ctx, id, n)
}

// See implements board.Tx.
func (t *tx) See(ctx context.Context, s board.Seen) error {
	t.seen[s.Key], _ = board.See(t.seen[s.Key], s, time.Now())
	t.changed = true
	return ctx.Err()
}

// Save implements board.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	l := t.lists[next.List.ID]
	before := l.newest()
	if !next.Follows(before) {
		return todo.Snapshot{}, fmt.Errorf("save revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, board.ErrNotFound)
	}
	next = clone(next)
	if before.Revision > 0 {
		next.List = before.List
		return t.withParent(t.add(l, next)), nil
	}
	own := 0
	for _, l := range t.lists {
		if last := l.newest(); last.List.Principal == next.List.Principal && !last.Deleted {
			own++
		}
	}
	if err := t.store.keep.CheckLists(own); err != nil {
		return todo.Snapshot{}, err
	}
	if next.List.ParentConversation != "" {
		next.List.Parent = "" // reads look the parent up
	}
	return t.withParent(t.add(kept{begun: time.Now()}, next)), ctx.Err()
}

// add adds a revision to a list, and removes revisions beyond Keep.
func (t *tx) add(l kept, next todo.Snapshot) todo.Snapshot {
	t.seq++
	next.Seq = t.seq
	if op := next.Operation.ID; op != "" {
		t.operations = append(t.operations, indexed{op, next.List.ID})
	}
	l.revisions = append(l.revisions, next) // after the part of the array that readers use
	for l.revisions[0].Revision < t.store.keep.First(next.Revision) {
		t.forget(l.revisions[0])
		l.revisions = l.revisions[1:]
	}
	t.lists[next.List.ID] = l
	t.changed = true
	return next
}

// forget removes the operation of a dropped revision from the index.
func (t *tx) forget(s todo.Snapshot) {
	if op := s.Operation.ID; op != "" {
		t.operations = append(t.operations, indexed{operation: op})
	}
}

// Purge implements board.Tx. It also removes the list's names, what chats have seen of it, and the chats that held no
// other list. One revision without content replaces all revisions.
func (t *tx) Purge(ctx context.Context, id string, by todo.Writer, now time.Time) error {
	l := t.lists[id]
	last := l.newest()
	if last.Revision == 0 {
		return board.ErrNotFound
	}
	t.forgetChatsOf(id)
	for _, s := range l.revisions {
		t.forget(s)
	}
	isOn := func(c board.Seen) bool { return c.List == id }
	for of, all := range t.seen {
		if slices.ContainsFunc(all, isOn) {
			t.seen[of] = slices.DeleteFunc(slices.Clone(all), isOn)
		}
	}
	t.names = maps.Clone(t.names)
	maps.DeleteFunc(t.names, func(_ nameKey, list string) bool { return list == id })
	t.add(kept{begun: l.begun}, record.Purged(id, last.List.Principal, last.Revision, l.begun, by, now))
	return ctx.Err()
}

// clone returns a copy with slices of its own, so that no caller changes what the store keeps.
// Items is not nil.
func clone(s todo.Snapshot) todo.Snapshot {
	s.Items, s.Gone, s.Later = append([]todo.Item{}, s.Items...), slices.Clone(s.Gone), slices.Clone(s.Later)
	r := &s.Report
	r.Dropped, r.Unseen, r.Notes, r.Kept, r.Held = slices.Clone(r.Dropped), slices.Clone(r.Unseen), slices.Clone(r.Notes), slices.Clone(r.Kept), slices.Clone(r.Held)
	r.Ordered, r.PutAway.Open = slices.Clone(r.Ordered), slices.Clone(r.PutAway.Open)
	return s
}
