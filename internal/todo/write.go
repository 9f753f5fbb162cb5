package todo

import (
	"context"
	"errors"
	"fmt"
)

// maxCandidates bounds how many lists of a scope a choice looks at.
const maxCandidates = 100

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
	// Begin describes the list if this write begins one; its ID, Scope, First
	// and Created are set by the board.
	Begin List
	// Writer says who writes; its Process is set by the board.
	Writer Writer
	// Operation identifies the write; the board makes an id when there is
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Seen is the revision the writer knows, for a person who edits it; 0 is the
	// newest, or for an agent the newest that no person wrote.
	Seen int64
}

// Report is what the answer to a write must say beyond the list itself. It is
// kept with the revision of a write that its caller may repeat, so that the
// repeat gets the same answer.
type Report struct {
	// Dropped are the items that were open and are not on the list any more.
	Dropped []Item `json:"dropped,omitempty"`
	// Unseen is what a person changed since the agent that writes last saw the
	// list; the write was merged with it.
	Unseen []Difference `json:"unseen,omitempty"`
	// Notes are the sentences that the change left, see [Draft.Note].
	Notes []string `json:"notes,omitempty"`
}

// Outcome is what a write did.
type Outcome struct {
	// After is the list as it stands now: the revision the write made or, when
	// it changed nothing, the one it found. Revision 0 is no list at all. For a
	// repeated operation it is the revision that was made then.
	After Snapshot
	// Changed is false for a write that made no revision.
	Changed bool
	// Repeated says that the operation had been applied before.
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
		b.feed.called(out)
	}
	return out, err
}

// applyInTurn answers an operation that was applied before, or tries until no
// other process saves the list at the same time.
func (b *Board) applyInTurn(ctx context.Context, w Write) (Outcome, error) {
	if w.Operation.repeatable() {
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
	return Outcome{After: after, Repeated: true, Report: after.Report}, true, nil
}

// try applies a write to what the store holds now.
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

// unseen tells a draft which revision its writer knows, when others changed the
// list since, and returns what they changed.
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

// lastOfAgents returns the last revision before s that no person wrote: what
// the list's agent last saw. A list that only people wrote was seen by none.
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

// resolve reads the list that a target means; [ErrNotFound] when there is none.
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
