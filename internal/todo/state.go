package todo

import (
	"iter"
	"slices"
	"time"
)

// State is how a list stands, in the words of all front ends.
type State string

// The states. A list without items is Working while its agent may be about to fill
// it, and then Finished. [Chat.AsList] is Finished once the chat is gone.
const (
	Working  State = "working"   // its agent is here and wrote within [IdleAfter]
	Idle     State = "idle"      // its agent is here and has ended its turn, or not written for [IdleAfter]
	Waiting  State = "waiting"   // its agent is here and asks a person, or an item is blocked and none in progress
	LeftOpen State = "left open" // items are open and no agent is here
	Away     State = "archived"  // items are open
	Finished State = "finished"  // all items are settled
	InVain   State = "failed"    // all items are settled, some failed, and none is completed
)

// IdleAfter is for how long after its last write an agent counts as working.
const IdleAfter = 10 * time.Minute

// LapseAfter is how long after its last change a list that is left open counts as archived.
const LapseAfter = 14 * 24 * time.Hour

// Rests reports whether no agent works on a list in this state.
func (s State) Rests() bool { return s == LeftOpen || s == Away || s.Ended() }

// Ended reports whether nothing more is expected of a list in this state.
func (s State) Ended() bool { return s == Finished || s == InVain }

// State returns the state of the list with its agents.
func (s Snapshot) State(a Agent, now time.Time) State {
	_, current := s.Current()
	progress := s.Progress()
	worked := s.Worked
	if a.Doing == Works && a.Since.After(worked) {
		worked = a.Since
	}
	rests := a.Doing == Rests || now.Sub(worked) >= IdleAfter
	switch {
	case s.Done() && progress.Failed > 0 && progress.Done == 0:
		return InVain
	case s.Done(), len(s.Items)+len(s.Later) == 0 && (!a.Here || rests && !s.IsChat()):
		return Finished
	case s.Archived:
		return Away
	case !a.Here:
		return LeftOpen
	case a.Asks != "", !current && slices.ContainsFunc(s.Items, func(i Item) bool { return i.Status == Blocked }):
		return Waiting
	case rests:
		return Idle
	}
	return Working
}

// ChangedList is called with a list that changed in a period: how it stands now, and its revisions up
// to the end of the period, ascending and read as they are asked for, to the first error.
type ChangedList func(st Standing, revisions iter.Seq2[Snapshot, error]) error
