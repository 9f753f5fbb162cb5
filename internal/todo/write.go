package todo

import (
	"context"
	"errors"
	"fmt"
)

// maxCandidates is how many lists of a scope a [Chooser] receives at most.
const maxCandidates = 100

// Chooser picks the list for a read or write among the lists of a scope, which
// are sorted with the last saved first. ok is false when it picks none: a write
// then begins a list.
type Chooser func(lists []Snapshot) (chosen Snapshot, ok bool)

// Newest is the [Chooser] that picks the list saved last.
func Newest(lists []Snapshot) (Snapshot, bool) {
	if len(lists) == 0 {
		return Snapshot{}, false
	}
	return lists[0], true
}

// Target selects the list of a read or write.
type Target struct {
	Scope Scope
	// List is the id of a list in the scope; empty means that Choose decides.
	List string
	// Choose picks the list when List is empty; nil is [Newest].
	Choose Chooser
}

// Write is one change to apply to a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one. The board sets its ID,
	// Scope and Created, and First if it is empty.
	Begin List
	// Writer is who writes. The board sets its Process.
	Writer Writer
	// Operation identifies the write. The board generates an id when it has
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Seen is the revision that the writer saw, for a person who edits it; 0 is
	// the newest, or for an agent the newest that no person wrote.
	Seen int64
}

// Report is what the answer to a write says beyond the list. If the caller may
// repeat the write, the report is stored with its revision, so that the repeat
// gets the same answer.
type Report struct {
	// Dropped are the items that were open and are no longer on the list.
	Dropped []Item `json:"dropped,omitempty"`
	// Unseen is what people changed since the writing agent last saw the list;
	// the write was merged with these changes.
	Unseen []Difference `json:"unseen,omitempty"`
	// Notes are the sentences that the change added, see [Draft.Note].
	Notes []string `json:"notes,omitempty"`
}

// Outcome is the result of a write.
type Outcome struct {
	// After is the list after the write: the revision that the write made or,
	// if it changed nothing, the newest one; revision 0 means that there is no
	// list. For a repeated operation it is the revision made the first time.
	After Snapshot
	// Changed is true when this write made the revision After.
	Changed bool
	// Repeated is true when the operation had been applied before.
	Repeated bool
	Report
}

func (b *Board) apply(ctx context.Context, w Write) (Outcome, error) {
	release, err := b.turns.take(ctx, w.Scope.Key())
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	if w.Operation.ID == "" {
		w.Operation.ID = b.newID()
	}
	w.Writer.Process = b.process
	out, err := b.applyInTurn(ctx, w)
	if err == nil {
		b.feed.calls.deliverOwn(out)
	}
	return out, err
}

// applyInTurn returns the outcome of an operation that was applied before, or
// applies the write, again after each conflict with another process.
func (b *Board) applyInTurn(ctx context.Context, w Write) (Outcome, error) {
	if w.Operation.repeatable() {
		if out, ok, err := b.repeated(ctx, w); ok || err != nil {
			return out, err
		}
	}
	for {
		out, err := b.try(ctx, w)
		if conflict := (*ConflictError)(nil); !errors.As(err, &conflict) || ctx.Err() != nil {
			return out, err
		}
	}
}

// repeated returns the outcome of an operation that was applied before; ok is
// false when it was not.
func (b *Board) repeated(ctx context.Context, w Write) (out Outcome, ok bool, err error) {
	found, err := b.store.Find(ctx, Query{Operation: w.Operation.ID})
	if err != nil || len(found) == 0 {
		return Outcome{}, false, err
	}
	after := found[0]
	if after.Operation != w.Operation || after.List.Scope.Key() != w.Scope.Key() {
		return Outcome{}, true, ErrOperationReused
	}
	return Outcome{After: after, Repeated: true, Report: after.Report}, true, nil
}

// try applies a write to the newest revision. It returns a [*ConflictError] if
// another process saves the list first.
func (b *Board) try(ctx context.Context, w Write) (Outcome, error) {
	before, err := b.resolve(ctx, w.Target)
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
		return Outcome{After: before}, err
	}
	// A variant limits what one call sends; a merge may add what others added.
	if n := len(draft.items); n > MaxItems && n > len(before.Items) {
		return Outcome{After: before}, &InputError{Problems: []Problem{{Message: fmt.Sprintf("a list holds at most %d items, this would make %d", MaxItems, n)}}}
	}
	report := Report{Dropped: draft.dropped(), Unseen: unseen, Notes: draft.notes}
	if !draft.Changed() {
		return Outcome{After: before, Report: report}, nil
	}
	next := draft.snapshot(w.Writer, w.Operation)
	if w.Operation.repeatable() {
		next.Report = report
	}
	if next.Revision == 1 {
		next.List = w.Begin
		next.List.ID, next.List.Scope, next.List.Created = b.newID(), w.Scope, next.Updated
		next.List = next.List.Begun(next.Items)
	}
	after, err := b.save(ctx, next)
	if err != nil {
		return Outcome{After: before}, err
	}
	return Outcome{After: after, Changed: true, Report: report}, nil
}

// unseen sets the revision that the draft's writer last saw, if the list
// changed since. For an agent it also returns what people changed since.
func (b *Board) unseen(ctx context.Context, d *Draft, w Write) ([]Difference, error) {
	seen, newest := w.Seen, d.before
	if seen == 0 && !w.Writer.Person && newest.Writer.Person {
		base, err := b.lastAgentRevision(ctx, newest)
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

// lastAgentRevision returns what the list's agent last saw: the last revision
// up to s that no person wrote. If people wrote all of them, the result has no
// items. If the store no longer keeps a revision, the result is the one after
// it.
func (b *Board) lastAgentRevision(ctx context.Context, s Snapshot) (Snapshot, error) {
	for s.Writer.Person && s.Revision > 1 {
		before, err := b.store.Load(ctx, s.List.ID, s.Revision-1)
		if errors.Is(err, ErrNotFound) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("load the revision that the agent last saw: %w", err)
		}
		s = before
	}
	if s.Writer.Person {
		s = Snapshot{List: s.List, Items: []Item{}}
	}
	return s, nil
}

// save saves a snapshot, and repeats that once when the outcome is unknown,
// which the operation id makes harmless.
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

// resolve reads the list that a target selects, or returns [ErrNotFound].
func (b *Board) resolve(ctx context.Context, t Target) (Snapshot, error) {
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
