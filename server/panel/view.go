package panel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// staleAfter is how long an item may be in progress before it is marked as
// stale, and how long a list with an item in progress counts as active after
// its last change.
const staleAfter = 15 * time.Minute

// maxCards is how many lists the first page shows in full; the rail shows all.
const maxCards = 60

// maxRead is how many lists the first page reads, the last changed first.
const maxRead = 2000

// boardView is the data of the panel's first page.
type boardView struct {
	Cards   []listView // those left open come last
	Rail    []listView
	Address string // URL of the MCP endpoint, shown while there are no lists
	Seq     int64  // the highest Seq that the page shows
	Empty   bool   // there are no lists at all
}

// listView is the data with which a list is drawn. Its texts are safe to show
// (see [render.Safe]).
type listView struct {
	ID, Name, Where string
	Agent, Project  string
	Writer          string
	Revision        int64
	Oldest          int64 // the first revision that is kept; 0 where pages do not show it
	Seq             int64
	Updated         time.Time
	Progress        todo.Progress
	SubProgress     todo.Progress // sum of the sub-agents' lists
	Items           []itemView
	Current         *itemView
	Subs            []listView
	Settled, Active bool
	// Left is true when all that is open on the list and its sub-agents' lists was
	// left behind (see [todo.Lists.LeftBehind]).
	Left     bool
	Archived bool
	Gone     bool // the list does not belong on the board
	Live     bool // false for an old revision
}

// itemView is the data with which an item is drawn.
type itemView struct {
	ID, Title, Text, Status string
	Mark                    string    // how an old revision changed the item: a todo.DiffKind, or empty
	Started                 time.Time // zero unless the item is in progress
	Stale                   bool
	Resting                 bool   // in progress on a list that nobody works on
	Took                    string // how long the item was in progress; empty when unknown
	Reason                  string // why the item is blocked
}

// boardView reads the data of the first page: main lists that belong on the
// board (see [todo.Snapshot.OnBoard]), each with its sub-agents' lists.
func (p *Panel) boardView(r *edge.Request) (boardView, error) {
	var v boardView
	lists, err := r.Lists.Find(r.Context(), todo.Query{Limit: maxRead})
	if err != nil {
		return v, err
	}
	v.Empty = len(lists) == 0
	for _, l := range lists {
		v.Seq = max(v.Seq, l.Seq)
	}
	now := p.config.Now()
	onBoard := slices.DeleteFunc(families(lists), func(f family) bool { return !f.onBoard(now) })
	left, err := leftBehind(r.Context(), r.Lists, onBoard)
	if err != nil {
		return v, err
	}
	for _, f := range onBoard {
		v.Rail = append(v.Rail, viewOf(f, left, now))
	}
	v.Cards = slices.Clone(v.Rail)
	slices.SortStableFunc(v.Cards, func(a, b listView) int { return cmp.Compare(asNumber(a.Left), asNumber(b.Left)) })
	v.Cards = v.Cards[:min(len(v.Cards), maxCards)]
	return v, nil
}

func asNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// family is a main list and the lists of its sub-agents that are not archived.
type family struct {
	main todo.Snapshot
	subs []todo.Snapshot
}

func newFamily(main todo.Snapshot, subs []todo.Snapshot) family {
	return family{main, slices.DeleteFunc(subs, func(s todo.Snapshot) bool { return s.Archived })}
}

// families returns the families of the main lists among these, in their order.
func families(lists []todo.Snapshot) (out []family) {
	subs := make(map[string][]todo.Snapshot)
	for _, l := range lists {
		if l.List.Parent != "" {
			subs[l.List.Parent] = append(subs[l.List.Parent], l)
		}
	}
	for _, l := range lists {
		if l.List.Parent == "" {
			out = append(out, newFamily(l, subs[l.List.ID]))
		}
	}
	return out
}

func (f family) lists() []todo.Snapshot { return append([]todo.Snapshot{f.main}, f.subs...) }

// onBoard reports whether one of the lists belongs on the board.
func (f family) onBoard(now time.Time) bool {
	return slices.ContainsFunc(f.lists(), func(l todo.Snapshot) bool { return l.OnBoard(now) })
}

// leftIDs are the ids of lists that were left behind.
type leftIDs map[string]bool

