package todo

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// ErrCycle refuses a write after which items would wait for each other.
var ErrCycle = errors.New("items would wait for each other")

// Waits returns the ids in WaitsFor.
func (i Item) Waits() []string {
	if i.WaitsFor == "" {
		return nil
	}
	return strings.Split(i.WaitsFor, ",")
}

// OpenWaits returns a function that returns the open items for which a given item waits.
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

// At returns the item that the list is at: the current one, else the first blocked one, else the first open one that
// waits for no other, else the first open one. ok is false if no item is open.
func (s Snapshot) At() (item Item, ok bool) {
	if item, ok = s.Current(); ok {
		return item, true
	}
	waiting := OpenWaits(s.Items)
	for _, is := range []func(Item) bool{
		func(i Item) bool { return i.Status == Blocked },
		func(i Item) bool { return !i.Status.Settled() && len(waiting(i)) == 0 },
		func(i Item) bool { return !i.Status.Settled() },
	} {
		if n := slices.IndexFunc(s.Items, is); n >= 0 {
			return s.Items[n], true
		}
	}
	return Item{}, false
}

// link sets WaitsFor of items. The item of lines[n] is items[n], whose id is empty if there is no such item. Lines name
// the items that they wait for by the ids that the view shows. link returns the ids that no item has.
func (d *Draft) link(view View, lines []Line, items []Item) (unknown []string) {
	if view.Keys {
		d.nameApart()
	}
	named, places := view.placesOf(d.next.Items), placesOf(d.next.Items)
	for n, line := range lines {
		at, isKnown := places[items[n].ID]
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

// tidy makes keys unique, and removes from WaitsFor repeats, the item itself, and ids that are not on the list.
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

// nameApart makes unique the ids by which agents know items: an agent's own id ([Item.Key]) that another item already
// has is removed, and an item whose ID equals the key of another item gets a key.
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

// checkWaits returns [ErrCycle] if an item waits for itself, directly or through others.
func checkWaits(items []Item) error {
	waiting := make(map[string][]string)
	for _, i := range items {
		if i.WaitsFor != "" {
			waiting[i.ID] = i.Waits()
		}
	}
	// Each round removes items that wait for no remaining item, until none is removed. Items that remain form a cycle.
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
