package todo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is how a list stands, in the words of all front ends.
type State string

// The states. A list without items is Working while its agent may be about to fill
// it, and then Finished.
const (
	// Working: its agent is there and wrote within [IdleAfter].
	Working State = "working"
	// Idle: its agent is there and has not written for [IdleAfter].
	Idle State = "idle"
	// Waiting: its agent is there, nothing is in progress and an item is blocked.
	Waiting State = "waiting"
	// LeftOpen: items are open and no agent is there.
	LeftOpen State = "left open"
	// Away: items are open, and the list was put away.
	Away State = "archived"
	// Finished: all items are settled.
	Finished State = "finished"
)

// IdleAfter is for how long after its last write an agent counts as working.
const IdleAfter = 10 * time.Minute

// Rests reports whether no agent works on a list in this state.
func (s State) Rests() bool { return s == LeftOpen || s == Away || s == Finished }

// States returns the states of lists, by id.
func (l Lists) States(ctx context.Context, lists ...Snapshot) (map[string]State, error) {
	left, err := l.unattended(ctx, slices.DeleteFunc(slices.Clone(lists), Snapshot.Settled))
	if err != nil {
		return nil, err
	}
	states := make(map[string]State, len(lists))
	for _, s := range lists {
		there := !left[s.List.ID] && !s.Archived && s.List.Conversation != ""
		states[s.List.ID] = s.State(there, l.board.now())
	}
	return states, nil
}

// Together returns the lists of the sub-agents of a main list, and the states of all
// of them and of the main list, by id.
func (l Lists) Together(ctx context.Context, main Snapshot) (subs []Snapshot, states map[string]State, err error) {
	if subs, err = l.Find(ctx, Query{Parent: main.List.ID}); err != nil {
		return nil, nil, err
	}
	states, err = l.States(ctx, append(subs, main)...)
	return subs, states, err
}

// State returns how the list stands; there is false when no agent is.
func (s Snapshot) State(there bool, now time.Time) State {
	_, current := s.Current()
	rests := now.Sub(s.Worked) >= IdleAfter
	switch {
	case s.Settled(), len(s.Items) == 0 && (!there || rests):
		return Finished
	case s.Archived:
		return Away
	case !there:
		return LeftOpen
	case !current && slices.ContainsFunc(s.Items, func(i Item) bool { return i.Status == Blocked }):
		return Waiting
	case rests:
		return Idle
	}
	return Working
}

// Saw returns the revision of a list up to s that any of its agents last saw; s where
// no agent ever saw or wrote one.
func (l Lists) Saw(ctx context.Context, s Snapshot) (Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	on, err := l.CursorsOn(ctx, s)
	if err != nil {
		return s, fmt.Errorf("find what agents have seen: %w", err)
	}
	saw, err := shownToAgents(ctx, l.board.store, s, on)
	if err != nil || saw.Revision == 0 {
		return s, err
	}
	return saw, nil
}

// Written returns the number of the newest revision up to s that no person wrote;
// 0 when none is kept.
func (l Lists) Written(ctx context.Context, s Snapshot) (int64, error) {
	if !s.Writer.Person {
		return s.Revision, nil
	}
	last, err := l.board.store.LastBy(ctx, s.List.ID, false, s.Revision)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("find the newest revision by an agent: %w", err)
	}
	return last.Revision, nil
}
