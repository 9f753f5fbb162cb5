package todo

import "slices"

// DiffKind is what happened to an item between two snapshots.
type DiffKind string

// The kinds of difference.
const (
	Added   DiffKind = "added"
	Removed DiffKind = "removed"
	Moved   DiffKind = "moved"   // only its position changed
	Changed DiffKind = "changed" // its text, active text, status or reason changed
)

// Difference is how one item differs between two snapshots.
type Difference struct {
	Kind   DiffKind `json:"kind"`
	Before Item     `json:"before,omitzero"` // zero when added
	After  Item     `json:"after,omitzero"`  // zero when removed
}

// Diff returns what changed from one snapshot of a list to a later one: first
// the items of the later snapshot in its order, then the removed items.
// Unchanged items are left out; the result is nil when nothing changed.
func Diff(before, after Snapshot) []Difference {
	var out []Difference
	unmoved := longestCommonSubsequence(before.Items, after.Items)
	for n, item := range after.Items {
		old, ok := itemNear(before.Items, n, item.ID)
		switch {
		case !ok:
			out = append(out, Difference{Kind: Added, After: item})
		case !old.same(item):
			out = append(out, Difference{Kind: Changed, Before: old, After: item})
		case !unmoved[item.ID]:
			out = append(out, Difference{Kind: Moved, Before: old, After: item})
		}
	}
	for n, item := range before.Items {
		if _, ok := itemNear(after.Items, n, item.ID); !ok {
			out = append(out, Difference{Kind: Removed, Before: item})
		}
	}
	return out
}

// longestCommonSubsequence returns the ids of the longest subsequence of items
// that a and b have in the same order. All other items count as moved, so that
// moving one item is one move.
func longestCommonSubsequence(a, b []Item) map[string]bool {
	indexInA := placesOf(a)
	// The longest increasing subsequence of b's indexes in a, by patience
	// sorting.
	var tails []int // tails[n]: index in b of the smallest end of length n+1
	prev := make([]int, len(b))
	for i, item := range b {
		place, ok := indexInA[item.ID]
		if !ok {
			continue
		}
		n, _ := slices.BinarySearchFunc(tails, place, func(i, place int) int { return indexInA[b[i].ID] - place })
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
	common := make(map[string]bool)
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = prev[i] {
			common[b[i].ID] = true
		}
	}
	return common
}
