package todo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxCandidates bounds how many lists of a scope a choice looks at.
const maxCandidates = 100

// Board applies changes to lists, one at a time for each scope and in arrival
// order, and tells watchers. It holds no list in memory: the store is the
// truth, and other processes may write to it.
type Board struct {
	store Store
	now   func() time.Time
	newID func() string
	turns turns
	feed  *feed
}

// Option sets up a [Board].
type Option func(*Board)

// WithClock makes the board take the time from now instead of time.Now.
func WithClock(now func() time.Time) Option { return func(b *Board) { b.now = now } }

// WithIDs makes the board take ids of lists and operations from newID, which
// must not repeat itself, instead of [NewID].
func WithIDs(newID func() string) Option { return func(b *Board) { b.newID = newID } }

// NewBoard returns a board on a store, which stays the caller's to close, after
// the board.
func NewBoard(store Store, opts ...Option) *Board {
	b := &Board{store: store, now: time.Now, newID: NewID, feed: newFeed(store)}
	for _, opt := range opts {
		opt(b)
	}
	return b
}

// NewID returns 130 random bits as 26 lower-case letters and digits.
func NewID() string { return strings.ToLower(rand.Text()) }

// Close ends all watchers and waits for the board's goroutine. Writes are not
// affected.
func (b *Board) Close() { b.feed.close() }

// Chooser picks, among the lists of a scope (last saved first), the one a read
// or write is for. ok is false when none is: a write then begins a list.
type Chooser func(lists []Snapshot) (chosen Snapshot, ok bool)

// Newest chooses the list saved last.
func Newest(lists []Snapshot) (Snapshot, bool) {
	if len(lists) == 0 {
		return Snapshot{}, false
	}
	return lists[0], true
}

// Target says which list is meant.
type Target struct {
	Scope Scope
	// List is the id of a list in the scope; empty lets Choose decide.
	List string
	// Choose picks when List is empty; nil is [Newest].
	Choose Chooser
}

// Write is one call on a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one; its ID, Scope and
	// Created are set by the board.
	Begin  List
	Writer Writer
	// Operation identifies the write; the board makes an id when there is
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Seen is the revision the writer knows, for a person who edits it; 0 is the
	// newest, or for an agent the newest that no person wrote.
	Seen int64
}

// Outcome is what a write did.
type Outcome struct {
	Before Snapshot
	// After is the list as it stands now: the revision the write made or, when
	// it changed nothing, the one it found. Revision 0 is no list at all.
	After Snapshot
	// Changed is false for a write that made no revision.
	Changed bool
	// Repeated says that the operation had been applied before.
	Repeated bool
	// Unseen is what a person changed since the agent that writes last saw the
	// list; the write was merged with it.
	Unseen []Difference
}

// Apply applies a write and returns when its revision is durable. Errors:
// [*InputError] (the change refused; nothing changed), [ErrNotFound] (no such
// list in the scope), [ErrOperationReused], one that wraps [ErrUnknownOutcome],
// or the context's.
func (b *Board) Apply(ctx context.Context, w Write) (Outcome, error) {
	release, err := b.turns.take(ctx, w.Scope.Key())
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	if w.Operation.ID == "" {
		w.Operation.ID = b.newID()
	}
	if w.Operation.Digest != "" {
		if done, ok, err := b.repeated(ctx, w); ok || err != nil {
			return done, err
		}
	}
	for {
		out, err := b.try(ctx, w)
		if conflict := (*ConflictError)(nil); !errors.As(err, &conflict) || ctx.Err() != nil {
			return out, err
		}
	}
}

// Restore brings an earlier revision of a list back as a new one. [ErrNotFound]
// when there is no such list or revision.
func (b *Board) Restore(ctx context.Context, list string, revision int64, w Writer) (Outcome, error) {
	old, err := b.store.Load(ctx, list, revision)
	if err != nil {
		return Outcome{}, err
	}
	return b.Apply(ctx, Write{
		Target: Target{Scope: old.List.Scope, List: list},
		Writer: w,
		Change: func(d *Draft) error { d.Restore(old.Items); return nil },
	})
}

// repeated answers an operation that was applied before.
func (b *Board) repeated(ctx context.Context, w Write) (Outcome, bool, error) {
	found, err := b.store.Find(ctx, Query{Operation: w.Operation.ID})
	if err != nil || len(found) == 0 {
		return Outcome{}, false, err
	}
	after := found[0]
	if after.Operation != w.Operation || after.List.Scope.Key() != w.Scope.Key() {
		return Outcome{}, true, ErrOperationReused
	}
	return Outcome{Before: after, After: after, Repeated: true}, true, nil
}

