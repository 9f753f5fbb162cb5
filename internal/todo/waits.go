package todo

import (
	"errors"
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

// link makes the items of lines wait for those that the lines name, by the ids of a view or
// the list's; idOf returns the id of a line's item. It returns the names that are no item's.
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
			first, ok := named[name]
			if !ok {
				if first, ok = places[name]; !ok {
					unknown = append(unknown, name)
					continue
				}
			}
			waits = append(waits, d.next.Items[first].ID)
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
	var names map[string]bool
	for i := range d.next.Items {
		item := &d.next.Items[i]
		if item.Key == "" {
			continue
		}
		if names == nil {
			names = make(map[string]bool)
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
	var waiting map[string][]string
	for _, i := range items {
		if i.WaitsFor != "" && waiting == nil {
			waiting = make(map[string][]string)
		}
		if i.WaitsFor != "" {
			waiting[i.ID] = i.Waits()
		}
	}
	// What waits for nothing goes, until nothing goes any more: what is left is a cycle,
	// or waits for one.
	for went := true; went; {
		went = false
		for id, first := range waiting {
			if !slices.ContainsFunc(first, func(f string) bool { return waiting[f] != nil }) {
				delete(waiting, id)
				went = true
			}
		}
	}
	if len(waiting) > 0 {
		return ErrCycle
	}
	return nil
}
