package todo

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// This file computes what all front ends show of a list: its title, its progress and whether it is open.

// Title returns the list's title for people: the title it was given, else its name, else its topic, else the text of
// its first item, cut to [MaxTitle] runes, else "Untitled list". The result is never empty and is not escaped for
// display. Front ends show project, client and sub-agent beside it.
func (s Snapshot) Title() string {
	first := ""
	if len(s.Items) > 0 {
		first = Cut(s.Items[0].Text, MaxTitle)
	}
	return cmp.Or(s.GivenTitle, s.List.Name, s.List.Topic, first, "Untitled list")
}

// Begins returns the list with a Topic: the given one or, if that is empty, the first item and a count of the rest.
func (l List) Begins(topic string, items []Item) List {
	if l.Topic = topic; topic == "" && len(items) > 0 {
		more := strings.TrimSuffix(fmt.Sprint(" +", len(items)-1), " +0")
		l.Topic = OneLine(items[0].Text, MaxTitle-len(more)) + more
	}
	return l
}

// Project returns the last part of the workspace's path; empty if the workspace is unknown or a root folder.
func (l List) Project() string {
	folder := strings.TrimRight(l.Workspace, `/\`)
	return folder[strings.LastIndexAny(folder, `/\`)+1:]
}

// OffMain returns the branch; empty if the branch is main or master.
func (l List) OffMain() string {
	if l.Branch == "main" || l.Branch == "master" {
		return ""
	}
	return l.Branch
}

// Place returns the project, followed by its branch in brackets unless the branch is main or master.
func (l List) Place() string {
	if l.OffMain() == "" {
		return l.Project()
	}
	return strings.TrimSpace(l.Project() + " (" + l.Branch + ")")
}

// Counts is the number of items in each status. A status without items is absent.
type Counts map[Status]int

// Excerpt returns the snapshot with at most four items: the first open item (the last item if none is open), the
// current item, the first blocked item, and the first item. It cuts texts to [MaxTitle] runes and leaves out long
// fields. Rest counts the other items, so that Title, Counts, Progress, Open, Current and State return the same for the
// excerpt as for the whole list. An excerpt is for pages with many lists, and is never saved.
func (s Snapshot) Excerpt() Snapshot {
	open := slices.IndexFunc(s.Items, func(i Item) bool { return !i.Status.Settled() })
	blocked := slices.IndexFunc(s.Items, func(i Item) bool { return i.Status == Blocked })
	if open < 0 {
		open = len(s.Items) - 1
	}
	current, _ := s.Current()
	all := s.Items
	s.Items, s.Rest = make([]Item, 0, 4), nil
	for n, i := range all {
		if n != open && n != blocked && n > 0 && (i.ID != current.ID || i.Status != InProgress) {
			if s.Rest == nil {
				s.Rest = make(Counts, 2)
			}
			s.Rest[i.Status]++
			continue
		}
		i.Text, i.Active, i.Reason, i.PersonEdit = Cut(i.Text, MaxTitle), Cut(i.Active, MaxTitle), Cut(i.Reason, MaxTitle), PersonEdit{}
		i.Key, i.Details, i.WaitsFor = "", "", ""
		s.Items = append(s.Items, i)
	}
	s.Later = slices.Clone(s.Later)
	for n := range s.Later {
		s.Later[n].Text = Cut(s.Later[n].Text, MaxTitle)
	}
	s.Order, s.Gone, s.Report, s.Operation, s.Explanation, s.Workers = PersonEdit{}, nil, Report{}, Operation{}, "", nil
	return s
}

// Counts counts the items by status.
func (s Snapshot) Counts() Counts {
	c := Counts{}
	maps.Copy(c, s.Rest)
	for _, i := range s.Items {
		c[i.Status]++
	}
	return c
}

// Sum returns the number of items in all statuses.
func (c Counts) Sum() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

// Progress is how far a list has come. Cancelled items do not count.
type Progress struct {
	Done   int // completed
	Failed int
	Total  int // all items that are not cancelled
}

// Progress counts three things: completed items, failed items, and all items that are not cancelled.
func (s Snapshot) Progress() Progress {
	n := s.Counts()
	return Progress{Done: n[Completed], Failed: n[Failed], Total: n.Sum() - n[Cancelled]}
}

// Plus adds the progress of another list, such as a sub-agent's.
func (p Progress) Plus(o Progress) Progress {
	return Progress{Done: p.Done + o.Done, Failed: p.Failed + o.Failed, Total: p.Total + o.Total}
}

// Settled reports whether the list has items and all are settled.
func (s Snapshot) Settled() bool { return len(s.Items) > 0 && !s.Open() }

// Done reports whether the list is settled and has no items in Later.
func (s Snapshot) Done() bool { return s.Settled() && len(s.Later) == 0 }

// Open reports whether any item is not settled. A list without items is neither open nor settled.
func (s Snapshot) Open() bool {
	return slices.ContainsFunc(s.Items, func(i Item) bool { return !i.Status.Settled() })
}

// AllCompleted reports whether the list has items and every one is completed (docs/spec/variants.md P5).
func (s Snapshot) AllCompleted() bool {
	n := s.Counts()
	return len(s.Items) > 0 && n[Completed] == n.Sum()
}

// OnBoard reports whether front ends show the list by default: it is not archived, and it is open or was updated today.
func (s Snapshot) OnBoard(now time.Time) bool {
	return !s.Archived && (s.Open() || !s.Updated.Before(Midnight(now)))
}

// Midnight returns the start of the day of t, in t's time zone.
func Midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// Current returns the item in progress that was started last; ok is false if none is in progress.
func (s Snapshot) Current() (item Item, ok bool) {
	for _, i := range s.Items {
		if i.Status == InProgress && (!ok || i.Started.After(item.Started)) {
			item, ok = i, true
		}
	}
	return item, ok
}

// Folder returns a folder's path in the form that lists store. A Windows path always has the form C:\work, however
// hosts, hooks and shells write its slashes, drive letter and trailing separator. Other paths stay unchanged.
func Folder(path string) string {
	if len(path) > 3 && path[0] == '/' && path[2] == ':' { // as in file:///c:/work
		path = path[1:]
	}
	if len(path) < 3 || path[1] != ':' || !strings.ContainsRune(`\/`, rune(path[2])) {
		return path
	}
	path = strings.ToUpper(path[:1]) + strings.ReplaceAll(path[1:], "/", `\`)
	return path[:3] + strings.TrimRight(path[3:], `\`)
}

// Saying returns GivenTitle if that contains the searched text, else the Text of the first item whose text, active text
// or reason contains the searched text; empty if there is no such item. Case is ignored.
func (s Snapshot) Saying(text string) string {
	text = strings.ToLower(text)
	has := func(whole string) bool { return strings.Contains(strings.ToLower(whole), text) }
	if s.GivenTitle != "" && has(s.GivenTitle) {
		return s.GivenTitle
	}
	for _, i := range s.Items {
		if has(i.Text) || has(i.Active) || has(i.Reason) {
			return i.Text
		}
	}
	return ""
}

// Said is the result of a text search in a list: the newest revision with the text, and the title or item that has it.
type Said struct {
	Revision int64     `json:"revision"`
	Updated  time.Time `json:"updated"` // when that revision was made
	Text     string    `json:"text"`    // the result of [Snapshot.Saying], cut to [MaxTitle] runes
	Left     bool      `json:"left"`    // the list's newest revision no longer has the text
}

// State is the state of a list, in the words of all front ends.
type State string

// The states. A list without items is Finished if its agent is idle or gone; a chat without a list, only if gone.
const (
	Working  State = "working"   // its agent is here, and wrote or was reported at work within [IdleAfter]
	Idle     State = "idle"      // its agent is here, and has ended its turn or done nothing for [IdleAfter]
	Waiting  State = "waiting"   // its agent is here, and asks a person, or an item is blocked and none is in progress
	LeftOpen State = "left open" // items are open and no agent is here
	Away     State = "archived"  // it is archived, and items are open
	Finished State = "finished"  // all items are settled
	InVain   State = "failed"    // all items are settled, some failed, and none is completed
)

// IdleAfter is how long an agent counts as working after its last write or report of work.
const IdleAfter = 10 * time.Minute

// LapseAfter is how long an open list must be unchanged to count as archived.
const LapseAfter = 14 * 24 * time.Hour

// Rests reports whether the state is left open, archived, finished or failed.
func (s State) Rests() bool { return s == LeftOpen || s == Away || s.Ended() }

// Ended reports whether nothing more is expected of a list in this state.
func (s State) Ended() bool { return s == Finished || s == InVain }

// State returns the state of the list at the time now; the parameter a sums up the list's agents.
func (s Snapshot) State(a Agent, now time.Time) State {
	_, current := s.Current()
	progress := s.Progress()
	worked := s.Worked
	if a.Doing == Works && a.Since.After(worked) {
		worked = a.Since
	}
	rests := a.Doing == Rests || now.Sub(worked) >= IdleAfter
	switch {
	case s.Done() && progress.Failed > 0 && progress.Done == 0:
		return InVain
	case s.Done(), len(s.Items)+len(s.Later) == 0 && (!a.Here || rests && !s.IsChat()):
		return Finished
	case s.Archived:
		return Away
	case !a.Here:
		return LeftOpen
	case a.Asks != "", !current && slices.ContainsFunc(s.Items, func(i Item) bool { return i.Status == Blocked }):
		return Waiting
	case rests:
		return Idle
	}
	return Working
}

// ChangedList is called for each list that changed in a period, with the list's standing now and all its revisions in
// ascending order, also those outside the period. The iteration reads revisions as it goes; an error ends it.
type ChangedList func(st Standing, revisions iter.Seq2[Snapshot, error]) error
