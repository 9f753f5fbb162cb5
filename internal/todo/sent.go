package todo

import (
	"iter"
	"maps"
	"slices"
)

// This file compares what an agent writes with lists: which of them it knows, and which it
// goes on with.

// Sent is what a whole-list write sends. In other writes it has no lines.
type Sent struct {
	// Lines are the lines of the write, as View has them; nil in other writes, and empty in
	// one that clears its list.
	Lines []Line
	View  View

	folded folded // Lines, once they were compared with a list
}

// HasAny reports whether the write has an item of a list, by its id or by what it is called.
func (s *Sent) HasAny(list Snapshot) bool {
	for i, line := range s.Lines[:min(len(s.Lines), len(list.Items))] {
		if line.Text == list.Items[i].Text {
			return true // as almost always
		}
	}
	return s.shared(list.Items) > 0 || s.named(list.Items) > 0
}

// NamesAll reports whether each line names an item of a list by its id.
func (s *Sent) NamesAll(list Snapshot) bool { return s.named(list.Items) == len(s.Lines) }

// named counts the lines that name an item by its id. The numbers that agents give items
// themselves begin anew with each plan, and name none.
func (s *Sent) named(items []Item) (count int) {
	near := Near(items)
	if s.View.Keys {
		places := s.View.placesOf(items)
		near = func(_ int, id string) (i Item, ok bool) { _, ok = places[id]; return i, ok && ItemNumber(id) == 0 }
	}
	for n, l := range s.Lines {
		if _, names := near(n, l.ID); names {
			count++
		}
	}
	return count
}

// Count counts the items of a list that the write has. It returns 0 as soon as too many are
// missing for a write that continues the list. Of a list that a person wrote last any may be:
// its agent need not have been shown them.
func (s *Sent) Count(list Snapshot) int {
	missing := len(list.Items)
	if !list.Writer.Person {
		missing = mayMiss(list.Items) // what an agent wrote it was shown
	}
	return s.texts().in(list.Items, missing)
}

// Continues reports whether the write shows that its agent knows a list as it was shown to
// its agents: four fifths of its items, and two, or all of the one that its conversation
// holds. Where agents finished items one of these has to be sent as finished: a plan of the
// same shape for another task has none.
func (s *Sent) Continues(shown Snapshot, isCurrent bool) bool {
	n := s.texts().in(shown.Items, mayMiss(shown.Items))
	if n == 0 || n < 2 && !(isCurrent && n == len(shown.Items)) {
		return false
	}
	finished := slices.DeleteFunc(slices.Clone(shown.Items), func(i Item) bool { return !i.Status.Settled() || i.ByPerson })
	if s.View.Words == nil || len(finished) == 0 {
		return true
	}
	sent := slices.DeleteFunc(slices.Clone(s.Lines), func(l Line) bool {
		status, ok := s.View.Core(l.Status)
		return !ok || !status.Settled()
	})
	return fold(sent).in(finished, len(finished)) > 0
}

// mayMiss returns how many of the items that its agents were shown a whole-list write that
// continues a list may lack: a fifth.
func mayMiss(shown []Item) int { return len(shown) / 5 }

// Keeps reports whether the write keeps at least half of a list's open items, and two of its
// items (all, where list or write has fewer): then its agent knows the list.
func (s *Sent) Keeps(list Snapshot) bool {
	open := open(list.Items)
	return 2*s.shared(open) >= len(open) && s.shared(list.Items) >= min(2, len(s.Lines), len(list.Items))
}

// saysItself returns a function that reports whether the write gives an item the status
// that others gave it since a revision, as an agent does that was told of it elsewhere, such
// as by the page in its chat.
func (s *Sent) saysItself(base Snapshot) func(Difference) bool {
	sent := make(map[string]string)
	for n, item := range match(s.View, base.Items, s.Lines) {
		if item != nil {
			sent[item.ID] = s.Lines[n].Status
		}
	}
	return func(d Difference) bool {
		before, _ := s.View.Show(d.Before)
		after, isShown := s.View.Show(d.After)
		return d.Kind == Changed && d.Before.Text == d.After.Text && d.Before.Reason == d.After.Reason &&
			isShown && before.Status != after.Status && sent[d.After.ID] == after.Status
	}
}

// shared counts the items that a line has. Each line counts for one item at most.
func (s *Sent) shared(items []Item) (n int) { return s.texts().in(items, len(items)) }

func (s *Sent) texts() folded {
	if s.folded == nil {
		s.folded = fold(s.Lines)
	}
	return s.folded
}

// folded is how many lines have a folded text.
type folded map[string]int

func fold(lines []Line) folded {
	texts := make(folded, len(lines))
	for _, l := range lines {
		texts[Fold(l.Text)]++
	}
	return texts
}

// in counts the items that a line has, see [Sent.shared]. It returns 0 as soon as more than
// some are missing.
func (f folded) in(items []Item, missing int) (n int) {
	unmatched := maps.Clone(f)
	for i, item := range items {
		for name := range item.names() {
			if unmatched[name] > 0 {
				unmatched[name]--
				n++
				break
			}
		}
		if i+1-n > missing {
			return 0
		}
	}
	return n
}

// names yields the folded texts by which an agent may mean the item: its text, its
// active text, the short forms of a long text, and the wordings that a person replaced.
func (i Item) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(Fold(i.Text)) || i.ActiveText() != i.Text && !yield(Fold(i.Active)) {
			return
		}
		for _, text := range slices.Concat(shortened(i.Text), i.Hand.wordings()) {
			if !yield(Fold(text)) {
				return
			}
		}
	}
}

// isNamed reports whether one of the item's names is what is asked for.
func (i Item) isNamed(is func(name string) bool) bool {
	for name := range i.names() {
		if is(name) {
			return true
		}
	}
	return false
}

// Names returns the folded texts by which an agent may mean one of the items: its own, as
// the agent was told it, or one that a person replaced.
func Names(items []Item) map[string]bool {
	names := make(map[string]bool, 2*len(items))
	for _, item := range items {
		for name := range item.names() {
			names[name] = true
		}
	}
	return names
}
