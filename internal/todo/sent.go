package todo

import "slices"

// Sent has the lines of a whole-list write. To clear the list, Lines is empty but not nil; in other writes it is nil.
type Sent struct {
	Lines []Line
	View  View
}

// HasAny reports whether a line of the write means an item of a list, by the item's id or one of its texts.
func (s *Sent) HasAny(list Snapshot) bool {
	for i, line := range s.Lines[:min(len(s.Lines), len(list.Items))] {
		if line.Text == list.Items[i].Text {
			return true // the fast path
		}
	}
	return s.named(list.Items) > 0 || s.Count(list.Items) > 0
}

// NamesAll reports whether each line names an item of a list by its id, as [Sent.named] counts it.
func (s *Sent) NamesAll(list Snapshot) bool { return s.named(list.Items) == len(s.Lines) }

// named counts lines that name an item by its id. An agent's own id does not count if it is a number: any plan has a 1.
func (s *Sent) named(items []Item) (count int) {
	places := s.View.placesOf(items)
	for _, l := range s.Lines {
		if _, names := places[l.ID]; names && !(s.View.Keys && ItemNumber(l.ID) > 0) {
			count++
		}
	}
	return count
}

// match calls the package's function match with the lines of the write, but without ids.
func (s *Sent) match(items []Item) []*Item {
	lines := slices.Clone(s.Lines)
	for n := range lines {
		lines[n].ID = ""
	}
	return match(s.View, items, lines)
}

// Count counts the items that the lines match.
func (s *Sent) Count(items []Item) (n int) {
	for _, item := range s.match(items) {
		if item != nil {
			n++
		}
	}
	return n
}

// IsOn reports whether a list has, for each line, an item with exactly the line's text.
func (s *Sent) IsOn(list Snapshot) bool {
	texts := make(map[string]bool, len(list.Items))
	for _, i := range list.Items {
		texts[i.Text] = true
	}
	return !slices.ContainsFunc(s.Lines, func(l Line) bool { return !texts[l.Text] })
}

// Continues reports whether the write shows that its agent knows a list; shown is the list as its agents last saw it.
// The write must have four fifths of the list's items: at least two, or the only item of the current list. If agents
// settled items, the write must send one of these as settled; a similar plan for another task would not.
func (s *Sent) Continues(shown Snapshot, isCurrent bool) bool {
	all, n := len(shown.Items), 0
	if 5*len(s.Lines) < 4*all {
		return false
	}
	isFinished := func(i Item) bool { return i.Status.Settled() && !i.ByPerson }
	knowsEnd := s.View.Words == nil || !slices.ContainsFunc(shown.Items, isFinished)
	for l, item := range s.match(shown.Items) {
		if item != nil {
			n++
			status, _ := s.View.Core(s.Lines[l].Status)
			knowsEnd = knowsEnd || isFinished(*item) && status.Settled()
		}
	}
	return knowsEnd && 5*n >= 4*all && (n > 1 || isCurrent && n == 1 && all == 1)
}

// Keeps reports whether the agent surely knows a list: it sends half of the open items, and two items or the only one.
func (s *Sent) Keeps(list Snapshot) bool {
	open := open(list.Items)
	return 2*s.Count(open) >= len(open) && s.Count(list.Items) >= min(2, len(s.Lines), len(list.Items))
}

// saysItself returns a function that reports whether a difference is a status that others set since base and that the
// write sends, too. The agent then knows this change already, for example from the page in its chat.
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

// names returns the folded texts by which an agent may mean the item, also short forms and replaced wordings.
func (i Item) names() []string {
	names := slices.Concat([]string{i.Text, i.ActiveText()}, shortened(i.Text), i.PersonEdit.wordings())
	for n, text := range names {
		names[n] = Fold(text)
	}
	return names
}

// isNamed reports whether an agent may mean the item by a text.
func (i Item) isNamed(text string) bool { return slices.Contains(i.names(), Fold(text)) }

// Names returns the folded texts by which an agent may mean one of the items.
func Names(items []Item) map[string]bool {
	names := make(map[string]bool, 2*len(items))
	for _, item := range items {
		for _, name := range item.names() {
			names[name] = true
		}
	}
	return names
}
