package todo

import (
	"slices"
	"strconv"
	"strings"
)

// This file has the edits of lists that mirror tasks: their items are numbered by
// another program, belong to sub-agents, and wait for each other.

// Put applies a line, which is written through view, to the item that it names by
// id. If there is none it adds one with this id, before those with larger ones. It
// changes nothing if the id is not a number from 1 to [MaxID].
func (d *Draft) Put(view View, line Line) {
	if d.edit(line.ID, func(i *Item) { *i = d.applyLine(view, i, line) }) {
		return
	}
	n := itemNumber(line.ID)
	if n == 0 {
		return
	}
	last := max(d.next.LastID, n)
	item := d.applyLine(view, nil, line)
	item.ID, d.next.LastID = line.ID, last
	at := slices.IndexFunc(d.next.Items, func(o Item) bool { return itemNumber(o.ID) > n })
	if at < 0 {
		at = len(d.next.Items)
	}
	d.next.Items = slices.Insert(d.next.Items, at, item)
}

// IsItemID reports whether an id is one that [Draft.Put] accepts.
func IsItemID(id string) bool { return itemNumber(id) > 0 }

// itemNumber returns the number that an item's id is, or 0 if it is none.
func itemNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > MaxID || strconv.Itoa(n) != id {
		return 0
	}
	return n
}

// SetOwner says which sub-agent does an item; empty is none.
func (d *Draft) SetOwner(id, owner string) { d.edit(id, func(i *Item) { i.Owner = owner }) }

// WaitFor adds to the items that an item waits for. It passes over those that are
// settled or not on the list, see [Draft.EndWaits].
func (d *Draft) WaitFor(id string, others ...string) {
	d.edit(id, func(i *Item) { i.WaitsFor = d.openOf(append(i.Waits(), others...), id) })
}

// EndWaits makes no item wait any more for one that is settled or not on the list.
func (d *Draft) EndWaits() {
	for i, item := range d.next.Items {
		if item.WaitsFor != "" {
			d.next.Items[i].WaitsFor = d.openOf(item.Waits(), item.ID)
		}
	}
}

// openOf returns the ids among some that open items have, other than one, each once, as
// Item.WaitsFor has them.
func (d *Draft) openOf(ids []string, not string) string {
	var open []string
	for _, id := range ids {
		if item, ok := d.Item(id); ok && id != not && !item.Status.Settled() && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	return strings.Join(open, ",")
}

// Waits returns the ids of the items that the item waits for.
func (i Item) Waits() []string {
	if i.WaitsFor == "" {
		return nil
	}
	return strings.Split(i.WaitsFor, ",")
}
