package todo

import (
	"slices"
	"strconv"
)

// merge3 puts together two changes of one list, made without knowing of each
// other: base → theirs, which is stored, and base → mine, which is asked for.
//
//   - What only one side changed is as that side has it: additions, rewordings,
//     moves of status, removals.
//   - An item that theirs closed or removed is not resurrected by mine.
//   - Where both changed the same field otherwise, mine has it: it is later.
//   - An item that mine leaves out but theirs changed stays.
//
// Items of mine that are not in base are new, unless theirs added one of the
// same text. The order is mine's, with what theirs added behind what it stood
// behind. next numbers new items.
func merge3(base, theirs, mine []Item, next func() string) []Item {
	m := merger{base: byID(base), theirs: byID(theirs), next: next}
	added := m.addedByText(theirs)
	var out []Item
	placed := make(map[string]bool)
	for _, item := range mine {
		merged, stays := m.one(item, added)
		if stays && !placed[merged.ID] {
			placed[merged.ID] = true
			out = append(out, merged)
		}
	}
	// What is stored and not placed: added by theirs, or changed by them and
	// left out by mine.
	last := ""
	for _, item := range theirs {
		before, known := m.base[item.ID]
		if !placed[item.ID] && (!known || !item.same(before)) {
			at := slices.IndexFunc(out, func(i Item) bool { return i.ID == last }) + 1
			out = slices.Insert(out, at, item)
			placed[item.ID] = true
		}
		if placed[item.ID] {
			last = item.ID
		}
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

// addedByText finds what theirs added by folded text.
func (m merger) addedByText(theirs []Item) map[string]Item {
	added := make(map[string]Item)
	for _, i := range theirs {
		if _, known := m.base[i.ID]; !known {
			added[Fold(i.Text)] = i
		}
	}
	return added
}

// one merges an item of mine; false when it does not stay.
func (m merger) one(mine Item, added map[string]Item) (Item, bool) {
	base, known := m.base[mine.ID]
	if !known {
		if theirs, ok := added[Fold(mine.Text)]; ok {
			return both(Item{ID: theirs.ID, Text: theirs.Text, Status: Pending}, theirs, mine), true
		}
		mine.ID = m.next()
		return mine, true
	}
	theirs, there := m.theirs[mine.ID]
	if !there {
		return Item{}, false // removed meanwhile: not resurrected
	}
	return both(base, theirs, mine), true
}

// both merges the fields of an item that both sides have.
func both(base, theirs, mine Item) Item {
	out := theirs
	if mine.Text != base.Text {
		out.Text = mine.Text
	}
	if mine.Active != base.Active {
		out.Active = mine.Active
	}
	closed := theirs.Status.Settled() && theirs.Status != base.Status
	if mine.Status != base.Status && !closed {
		out.Status, out.Reason, out.Started, out.Ended = mine.Status, mine.Reason, mine.Started, mine.Ended
	}
	return out
}

// rebase makes the draft's items, which were asked for on base, a merge with
// what is stored.
func (d *Draft) rebase(base Snapshot, mine []Item) {
	d.items = merge3(base.Items, d.before.Items, mine, func() string {
		d.lastID++
		return strconv.Itoa(d.lastID)
	})
}
