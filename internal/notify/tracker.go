package notify

import (
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	// sameAfter is the least time between two notices of a list in the same state.
	sameAfter = 10 * time.Minute
	// skew is how much the clocks of two processes may differ.
	skew = time.Minute
)

// tracker decides which lists a person gets notices of, and when. It knows only the lists of the last call of see.
type tracker struct {
	began time.Time         // no notice is sent of a state that is older
	lists map[string]*track // by the main list's id
}

// track is what is known of one group.
type track struct {
	state   todo.State
	since   time.Time // when it was first seen in this state
	seq     int64
	pending bool      // a notice of the state is to be sent
	due     time.Time // when it may be sent
}

// see takes in the states of all groups. A new state is pending, unless it is old or a person caused it.
func (t *tracker) see(now time.Time, groups map[string]*account.Group) {
	seen := make(map[string]*track, len(groups))
	for id, f := range groups {
		k, happens := t.lists[id], true
		if k == nil { // an imported list is new, but its state is old
			k, happens = &track{}, !f.Updated().Before(t.began) && now.Sub(f.Updated()) < skew
		}
		seen[id] = k
		state, seq := f.State(), f.Seq()
		if f.Bare() {
			state = todo.Away // no notice is of this state
		}
		if state != k.state {
			form, toldOf := forms[eventOf(state)]
			k.state, k.since, k.due, k.pending = state, now, now.Add(form.delay), toldOf && happens
		}
		isByPerson := func(l todo.Snapshot) bool { return l.Seq == seq && l.Writer.Person }
		if seq != k.seq && slices.ContainsFunc(f.Lists(), isByPerson) {
			k.pending = false
		}
		k.seq = seq
	}
	t.lists = seen
}

// due returns the lists whose notice is to be sent now. With end, at the process's end, lists that ended need not wait.
func (t *tracker) due(now time.Time, end bool) (ids []string) {
	for id, k := range t.lists {
		if k.pending && (!k.due.After(now) || end && k.state.Ended()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// told notes that a process sent a notice of a list. If it did before the list's state began, the state stays pending.
func (t *tracker) told(id string, at time.Time) {
	k := t.lists[id]
	k.due, k.pending = at.Add(sameAfter), at.Before(k.since.Add(-skew))
}
