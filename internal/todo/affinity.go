package todo

import "time"

// CandidateAge is how long a list of a shared scope stays a candidate for a
// whole-list write without being touched.
const CandidateAge = 7 * 24 * time.Hour

// Affinity chooses for a whole-list write in a scope that may carry several
// conversations: the list that shares the most texts with lines, at least half
// of the smaller of the two (of equals the one saved last); else the current
// one (by id) if it is empty or about to be; else none, and a list begins, so
// that a settled list stays as it ended. Lists not touched for [CandidateAge]
// before at are left alone.
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
		now, ok := ByID(current)(lists)
		if ok && (len(lines) == 0 || len(now.Items) == 0) {
			return now, true
		}
		return Snapshot{}, false
	}
}

// ByItem chooses, for a change of one item, the current list (by id) if it has
// the item, else the open list saved last that has it.
func ByItem(item, current string) Chooser {
	return func(lists []Snapshot) (Snapshot, bool) {
		now, ok := ByID(current)(lists)
		if _, has := now.Item(item); ok && has {
			return now, true
		}
		for _, s := range lists {
			if _, has := s.Item(item); has && !s.Settled() {
				return s, true
			}
		}
		return now, ok
	}
}

// ByID chooses the list with an id.
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

// shared counts items whose folded text or active text is wanted, each want
// used once.
func shared(want map[string]int, items []Item) int {
	left := make(map[string]int, len(want))
	for k, v := range want {
		left[k] = v
	}
	n := 0
	for _, item := range items {
		for _, key := range []string{Fold(item.Text), Fold(item.ActiveText())} {
			if left[key] > 0 {
				left[key]--
				n++
				break
			}
		}
	}
	return n
}
