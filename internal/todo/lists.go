package todo

import (
	"context"
	"fmt"
)

// Lists are a board's lists as one principal sees them. No method finds a list
// of another principal, by id or otherwise (BAD-INPUT 34). The zero value is
// not usable; [Board.As] and [Board.Everyone] return usable ones.
type Lists struct {
	board     *Board
	principal *string // nil is every principal
}

// admits reports whether a snapshot is one of these lists.
func (l Lists) admits(s Snapshot) bool {
	return l.principal == nil || s.List.Scope.Principal == *l.principal
}

// scope returns a scope with the principal set.
func (l Lists) scope(s Scope) Scope {
	if l.principal != nil {
		s.Principal = *l.principal
	}
	return s
}

// Load reads one revision of a list; revision 0 means the newest. It returns
// [ErrNotFound] when there is none.
func (l Lists) Load(ctx context.Context, list string, revision int64) (Snapshot, error) {
	s, err := l.board.store.Load(ctx, list, revision)
	if err == nil && !l.admits(s) {
		return Snapshot{}, fmt.Errorf("read snapshot: %w", ErrNotFound)
	}
	return s, err
}

// Find reads the newest snapshot of each list that matches. It sets
// q.Principal, except for [Board.Everyone].
func (l Lists) Find(ctx context.Context, q Query) ([]Snapshot, error) {
	if l.principal != nil {
		q.Principal = l.principal
	}
	return l.board.store.Find(ctx, q)
}

// History reads the revisions of a list above after in ascending order, at most
// limit (0: all). The result is empty for an unknown list.
func (l Lists) History(ctx context.Context, list string, after int64, limit int) ([]Snapshot, error) {
	revisions, err := l.board.store.History(ctx, list, after, limit)
	if len(revisions) > 0 && !l.admits(revisions[0]) {
		return nil, err
	}
	return revisions, err
}

// Resolve reads the list that a target selects. It returns [ErrNotFound] when
// there is none, also when the list belongs to another scope.
func (l Lists) Resolve(ctx context.Context, t Target) (Snapshot, error) {
	t.Scope = l.scope(t.Scope)
	return l.board.resolve(ctx, t)
}

// Apply applies a write and returns when its revision is durable. It returns an
// [*InputError] when the change refuses (nothing was changed), [ErrNotFound]
// when the scope has no such list, [ErrTooManyLists], [ErrOperationReused], an
// error that wraps [ErrUnknownOutcome], the context's error or another one of
// the store.
func (l Lists) Apply(ctx context.Context, w Write) (Outcome, error) {
	w.Scope = l.scope(w.Scope)
	return l.board.apply(ctx, w)
}

// Restore writes the items of an earlier revision of a list as a new revision.
// It returns [ErrNotFound] when there is no such list or revision.
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

// Watch returns a watcher of the lists for which want returns true (nil: every
// list). It receives the snapshots saved from now on; a caller that also needs
// the earlier ones reads them after this call. The watcher must be closed.
func (l Lists) Watch(want func(Snapshot) bool) *Watcher {
	return l.board.feed.addWatcher(func(s Snapshot) bool { return l.admits(s) && (want == nil || want(s)) })
}

// Calls returns a follower of the calls on these lists, in this process and in
// others that share the store, from now on. The follower must be closed.
func (l Lists) Calls() *Calls { return l.board.feed.addCalls(l.admits) }