// try applies a write to what the store holds now.
func (b *Board) try(ctx context.Context, w Write) (Outcome, error) {
	before, err := b.Find(ctx, w.Target)
	if errors.Is(err, ErrNotFound) && w.List == "" {
		before = Snapshot{Items: []Item{}}
	} else if err != nil {
		return Outcome{}, err
	}
	draft := NewDraft(before, b.now())
	unseen, err := b.unseen(ctx, draft, w)
	if err != nil {
		return Outcome{}, err
	}
	if err := w.Change(draft); err != nil {
		return Outcome{Before: before, After: before}, err
	}
	if !draft.Changed() {
		return Outcome{Before: before, After: before, Unseen: unseen}, nil
	}
	next := draft.snapshot(w.Writer, w.Operation)
	if next.Revision == 1 {
		next.List = w.Begin
		next.List.ID, next.List.Scope, next.List.Created = b.newID(), w.Scope, next.Updated
	}
	after, err := b.save(ctx, next)
	if err != nil {
		return Outcome{Before: before, After: before}, err
	}
	return Outcome{Before: before, After: after, Changed: true, Unseen: unseen}, nil
}

// unseen tells a draft which revision its writer knows, when others changed the
// list since, and what they changed.
func (b *Board) unseen(ctx context.Context, d *Draft, w Write) ([]Difference, error) {
	seen, newest := w.Seen, d.before
	if seen == 0 && !w.Writer.Person && newest.Writer.Person {
		base, err := b.lastOfAgents(ctx, newest)
		if err != nil {
			return nil, err
		}
		d.SeenAt(base)
		return Diff(base, newest), nil
	}
	if seen == 0 || seen >= newest.Revision {
		return nil, nil
	}
	base, err := b.store.Load(ctx, newest.List.ID, seen)
	if err != nil {
		return nil, fmt.Errorf("load the revision that was edited: %w", err)
	}
	d.SeenAt(base)
	return nil, nil
}

// lastOfAgents is the last revision before s that no person wrote: what the
// list's agent last saw. A list that only people wrote was seen by none.
func (b *Board) lastOfAgents(ctx context.Context, s Snapshot) (Snapshot, error) {
	for s.Writer.Person && s.Revision > 1 {
		before, err := b.store.Load(ctx, s.List.ID, s.Revision-1)
		if errors.Is(err, ErrNotFound) {
			return s, nil // not kept: nothing to merge with
		}
		if err != nil {
			return s, fmt.Errorf("load what the agent saw: %w", err)
		}
		s = before
	}
	if s.Writer.Person {
		s = Snapshot{List: s.List, Items: []Item{}}
	}
	return s, nil
}

// save saves, and repeats once when the outcome is unknown: the operation id
// makes that harmless.
func (b *Board) save(ctx context.Context, next Snapshot) (Snapshot, error) {
	after, err := b.store.Save(ctx, next)
	if errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil {
		after, err = b.store.Save(ctx, next)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("save list: %w", err)
	}
	return after, nil
}

// Find reads the list a target means. [ErrNotFound] when there is none, also
// when the list is another scope's.
func (b *Board) Find(ctx context.Context, t Target) (Snapshot, error) {
	if t.List != "" {
		s, err := b.store.Load(ctx, t.List, 0)
		if err == nil && s.List.Scope.Key() != t.Scope.Key() {
			err = ErrNotFound
		}
		return s, err
	}
	lists, err := b.store.Find(ctx, Query{Scope: t.Scope.Key(), Limit: maxCandidates})
	if err != nil {
		return Snapshot{}, fmt.Errorf("find list: %w", err)
	}
	choose := t.Choose
	if choose == nil {
		choose = Newest
	}
	s, ok := choose(lists)
	if !ok {
		return Snapshot{}, ErrNotFound
	}
	return s, nil
}

// Store is the board's store, for reading.
func (b *Board) Store() Store { return b.store }

// Watch begins to watch all lists that want admits (nil: every list). Snapshots
// saved from now on arrive; the caller reads what was there before by itself,
// after this call. The watcher must be closed.
func (b *Board) Watch(want func(Snapshot) bool) *Watcher { return b.feed.add(want) }
