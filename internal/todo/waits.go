package todo

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// ErrCycle refuses a write by which items would wait for each other.
var ErrCycle = errors.New("items would wait for each other")

// Waits returns the ids of the items that come before the item, also of settled ones.
func (i Item) Waits() []string {
	if i.WaitsFor == "" {
		return nil
	}
	return strings.Split(i.WaitsFor, ",")
}

// OpenWaits returns a function that returns the items which one of these items waits for:
// those that come first and are open. It is ready if there are none and it is pending.
func OpenWaits(items []Item) func(Item) []Item {
	find := Near(items)
	return func(i Item) (open []Item) {
		for _, id := range i.Waits() {
			if first, ok := find(0, id); ok && !first.Status.Settled() {
				open = append(open, first)
			}
		}
		return open
	}
}

// Next returns the item that comes next of some, the first that waits for no other, else the
// first; ok is false when none is open. Those are all that are open where status is empty, else
// those with it.
func (s Snapshot) Next(status Status) (item Item, ok bool) {
	waiting := OpenWaits(s.Items)
	for _, i := range s.Items {
		if i.Status.Settled() || status != "" && i.Status != status {
			continue
		}
		if len(waiting(i)) == 0 {
			return i, true
		}
		if !ok {
			item, ok = i, true
		}
	}
	return item, ok
}

// link sets what the items of lines wait for. The lines name that by the ids which the view
// shows, or by the list's own. idOf returns the id of a line's item. link returns the names that
// no item has.
func (d *Draft) link(view View, lines []Line, idOf func(n int) string) (unknown []string) {
	if view.Keys {
		d.nameApart()
	}
	if !slices.ContainsFunc(lines, func(l Line) bool { return l.WaitsFor != nil }) {
		return nil
	}
	named, places := view.placesOf(d.next.Items), placesOf(d.next.Items)
	for n, line := range lines {
		at, isKnown := places[idOf(n)]
		if line.WaitsFor == nil || !isKnown {
			continue
		}
		var waits []string
		for _, name := range line.WaitsFor {
			if first, ok := named[name]; ok {
				waits = append(waits, d.next.Items[first].ID)
			} else {
				unknown = append(unknown, name)
			}
		}
		d.next.Items[at].WaitsFor = strings.Join(waits, ",")
	}
	return unknown
}

// tidy makes every item wait once for each of the others that it waits for, and for none
// that is not on the list.
func (d *Draft) tidy() {
	d.nameApart()
	find := Near(d.next.Items)
	for n, item := range d.next.Items {
		if item.WaitsFor == "" {
			continue
		}
		var kept []string
		for _, id := range item.Waits() {
			if _, ok := find(0, id); ok && id != item.ID && !slices.Contains(kept, id) {
				kept = append(kept, id)
			}
		}
		d.next.Items[n].WaitsFor = strings.Join(kept, ",")
	}
}

// nameApart has no two items known by one id to an agent that names some itself.
func (d *Draft) nameApart() {
	names := make(map[string]bool)
	for i := range d.next.Items {
		item := &d.next.Items[i]
		if item.Key == "" {
			continue
		}
		if names[item.Key] {
			item.Key = ""
		}
		names[item.Key] = true
	}
	for i := range d.next.Items {
		if item := &d.next.Items[i]; item.Key == "" && names[item.ID] {
			item.Key = "n" + item.ID
		}
	}
}

// checkWaits returns [ErrCycle] when an item waits for itself by way of others.
func checkWaits(items []Item) error {
	waiting := make(map[string][]string)
	for _, i := range items {
		if i.WaitsFor != "" {
			waiting[i.ID] = i.Waits()
		}
	}
	// What waits for nothing goes, until nothing goes any more: what is left is a cycle,
	// or waits for one.
	isLeft := func(id string) bool { return waiting[id] != nil }
	for before := -1; before != len(waiting); {
		before = len(waiting)
		maps.DeleteFunc(waiting, func(_ string, first []string) bool { return !slices.ContainsFunc(first, isLeft) })
	}
	if len(waiting) > 0 {
		return ErrCycle
	}
	return nil
}
