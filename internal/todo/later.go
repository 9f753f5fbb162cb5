package todo

import (
	"slices"
	"strconv"
)

// This file has what a person added for the end of the agent's turn, see [Snapshot.Later].

// laterPrefix begins the ids of these items, which take no number of the agent's.
const laterPrefix = "later-"

// all returns the items with those that wait for the end of the turn.
func (s Snapshot) all() []Item {
	if len(s.Later) == 0 {
		return s.Items
	}
	return slices.Concat(s.Items, s.Later)
}

// laterID returns an id that no item of the list has or had.
func (d *Draft) laterID() string {
	n := d.now.UnixNano()
	for {
		id := laterPrefix + strconv.FormatInt(n, 36)
		if indexOf(d.next.Later, id) < 0 {
			return id
		}
		n++
	}
}

// setLater has items with these texts wait for the end of the turn, and no others.
func (d *Draft) setLater(texts []string) {
	was := d.next.Later
	d.next.Later = nil
	for _, text := range texts {
		at := slices.IndexFunc(was, func(i Item) bool { return i.Text == text })
		if at >= 0 {
			d.next.Later = append(d.next.Later, was[at])
			was = slices.Delete(was, at, at+1)
			continue
		}
		d.next.Later = append(d.next.Later, Item{ID: d.laterID(), Text: text, Status: Pending, Created: d.now})
	}
}

// release puts on the list what waits for the end of the turn: the item with an id, or all.
func (d *Draft) release(id string) {
	var left []Item
	for _, item := range d.next.Later {
		if id != "" && item.ID != id {
			left = append(left, item)
			continue
		}
		item.ID = d.nextID()
		d.next.Items = append(d.next.Items, item)
	}
	d.next.Later = left
}
