package notify

import (
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	// anyAfter is how long after a notice of a list the next one of it comes at the
	// earliest, and sameAfter the next one of the same state.
	anyAfter, sameAfter = time.Minute, 10 * time.Minute
	// skew is how much the clocks of two processes may differ.
	skew = time.Minute
)

// tracker decides of which lists a person is told, and when: it is shown how all stand
// and the time, and does nothing else. It knows those that it was shown last alone.
type tracker struct {
	began time.Time         // what was so before is not told
	lists map[string]*track // by the main list's id
}

// track is what is known of one group.
type track struct {
	state   todo.State
	since   time.Time // when it was first seen in this state
	seq     int64
	pending bool // its state is to be told
	last    time.Time
	told    map[todo.State]time.Time // when each state was told last
}

// see takes in how all groups stand. What stood so before the start is not told, nor
// what a person's write brought about.
func (t *tracker) see(now time.Time, groups map[string]*account.Group) {
	seen := make(map[string]*track, len(groups))
	for id, f := range groups {
		k, happens := t.lists[id], true
		if k == nil { // one that is imported comes to stand in no way
			k, happens = &track{told: make(map[todo.State]time.Time)}, !f.Updated().Before(t.began) && now.Sub(f.Updated()) < skew
		}
		seen[id] = k
		state, seq := f.State(), f.Seq()
		if f.Bare() {
			state = todo.Away // it says nothing
		}
		_, toldOf := forms[eventOf(state)]
		if state != k.state {
			k.state, k.since, k.pending = state, now, toldOf && happens
		}
		if seq != k.seq && byPerson(f, seq) {
			k.pending = false
		}
		k.seq = seq
	}
	t.lists = seen
}

// byPerson reports whether a person made a group's revision with this Seq.
func byPerson(f *account.Group, seq int64) bool {
	return slices.ContainsFunc(f.Lists(), func(l todo.Snapshot) bool { return l.Seq == seq && l.Writer.Person })
}

// dueAt returns when a list is to be told of.
func (k *track) dueAt() time.Time {
	at := k.since.Add(forms[eventOf(k.state)].delay)
	for _, earliest := range []time.Time{k.last.Add(anyAfter), k.told[k.state].Add(sameAfter)} {
		if earliest.After(at) {
			at = earliest
		}
	}
	return at
}

// due returns the lists that are to be told of now; at the end of the process also those
// that ended just now, since nobody may be there to tell of them later.
func (t *tracker) due(now time.Time, end bool) (ids []string) {
	for id, k := range t.lists {
		if k.pending && (!k.dueAt().After(now) || end && k.state.Ended()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// next returns when the next list will be due if nothing changes; zero for none.
func (t *tracker) next() (at time.Time) {
	for _, k := range t.lists {
		if due := k.dueAt(); k.pending && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	return at
}

// told notes that a list was told of at a time, by this process or another. Where that was
// before the list came to stand so, it stays to be told.
func (t *tracker) told(id string, at time.Time) {
	k := t.lists[id]
	k.told[k.state] = at
	if at.After(k.last) {
		k.last = at
	}
	k.pending = at.Before(k.since.Add(-skew))
}
