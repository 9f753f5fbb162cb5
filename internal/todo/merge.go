package todo

import "slices"

// merge3 is a three-way merge of two independent changes of one list: base →
// theirs, which is stored, and base → mine, which is requested.
//
//   - What only one side changed is taken from that side: additions, texts,
//     statuses, removals.
//   - An item that theirs settled or removed stays settled or removed.
//   - A field that both changed otherwise is taken from mine, the later change.
//   - An item that mine removed but theirs changed stays.
//
// Items of mine that are not in base are new, unless theirs added one with the
// same folded text. The order is the one of mine, or of theirs where only theirs changed
// it; an item placed only by theirs follows the item it follows there. next returns the
// ids of new items.
func merge3(base, theirs, mine []Item, next func() string) []Item {
	m := merger{base: byID(base), theirs: byID(theirs), next: next}
	added := m.addedByText(theirs)
	var out []Item
	placed := make(map[string]bool)
	for _, item := range mine {
		merged, stays := m.mergeItem(item, added)
		if stays && !placed[merged.ID] {
			placed[merged.ID] = true
			out = append(out, merged)
		}
	}
	// Insert the stored items that are not placed yet: those that theirs added,
	// and those that theirs changed and mine removed.
	last := ""
	for _, item := range theirs {
		before, known := m.base[item.ID]
		if !placed[item.ID] && (!known || !item.same(before)) {
			index := slices.IndexFunc(out, func(i Item) bool { return i.ID == last }) + 1
			out = slices.Insert(out, index, item)
			placed[item.ID] = true
		}
		if placed[item.ID] {
			last = item.ID
		}
	}
	if InSameOrder(base, mine) && !InSameOrder(base, theirs) {
		out = inOrderOf(theirs, out)
	}
	return out
}

type merger struct {
	base, theirs map[string]Item
	next         func() string
}

func byID(items []Item) map[string]Item {
	m := make(map[string]Item, len(items))
	for _, i := range items {
		m[i.ID] = i
	}
	return m
}

// addedByText returns the items that theirs added, by folded text, in order.
func (m merger) addedByText(theirs []Item) map[string][]Item {
	added := make(map[string][]Item)
	for _, i := range theirs {
		if _, known := m.base[i.ID]; !known {
			added[Fold(i.Text)] = append(added[Fold(i.Text)], i)
		}
	}
	return added
}

// mergeItem merges an item of mine. It returns false when theirs removed the
// item.
func (m merger) mergeItem(mine Item, added map[string][]Item) (Item, bool) {
	base, known := m.base[mine.ID]
	if !known {
		if same := added[Fold(mine.Text)]; len(same) > 0 {
			theirs := same[0]
			added[Fold(mine.Text)] = same[1:] // a repeat of mine is another item
			return mergeFields(Item{ID: theirs.ID, Text: theirs.Text, Status: Pending}, theirs, mine), true
		}
		mine.ID = m.next()
		return mine, true
	}
	theirs, stored := m.theirs[mine.ID]
	if !stored {
		return Item{}, false
	}
	return mergeFields(base, theirs, mine), true
}

// mergeFields merges the fields of an item that is in both theirs and mine.
func mergeFields(base, theirs, mine Item) Item {
	out := theirs
	take(&out.Text, base.Text, mine.Text)
	take(&out.Active, base.Active, mine.Active)
	take(&out.Priority, base.Priority, mine.Priority)
	take(&out.DueDate, base.DueDate, mine.DueDate)
	take(&out.Owner, base.Owner, mine.Owner)
	take(&out.WaitsFor, base.WaitsFor, mine.WaitsFor)
	take(&out.Hand, base.Hand, mine.Hand)
	settledByTheirs := theirs.Status.Settled() && theirs.Status != base.Status
	if mine.Status != base.Status && !settledByTheirs {
		out.takeStatus(mine)
	}
	return out
}

// take sets a field to mine if that is another one than in base.
func take[T comparable](field *T, base, mine T) {
	if mine != base {
		*field = mine
	}
}
