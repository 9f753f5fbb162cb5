package panel

import (
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
	Cards   []listView
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
	Live            bool // false for an old revision
}

// itemView is the data with which an item is drawn.
type itemView struct {
	ID, Title, Text, Status string
	Mark                    string    // how an old revision changed the item: a todo.DiffKind, or empty
	Started                 time.Time // zero unless the item is in progress
	Stale                   bool
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
	now := p.config.Now()
	subs := make(map[string][]todo.Snapshot)
	for _, l := range lists {
		v.Seq = max(v.Seq, l.Seq)
		if l.List.Parent != "" {
			subs[l.List.Parent] = append(subs[l.List.Parent], l)
		}
	}
	for _, l := range lists {
		if l.List.Parent != "" || !onBoard(l, subs[l.List.ID], now) {
			continue
		}
		view := viewOf(l, subs[l.List.ID], now)
		v.Rail = append(v.Rail, view)
		if len(v.Cards) < maxCards {
			v.Cards = append(v.Cards, view)
		}
	}
	return v, nil
}

// onBoard reports whether a list or one of its sub-agents' lists belongs on the
// board.
func onBoard(l todo.Snapshot, subs []todo.Snapshot, now time.Time) bool {
	return l.OnBoard(now) || slices.ContainsFunc(subs, func(s todo.Snapshot) bool { return s.OnBoard(now) })
}

// viewOf returns the view of a list and its sub-agents' lists.
func viewOf(l todo.Snapshot, subs []todo.Snapshot, now time.Time) listView {
	v := listView{
		ID: l.List.ID, Name: render.Safe(l.List.Title()), Agent: render.Safe(l.List.Agent), Project: render.Safe(l.List.Project()), Where: render.Safe(l.List.Workspace), Writer: writerOf(l), Revision: l.Revision, Seq: l.Seq,
		Updated: l.Updated, Progress: l.Progress(), Live: true,
	}
	for _, item := range l.Items {
		v.Items = append(v.Items, itemOf(item, now))
	}
	if item, ok := l.Current(); ok {
		i := itemOf(item, now)
		v.Current = &i
	}
	open, settled := l.Open(), l.Settled() // an empty list is neither (P5)
	for _, s := range subs {
		sub := viewOf(s, nil, now)
		v.Subs = append(v.Subs, sub)
		v.SubProgress = v.SubProgress.Plus(sub.Progress)
		open, settled = open || s.Open(), settled || s.Settled()
		v.Active = v.Active || sub.Active
		v.Seq = max(v.Seq, s.Seq)
		if s.Updated.After(v.Updated) {
			v.Updated = s.Updated
		}
	}
	v.Settled = settled && !open
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
	v := viewOf(l, nil, now)
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
