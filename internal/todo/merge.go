package todo

import (
	"cmp"
	"slices"
	"strings"
)

// merge3 is a three-way merge of two independent changes of one list: base →
// theirs, which is stored, and base → mine, which is requested.
//
//   - What only one side changed is taken from that side: additions, texts, statuses, removals.
//   - An item that theirs settled or removed stays settled or removed.
//   - Any other field that both changed is taken from mine.
//   - An item that mine removed but theirs changed stays.
//
// Items of mine that are not in base are new, unless theirs added one with the same folded text. The
// order is that of mine, or of theirs if only theirs changed it; an item that only theirs has follows
// the same item as in theirs. next returns the ids of new items.
func merge3(base, theirs, mine []Item, next func() string) []Item {
	renamed := make(map[string]string)                                         // the ids of mine's new items
	inBase, stored, added := Near(base), Near(theirs), make(map[string][]Item) // added by theirs, by folded text
	for n, i := range theirs {
		if _, known := inBase(n, i.ID); !known {
			added[Fold(i.Text)] = append(added[Fold(i.Text)], i)
		}
	}
	out := make([]Item, 0, len(mine))
	for n, item := range mine {
		before, known := inBase(n, item.ID)
		now, stays := stored(n, item.ID)
		text := Fold(item.Text)
		switch same := added[text]; {
		case known && !stays:
			continue
		case known:
			item = mergeFields(before, now, item)
		case len(same) > 0:
			added[text] = same[1:] // a second item with this text is another one
			renamed[item.ID] = same[0].ID
			item = mergeFields(Item{ID: same[0].ID, Text: same[0].Text, Status: Pending}, same[0], item)
		default:
			id := next()
			renamed[item.ID], item.ID = id, id
		}
		out = append(out, item)
	}
	rename(out, base, renamed)
	// Items that theirs added, and those that theirs changed and mine removed, come back.
	out = WithMissing(out, theirs, func(i Item) bool {
		before, known := inBase(0, i.ID)
		return !known || !i.same(before)
	})
	if InSameOrder(base, mine) && !InSameOrder(base, theirs) {
		out = inOrderOf(theirs, out)
	}
	return out
}

// rename puts the final ids of new items into WaitsFor.
func rename(items, base []Item, renamed map[string]string) {
	inBase := Near(base)
	for n, item := range items {
		if before, _ := inBase(n, item.ID); len(renamed) == 0 || before.WaitsFor == item.WaitsFor {
			continue
		}
		ids := item.Waits()
		for i, id := range ids {
			ids[i] = cmp.Or(renamed[id], id)
		}
		items[n].WaitsFor = strings.Join(ids, ",")
	}
}

// WithMissing adds to items those that only others has, if stays is true for them, each behind its predecessor there.
func WithMissing(items, others []Item, stays func(Item) bool) []Item {
	placed, last, following := placesOf(items), "", make(map[string][]Item)
	for _, item := range others {
		if _, isPlaced := placed[item.ID]; isPlaced {
			last = item.ID
		} else if stays(item) {
			following[last] = append(following[last], item)
		}
	}
	out := following[""]
	for _, item := range items {
		out = append(append(out, item), following[item.ID]...)
	}
	return out
}

func mergeFields(base, theirs, mine Item) Item {
	out := theirs
	take(&out.Text, base.Text, mine.Text)
	take(&out.Active, base.Active, mine.Active)
	take(&out.Priority, base.Priority, mine.Priority)
	take(&out.DueDate, base.DueDate, mine.DueDate)
	take(&out.Key, base.Key, mine.Key)
	take(&out.Details, base.Details, mine.Details)
	if mine.Owner != base.Owner || mine.Holder != base.Holder {
		out.Owner, out.Holder = mine.Owner, mine.Holder
	}
	take(&out.WaitsFor, base.WaitsFor, mine.WaitsFor)
	take(&out.PersonEdit, base.PersonEdit, mine.PersonEdit)
	take(&out.Added, base.Added, mine.Added)
	take(&out.Deleted, base.Deleted, mine.Deleted)
	settledByTheirs := theirs.Status.Settled() && theirs.Status != base.Status
	if (mine.Status != base.Status || mine.Reason != base.Reason) && !settledByTheirs {
		out.takeStatus(mine)
	}
	return out
}

