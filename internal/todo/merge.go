package todo

import (
	"cmp"
	"slices"
	"strings"
)

// merge3 is a three-way merge of two independent changes of one list: base →
// theirs, which is stored, and base → mine, which is requested.
//
//   - A change that only one side made is kept: an addition, text, status or removal.
//   - An item that theirs settled or removed stays settled or removed.
//   - Any other field that both sides changed is taken from mine.
//   - An item that mine removed but theirs changed stays.
//
// Items of mine that are not in base are new, unless theirs added an item with the same folded text. The order is that
// of mine, or of theirs if only theirs changed it; an item that only theirs has stays behind its predecessor in theirs.
// Each call of the parameter next returns the id of a new item.
func merge3(base, theirs, mine []Item, next func() string) []Item {
	renamed := make(map[string]string)                                         // final ids of new items, by draft id
	inBase, stored, added := Near(base), Near(theirs), make(map[string][]Item) // new items of theirs, by folded text
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
			added[text] = same[1:] // a second item with this text is a new item
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

// WithMissing inserts each item that only others has, if stays returns true for it, behind its predecessor in others.
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

// take sets *field to mine if mine differs from base.
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
	return out // the fast path: each line means the item at its index
}

// ranks is the number of kinds of keys by which lines and items are compared.
const ranks = 5

// matchByKeys matches lines and items by one kind of key after the other, until all lines or all items are matched.
func matchByKeys(view View, stored []Item, lines []Line) []*Item {
	named := view.Keys && slices.ContainsFunc(stored, func(i Item) bool { return i.Key != "" })
	out, taken, left := make([]*Item, len(lines)), make([]bool, len(stored)), min(len(lines), len(stored))
	for rank := 0; rank < 2*ranks && left > 0; rank++ {
		having := make(map[string][]int) // indexes of items
		for i, item := range stored {
			if taken[i] || rank == 0 && named && item.Key == "" { // agents give items keys, but gave this item none
				continue
			}
			for _, key := range itemKeys(view, item, rank) {
				having[key] = append(having[key], i)
			}
		}
		for l, line := range lines {
			if out[l] != nil || len(having) == 0 {
				continue
			}
			key := lineKey(line, rank)
			free := slices.IndexFunc(having[key], func(i int) bool { return !taken[i] })
			if key != "" && free >= 0 {
				i := having[key][free]
				out[l], taken[i] = &stored[i], true
				left--
			}
		}
	}
	return out
}

// lineKey returns the key by which a line may match an item. Rank 0 is the surest. From [ranks] on, the keys repeat.
func lineKey(l Line, rank int) string {
	switch rank % ranks {
	case 0:
		return l.ID
	case 1:
		return l.Text + "\n" + l.Active + "\n" + l.Status
	case 4:
		return Fold(l.Text)
	}
	return l.Text
}

// itemKeys returns the keys ([lineKey]) by which a line may mean an item at a rank. The view shows the items of the
// ranks below [ranks], and hides those of the others.
func itemKeys(view View, i Item, rank int) []string {
	shown, isShown := view.Show(i)
	switch {
	case isShown != (rank < ranks):
		return nil
	case rank%ranks == 2:
		return []string{i.Text}
	case rank%ranks == 4:
		return i.names()
	case isShown:
		return []string{lineKey(shown, rank)}
	}
	return nil
}

// DiffKind is what happened to an item between two snapshots.
type DiffKind string

// The kinds of difference.
const (
	Added   DiffKind = "added"
	Removed DiffKind = "removed"
	Moved   DiffKind = "moved"   // only its position changed
	Changed DiffKind = "changed" // a visible field changed, see [Item.same]
)

// Difference is how one item differs between two snapshots.
type Difference struct {
	Kind   DiffKind `json:"kind"`
	Before Item     `json:"before,omitzero"` // zero when added
	After  Item     `json:"after,omitzero"`  // zero when removed
}

// Diff returns the items that changed between two snapshots, in the later one's order, then removed items; or nil.
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
