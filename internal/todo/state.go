package todo

import (
	"iter"
	"slices"
	"time"
)

// State is how a list stands, in the words of all front ends.
type State string

// The states. A list without items is Working while its agent may be about to fill
// it, and then Finished. What [Chat.AsList] returns is Finished once the chat is gone.
const (
	// Working: its agent is there and wrote within [IdleAfter].
	Working State = "working"
	// Idle: its agent is there and has ended its turn, or has not written for [IdleAfter].
	Idle State = "idle"
	// Waiting: its agent is there and asks a person for something, or nothing is in
	// progress and an item is blocked.
	Waiting State = "waiting"
	// LeftOpen: items are open and no agent is there.
	LeftOpen State = "left open"
	// Away: items are open, and the list was put away.
	Away State = "archived"
	// Finished: all items are settled.
	Finished State = "finished"
	// InVain: all items are settled, some failed, and none is completed.
	InVain State = "failed"
)

// IdleAfter is for how long after its last write an agent counts as working.
const IdleAfter = 10 * time.Minute

// LapseAfter is for how long nobody changes a list that is left open until it counts as archived.
const LapseAfter = 14 * 24 * time.Hour

// Rests reports whether no agent works on a list in this state.
func (s State) Rests() bool { return s == LeftOpen || s == Away || s.Ended() }

// Ended reports whether nothing more is expected of a list in this state.
func (s State) Ended() bool { return s == Finished || s == InVain }

// State returns in which state the list is with its agents.
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

// ChangedList is called with a list that changed in a time: how it stands now, and its
// revisions up to the end of the time, ascending, each of which is read when it is asked
// for. They end with an error that is yielded.
type ChangedList func(st Standing, revisions iter.Seq2[Snapshot, error]) error
