package todo

import (
	"slices"
	"strings"
	"time"
)

// This file is the one account of a list for people: whatever shows a list asks
// here for its title, its progress and whether it is open.

// Untitled is the title of a list that has neither a name nor ever had an item.
const Untitled = "Untitled list"

// Title is what people call the list: the name they gave it, else the text of
// its first open item when it began, which does not change by itself. It is
// never empty, and not made safe to show. Which project the list is about, which
// client writes it and which sub-agent it belongs to stand beside the title,
// never in its place.
func (l List) Title() string {
	switch {
	case l.Name != "":
		return l.Name
	case l.First != "":
		return l.First
	}
	return Untitled
}

// Project is the last part of the workspace's path, for people to tell lists
// apart; empty when the workspace is unknown.
func (l List) Project() string {
	folder := strings.TrimRight(l.Workspace, `/\`)
	return folder[strings.LastIndexAny(folder, `/\`)+1:]
}

// Begun returns the list as it begins with items: its First is the text of the
// first item that is not settled, else of the first. A First it has stays.
func (l List) Begun(items []Item) List {
	if l.First == "" && len(items) > 0 {
		i := slices.IndexFunc(items, func(i Item) bool { return !i.Status.Settled() })
		l.First = items[max(i, 0)].Text
	}
	return l
}

// Counts tells how many items are in each status.
type Counts map[Status]int

// Counts counts the items.
func (s Snapshot) Counts() Counts {
	c := Counts{}
	for _, i := range s.Items {
		c[i.Status]++
	}
	return c
}

// Progress is how far a list has come. Cancelled items do not count.
type Progress struct {
	Done   int // completed
	Failed int
	Total  int
}

// Progress counts what is done.
func (s Snapshot) Progress() Progress {
	n := s.Counts()
	return Progress{Done: n[Completed], Failed: n[Failed], Total: len(s.Items) - n[Cancelled]}
}

// Plus adds the progress of another list, such as a sub-agent's.
func (p Progress) Plus(o Progress) Progress {
	return Progress{Done: p.Done + o.Done, Failed: p.Failed + o.Failed, Total: p.Total + o.Total}
}

// Percent is the completed part of the total; 0 when there is nothing.
func (p Progress) Percent() int {
	if p.Total == 0 {
		return 0
	}
	return 100 * p.Done / p.Total
}

// Settled reports whether the list has items and nothing more is expected of
// any of them (VARIANTS.md P5: failed and cancelled count as settled).
func (s Snapshot) Settled() bool { return len(s.Items) > 0 && !s.Open() }

// Open reports whether something is still expected of any item. A list without
// items is neither open nor settled.
func (s Snapshot) Open() bool {
	return slices.ContainsFunc(s.Items, func(i Item) bool { return !i.Status.Settled() })
}

// AllCompleted reports whether the list has items and every one is completed
// (VARIANTS.md P5).
func (s Snapshot) AllCompleted() bool {
	return len(s.Items) > 0 && !slices.ContainsFunc(s.Items, func(i Item) bool { return i.Status != Completed })
}

// OnBoard reports whether people should see the list without asking for it:
// something is open, or it changed today, which begins at midnight in now's
// time zone.
func (s Snapshot) OnBoard(now time.Time) bool {
	y, m, d := now.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	return s.Open() || !s.Updated.Before(midnight)
}

// Current is the item in progress a person would look at first: the one started
// last. ok is false when none is in progress.
func (s Snapshot) Current() (item Item, ok bool) {
	for _, i := range s.Items {
		if i.Status == InProgress && (!ok || i.Started.After(item.Started)) {
			item, ok = i, true
		}
	}
	return item, ok
}