// leftBehind reads which lists of the families were left behind.
func leftBehind(ctx context.Context, lists todo.Lists, families []family) (leftIDs, error) {
	var all []todo.Snapshot
	for _, f := range families {
		all = append(all, f.lists()...)
	}
	return lists.LeftBehind(ctx, all...)
}

// open reports whether something on the lists is open; left whether all that is
// open was left behind.
func (f family) open(ids leftIDs) (open, left bool) {
	left = true
	for _, l := range f.lists() {
		open = open || l.Open()
		left = left && (ids[l.List.ID] || !l.Open())
	}
	return open, open && left
}

// viewOf returns the view of a family, of which some lists were left behind.
func viewOf(f family, left leftIDs, now time.Time) listView {
	l := f.main
	v := listView{
		ID: l.List.ID, Name: render.Safe(l.Title()), Agent: render.Safe(l.List.Agent), Project: render.Safe(l.List.Project()), Where: render.Safe(l.List.Workspace), Writer: writerOf(l), Revision: l.Revision, Seq: l.Seq,
		Updated: l.Updated, Progress: l.Progress(), Archived: l.Archived, Gone: !f.onBoard(now), Live: true,
	}
	resting := l.Archived || left[l.List.ID]
	for _, item := range l.Items {
		i := itemOf(item, now)
		if resting && item.Status == todo.InProgress {
			i.Resting, i.Started, i.Stale = true, time.Time{}, false
		}
		v.Items = append(v.Items, i)
	}
	if item, ok := l.Current(); ok && !resting {
		i := itemOf(item, now)
		v.Current = &i
	}
	settled := l.Settled() // an empty list is neither open nor settled (P5)
	for _, s := range f.subs {
		sub := viewOf(family{main: s}, left, now)
		v.Subs = append(v.Subs, sub)
		v.SubProgress = v.SubProgress.Plus(sub.Progress)
		settled = settled || s.Settled()
		v.Active = v.Active || sub.Active
		v.Seq = max(v.Seq, s.Seq)
		if s.Updated.After(v.Updated) {
			v.Updated = s.Updated
		}
	}
	open, allLeft := f.open(left)
	v.Settled, v.Left = settled && !open, allLeft
	v.Active = v.Active || v.Current != nil && now.Sub(l.Updated) < staleAfter
	return v
}

// itemOf returns the view of an item.
func itemOf(i todo.Item, now time.Time) itemView {
	v := itemView{ID: i.ID, Title: render.Safe(i.Title()), Text: render.Safe(i.Text), Status: string(i.Status), Reason: render.Safe(i.Reason)}
	if !slices.Contains(todo.Statuses(), i.Status) {
		v.Status = string(todo.Pending) // W4: an unknown status looks pending
	}
	if i.Status == todo.InProgress {
		v.Started = i.Started
		v.Stale = !i.Started.IsZero() && now.Sub(i.Started) > staleAfter
	}
	if !i.Started.IsZero() && !i.Ended.IsZero() {
		v.Took = render.Took(i.Ended.Sub(i.Started))
	}
	return v
}

// oldView returns the view of an old revision. Items that differ from the
// revision before are marked, and removed items are added at the end.
func oldView(before, l todo.Snapshot, now time.Time) listView {
	v := viewOf(family{main: l}, nil, now)
	v.Live = false
	marks := make(map[string]todo.DiffKind)
	for _, d := range todo.Diff(before, l) {
		if d.Kind == todo.Removed {
			removed := itemOf(d.Before, now)
			removed.Mark = string(todo.Removed)
			removed.Started = time.Time{}
			v.Items = append(v.Items, removed)
			continue
		}
		marks[d.After.ID] = d.Kind
	}
	for i := range v.Items {
		if kind, ok := marks[v.Items[i].ID]; ok && v.Items[i].Mark == "" {
			v.Items[i].Mark = string(kind)
		}
		v.Items[i].Stale, v.Items[i].Started = false, time.Time{}
	}
	return v
}

// writerOf returns who made a revision: the client's name and the variant it
// used.
func writerOf(l todo.Snapshot) string {
	return render.Safe(strings.Trim(l.Writer.Client+" · "+l.Writer.Variant, " ·"))
}

// moment returns a time of the past as people write it: today's as a time, that
// of the last week with its weekday, and an earlier one as a date.
func moment(t, now time.Time) string {
	t = t.In(now.Location())
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case !t.Before(midnight):
		return t.Format("15:04")
	case t.After(midnight.AddDate(0, 0, -6)):
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}
