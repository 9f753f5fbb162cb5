package todo

import (
	"slices"
	"strconv"
)

// laterPrefix begins the ids of items in [Snapshot.Later].
const laterPrefix = "later-"

// all returns the items and those in Later.
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

// setLater makes Later items with these texts.
func (d *Draft) setLater(texts []string) {
	was := d.next.Later
	d.next.Later = nil
	for _, text := range texts {
		item := Item{ID: d.laterID(), Text: text, Status: Pending, Created: d.now}
		if at := slices.IndexFunc(was, func(i Item) bool { return i.Text == text }); at >= 0 {
			item = was[at]
			was = slices.Delete(was, at, at+1)
		}
		d.next.Later = append(d.next.Later, item)
	}
}

// release moves from Later to the list the item with an id, or all.
func (d *Draft) release(id string) {
	d.next.Later = slices.DeleteFunc(slices.Clone(d.next.Later), func(item Item) bool {
		isReleased := id == "" || item.ID == id
		if isReleased {
			item.ID = d.nextID()
			d.next.Items = append(d.next.Items, item)
		}
		return isReleased
	})
}
