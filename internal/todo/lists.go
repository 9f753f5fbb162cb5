package todo

import (
	"context"
	"fmt"
)

// Lists are a board's lists as one principal sees them: another principal's
// list is the same as none, whatever it is asked by (BAD-INPUT 34). The zero
// value is of no use; [Board.As] and [Board.Everyone] make them.
type Lists struct {
	board     *Board
	principal *string // nil is every principal
}

// admits reports whether a snapshot is one of these lists.
func (l Lists) admits(s Snapshot) bool {
	return l.principal == nil || s.List.Scope.Principal == *l.principal
}

// scope puts the principal on a scope.
func (l Lists) scope(s Scope) Scope {
	if l.principal != nil {
		s.Principal = *l.principal
	}
	return s
}

// Load reads one revision of a list; revision 0 means the newest. [ErrNotFound]
// when there is none.
func (l Lists) Load(ctx context.Context, list string, revision int64) (Snapshot, error) {
	s, err := l.board.store.Load(ctx, list, revision)
	if err == nil && !l.admits(s) {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", ErrNotFound)
	}
	return s, err
}

// Find reads the newest snapshot of each list that matches; q.Principal is set
// by these lists.
func (l Lists) Find(ctx context.Context, q Query) ([]Snapshot, error) {
	if l.principal != nil {
		q.Principal = l.principal
	}
	return l.board.store.Find(ctx, q)
}

// History reads revisions of a list in ascending order, beginning after
// revision after, at most limit (0: all). Unknown lists give none.
func (l Lists) History(ctx context.Context, list string, after int64, limit int) ([]Snapshot, error) {
	revisions, err := l.board.store.History(ctx, list, after, limit)
	if len(revisions) > 0 && !l.admits(revisions[0]) {
		return nil, err
	}
	return revisions, err
}

// Resolve reads the list that a target means. [ErrNotFound] when there is none,
// also when the list is another scope's.
func (l Lists) Resolve(ctx context.Context, t Target) (Snapshot, error) {
	t.Scope = l.scope(t.Scope)
	return l.board.resolve(ctx, t)
}

// Apply applies a write and returns when its revision is durable. Errors:
// [*InputError] (the change refused; nothing changed), [ErrNotFound] (no such
// list in the scope), [ErrOperationReused], one that wraps [ErrUnknownOutcome],
// or the context's.
func (l Lists) Apply(ctx context.Context, w Write) (Outcome, error) {
	w.Scope = l.scope(w.Scope)
	return l.board.apply(ctx, w)
}

// Restore brings an earlier revision of a list back as a new one. [ErrNotFound]
// when there is no such list or revision.
func (l Lists) Restore(ctx context.Context, list string, revision int64, w Writer) (Outcome, error) {
	old, err := l.Load(ctx, list, revision)
	if err != nil {
		return Outcome{}, err
	}
	return l.Apply(ctx, Write{
		Target: Target{Scope: old.List.Scope, List: list},
		Writer: w,
		Change: func(d *Draft) error { d.Restore(old.Items); return nil },
	})
}

// Watch begins to watch the lists that want admits (nil: every list). Snapshots
// saved from now on arrive; the caller reads what was there before by itself,
// after this call. The watcher must be closed.
func (l Lists) Watch(want func(Snapshot) bool) *Watcher {
	return l.board.feed.addWatcher(func(s Snapshot) bool { return l.admits(s) && (want == nil || want(s)) })
}

// Calls begins to follow the calls on these lists, in this process and in the
// others that share the store. The follower must be closed.
func (l Lists) Calls() *Calls { return l.board.feed.addCalls(l.admits) }