// take sets a field to mine if mine changed it.
func take[T comparable](field *T, base, mine T) {
	if mine != base {
		*field = mine
	}
}

// match returns for each line the stored item that it means, or nil. It compares ids first, then whole
// lines as the view shows them (so that repeated texts match themselves), then exact texts, then the
// texts as shown, then [Item.names]. Each item matches one line at most; of equal items the first one
// matches the first line. Items that the view leaves out are tried last.
func match(view View, stored []Item, lines []Line) []*Item {
	out := make([]*Item, len(lines))
	if len(lines) < len(stored) {
		return matchByKeys(view, stored, lines)
	}
	texts := make(map[string]bool, len(lines))
	for n, line := range lines {
		item, shown, isPlaced := Item{}, line, line.ID == ""
		if n < len(stored) {
			item = stored[n]
			shown, isPlaced = view.Show(item)
			isPlaced = isPlaced && (line.Text == shown.Text || line.Text == item.Text) && (line.ID == "" || line.ID == shown.ID)
			out[n] = &stored[n]
		}
		if !isPlaced || texts[shown.Text] || texts[item.Text] {
			return matchByKeys(view, stored, lines)
		}
		texts[shown.Text], texts[item.Text] = true, item.Text != ""
	}
	return out // the fast path: each line means the item at its place
}

// ranks is the number of kinds of keys by which lines and items are compared.
const ranks = 5

func matchByKeys(view View, stored []Item, lines []Line) []*Item {
	type ranked struct {
		rank int
		key  string
	}
	having, ofLines := make(map[ranked][]int), make([][ranks]string, len(lines)) // having has indexes of items
	named := view.Keys && slices.ContainsFunc(stored, func(i Item) bool { return i.Key != "" })
	for i, item := range stored {
		for rank, keys := range itemKeys(view, item) {
			if rank == 0 && named && item.Key == "" {
				continue // agents name their items, and not this one
			}
			for _, key := range keys {
				having[ranked{rank, key}] = append(having[ranked{rank, key}], i)
			}
		}
	}
	for l, line := range lines {
		ofLines[l] = lineKeys(line)
	}
	out, taken := make([]*Item, len(lines)), make([]bool, len(stored))
	for rank := range 2 * ranks {
		for l, keys := range ofLines {
			key := keys[rank%ranks]
			if out[l] != nil || key == "" {
				continue
			}
			for _, i := range having[ranked{rank, key}] {
				if !taken[i] {
					out[l], taken[i] = &stored[i], true
					break
				}
			}
		}
	}
	return out
}

// lineKeys returns the keys by which a line may match an item, the surest first.
func lineKeys(l Line) [ranks]string {
	return [ranks]string{l.ID, l.Text + "\n" + l.Active + "\n" + l.Status, l.Text, l.Text, Fold(l.Text)}
}

// itemKeys returns the [lineKeys] of lines that may mean an item. If the view hides it, they are in the second half.
func itemKeys(view View, i Item) (keys [2 * ranks][]string) {
	shown, isShown := view.Show(i)
	at := keys[ranks:]
	if isShown {
		at = keys[:]
		at[0], at[1], at[3] = []string{shown.ID}, []string{lineKeys(shown)[1]}, []string{shown.Text}
	}
	at[2], at[4] = []string{i.Text}, i.names()
	return keys
}

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

// Diff returns which items changed between two snapshots, in the later one's order, then removed ones; or nil.
func Diff(before, after Snapshot) []Difference {
	var out []Difference
	moved := movedItems(before.Items, after.Items)
	find := Near(before.Items)
	for n, item := range after.Items {
		old, ok := find(n, item.ID)
		switch {
		case !ok:
			out = append(out, Difference{Kind: Added, After: item})
		case !old.same(item):
			out = append(out, Difference{Kind: Changed, Before: old, After: item})
		case moved[item.ID]:
			out = append(out, Difference{Kind: Moved, Before: old, After: item})
		}
	}
	find = Near(after.Items)
	for n, item := range before.Items {
		if _, ok := find(n, item.ID); !ok {
			out = append(out, Difference{Kind: Removed, Before: item})
		}
	}
	return out
}
