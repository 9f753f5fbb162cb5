package panel

import (
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// stale is how long an item may be in progress before a calm sign says so.
const stale = 15 * time.Minute

// maxCards bounds the lists drawn in full on the board; the rail has the rest.
const maxCards = 60

// maxRead bounds how many lists the board looks at, the last changed first.
const maxRead = 2000

// boardView is the panel's first page.
type boardView struct {
	Cards   []listView
	Rail    []listView
	Address string // of the MCP endpoint, for who has no list yet
	Seq     int64  // what the page shows up to
	Empty   bool
}

// listView is a list as the panel draws it. Every text in it is safe to show.
type listView struct {
	ID, Name, Where string
	Agent, Project  string
	Writer          string
	Revision        int64
	Seq             int64
	Updated         time.Time
	Progress        todo.Progress
	SubProgress     todo.Progress // of the sub-agents' lists together
	Items           []itemView
	Current         *itemView
	Subs            []listView
	Settled, Active bool
	Live            bool // false for an old revision
}

// itemView is an item as the panel draws it.
type itemView struct {
	ID, Title, Text, Status string
	Mark                    string // what happened to it in this revision
	Started                 time.Time
	Stale                   bool
	Took                    string
	Reason                  string // why it is blocked
}

// boardView gathers what the first page shows: lists with something open or moved
// today, sub-agents' lists under their main one.
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

// onBoard reports whether a list belongs on the board, by itself or for one under
// it.
func onBoard(l todo.Snapshot, subs []todo.Snapshot, now time.Time) bool {
	return l.OnBoard(now) || slices.ContainsFunc(subs, func(s todo.Snapshot) bool { return s.OnBoard(now) })
}

// viewOf draws a list with those of its sub-agents.
func viewOf(l todo.Snapshot, subs []todo.Snapshot, now time.Time) listView {
	v := listView{
		ID: l.List.ID, Name: render.Safe(l.List.Title()), Agent: render.Safe(l.List.Agent), Project: render.Safe(l.List.Project()), Where: render.Safe(l.List.Workspace), Writer: writerOf(l), Revision: l.Revision, Seq: l.Seq,
		Updated: l.Updated, Progress: l.Progress(), Settled: !l.Open(), Live: true,
	}
	for _, item := range l.Items {
		v.Items = append(v.Items, itemOf(item, now))
	}
	if item, ok := l.Current(); ok {
		i := itemOf(item, now)
		v.Current = &i
	}
	for _, s := range subs {
		sub := viewOf(s, nil, now)
		v.Subs = append(v.Subs, sub)
		v.SubProgress = v.SubProgress.Plus(sub.Progress)
		v.Settled = v.Settled && sub.Settled
		v.Active = v.Active || sub.Active
		v.Seq = max(v.Seq, s.Seq)
		if s.Updated.After(v.Updated) {
			v.Updated = s.Updated
		}
	}
	v.Active = v.Active || v.Current != nil && now.Sub(l.Updated) < stale
	return v
}

func itemOf(i todo.Item, now time.Time) itemView {
	v := itemView{ID: i.ID, Title: render.Safe(i.Title()), Text: render.Safe(i.Text), Status: string(i.Status), Reason: render.Safe(i.Reason)}
	if !slices.Contains(todo.Statuses(), i.Status) {
		v.Status = string(todo.Pending) // W4: an unknown status looks pending
	}
	if i.Status == todo.InProgress {
		v.Started = i.Started
		v.Stale = !i.Started.IsZero() && now.Sub(i.Started) > stale
	}
	if !i.Started.IsZero() && !i.Ended.IsZero() {
		v.Took = render.Took(i.Ended.Sub(i.Started))
	}
	return v
}

// oldView draws an old revision with what changed in it marked.
func oldView(before, l todo.Snapshot, now time.Time) listView {
	v := viewOf(l, nil, now)
	v.Live = false
	marks := make(map[string]todo.DiffKind)
	for _, d := range todo.Diff(before, l) {
		if d.Kind == todo.Removed {
			gone := itemOf(d.Before, now)
			gone.Mark = string(todo.Removed)
			gone.Started = time.Time{}
			v.Items = append(v.Items, gone)
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

// writerOf says who made a revision: the client, and the tool it used.
func writerOf(l todo.Snapshot) string {
	return render.Safe(strings.Trim(l.Writer.Client+" · "+l.Writer.Variant, " ·"))
}
