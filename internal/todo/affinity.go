package todo

import "time"

// CandidateAge is how long after its last update a list of a shared scope stays
// a candidate for whole-list writes.
const CandidateAge = 7 * 24 * time.Hour

// Affinity returns a [Chooser] for a whole-list write in a scope that may carry
// several conversations. current is the id of the list that the caller used
// last, or empty. The chooser picks the first of these that exists:
//
//   - of the lists that share at least half of the shorter one's texts with
//     lines, the one that shares the most, and among equals the one saved last.
//     Lists last updated more than [CandidateAge] before at are not compared;
//   - the current list, if it has no items or lines is empty;
//   - none: the write begins a list, so that a settled list stays as it ended.
func Affinity(lines []Line, current string, at time.Time) Chooser {
	want := make(map[string]int, len(lines))
	for _, l := range lines {
		want[Fold(l.Text)]++
	}
	return func(lists []Snapshot) (chosen Snapshot, ok bool) {
		best := 0
		for _, s := range lists {
			if at.Sub(s.Updated) > CandidateAge {
				continue
			}
			n := shared(want, s.Items)
			if n > best && 2*n >= min(len(lines), len(s.Items)) {
				best, chosen, ok = n, s, true
			}
		}
		if ok {
			return chosen, true
		}
		currentList, ok := ByID(current)(lists)
		if ok && (len(lines) == 0 || len(currentList.Items) == 0) {
			return currentList, true
		}
		return Snapshot{}, false
	}
}

// ByItem returns a [Chooser] for a change of one item. current is the id of the
// list that the caller used last, or empty. The chooser picks the current list
// if it has the item, else the list saved last that has it and is not settled,
// else the current list even without the item.
func ByItem(item, current string) Chooser {
	return func(lists []Snapshot) (Snapshot, bool) {
		currentList, ok := ByID(current)(lists)
		if _, has := currentList.Item(item); ok && has {
			return currentList, true
		}
		for _, s := range lists {
			if _, has := s.Item(item); has && !s.Settled() {
				return s, true
			}
		}
		return currentList, ok
	}
}

// ByID returns a [Chooser] that picks the list with an id.
func ByID(id string) Chooser {
	return func(lists []Snapshot) (Snapshot, bool) {
		for _, s := range lists {
			if s.List.ID == id {
				return s, true
			}
		}
		return Snapshot{}, false
	}
}

// shared counts the items that have their folded text or active text in want.
// A text in want is matched at most as many times as want counts it.
func shared(want map[string]int, items []Item) int {
	unmatched := make(map[string]int, len(want))
	for k, v := range want {
		unmatched[k] = v
	}
	n := 0
	for _, item := range items {
		for _, key := range []string{Fold(item.Text), Fold(item.ActiveText())} {
			if unmatched[key] > 0 {
				unmatched[key]--
				n++
				break
			}
		}
	}
	return n
}
