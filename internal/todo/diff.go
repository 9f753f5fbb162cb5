package todo

// DiffKind says what happened to an item between two snapshots.
type DiffKind string

// The kinds of difference.
const (
	Added   DiffKind = "added"
	Removed DiffKind = "removed"
	Moved   DiffKind = "moved"   // only its place changed
	Changed DiffKind = "changed" // its text, active text or status did
)

// Difference is one item's way from one snapshot to another.
type Difference struct {
	Kind   DiffKind `json:"kind"`
	Before Item     `json:"before,omitzero"` // zero when added
	After  Item     `json:"after,omitzero"`  // zero when removed
}

// Diff lists what changed from one snapshot of a list to a later one: items of
// the later in its order, then those removed. Items that stayed are left out.
func Diff(before, after Snapshot) []Difference {
	var out []Difference
	stay := longestCommon(before.Items, after.Items)
	for _, item := range after.Items {
		old, ok := before.Item(item.ID)
		switch {
		case !ok:
			out = append(out, Difference{Kind: Added, After: item})
		case !old.same(item):
			out = append(out, Difference{Kind: Changed, Before: old, After: item})
		case !stay[item.ID]:
			out = append(out, Difference{Kind: Moved, Before: old, After: item})
		}
	}
	for _, item := range before.Items {
		if _, ok := after.Item(item.ID); !ok {
			out = append(out, Difference{Kind: Removed, Before: item})
		}
	}
	return out
}

// longestCommon is the set of ids in the longest run of items that keep their
// order from a to b, so that moving one item counts as one move.
func longestCommon(a, b []Item) map[string]bool {
	place := make(map[string]int, len(a))
	for i, item := range a {
		place[item.ID] = i
	}
	// Longest increasing subsequence of places, by patience sorting.
	var tails []int // index in b of the smallest end of a run of each length
	prev := make([]int, len(b))
	at := func(i int) int { return place[b[i].ID] }
	for i, item := range b {
		if _, ok := place[item.ID]; !ok {
			continue
		}
		n := 0
		for hi := len(tails); n < hi; {
			if mid := (n + hi) / 2; at(tails[mid]) < at(i) {
				n = mid + 1
			} else {
				hi = mid
			}
		}
		prev[i] = -1
		if n > 0 {
			prev[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	stay := make(map[string]bool)
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = prev[i] {
			stay[b[i].ID] = true
		}
	}
	return stay
}
