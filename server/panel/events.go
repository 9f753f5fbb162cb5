package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
)

// drawnList is the data of a panel event: the parts of the page that show a
// list, as HTML.
type drawnList struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Seq      int64  `json:"seq"`
	Revision int64  `json:"revision"`
	Oldest   int64  `json:"oldest"` // the first revision that is kept
	Settled  bool   `json:"settled"`
	Left     bool   `json:"left,omitempty"` // open, and left behind
	Gone     bool   `json:"gone,omitempty"` // does not belong on the board
	Card     string `json:"card"`
	Rail     string `json:"rail"`
	Now      string `json:"now,omitempty"` // empty when nothing is in progress
	Say      string `json:"say"`           // plain text for screen readers
}

// checkEvery is how often an open page is sent the cards of lists that were left
// behind or taken up again without a change: their process ended, or they rest.
// After a check that took long, because very many lists are open, the next one
// waits for restShare times as long.
const (
	checkEvery = 10 * time.Second
	restShare  = 50
)

// events streams each changed list as a drawnList, after an event hello with the
// process, and each list that was left behind or taken up again. ?list=
// restricts the stream to one list and its sub-agents' lists. ?left= are the ids
// of the lists that the page shows as left open, joined by commas.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	f, err := sse.FollowRequest(r.Request, r.Lists, r.ReadTimeout())
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	page := openPage{panel: p, lists: r.Lists, want: f.Want, left: make(map[string]bool)}
	for id := range strings.SplitSeq(r.URL.Query().Get("left"), ",") {
		page.left[id] = true
	}
	// A change of one list may mean that another one was left behind.
	f.Want = func(todo.Snapshot) bool { return true }
	f.Idle = checkEvery
	watch := r.Lists.Watch(f.Want)
	defer watch.Close()
	return r.Stream(w, func(stream *sse.Stream) error {
		f.Send = func(changed []todo.Snapshot) error {
			ctx, cancel := context.WithTimeout(stream.Context(), r.ReadTimeout())
			defer cancel()
			events, err := page.draw(ctx, changed)
			if err != nil {
				return fmt.Errorf("draw changed lists: %w", err)
			}
			if len(events) == 0 {
				return nil
			}
			return stream.Send(events...)
		}
		if err := errors.Join(stream.Begin(), stream.Send(sse.Event{Name: "hello", Data: p.config.Process})); err != nil {
			return err
		}
		return stream.Follow(f, watch)
	})
}

// openPage is what is drawn for one page that follows changes.
type openPage struct {
	panel *Panel
	lists todo.Lists
	want  func(todo.Snapshot) bool // the lists that the page shows
	// left says of main lists, by id, whether the page shows them as left open.
	left  map[string]bool
	check time.Time // when to check all lists next
}

// draw returns one event for each main list that changed or has a sub-agent's
// list that changed, and for each that was left behind or taken up again.
func (o *openPage) draw(ctx context.Context, changed []todo.Snapshot) (events []sse.Event, err error) {
	drawn := make(map[string]bool)
	add := func(l todo.Snapshot, seq int64, always bool) error {
		id := cmp.Or(l.List.Parent, l.List.ID)
		if drawn[id] || !o.want(l) {
			return nil
		}
		v, err := o.panel.listView(ctx, o.lists, id)
		if errors.Is(err, todo.ErrNotFound) {
			return nil // the sub-agent's main list does not exist yet
		}
		if err != nil || !always && v.Left == o.left[id] {
			return err
		}
		d, err := o.panel.draw(v)
		drawn[id], o.left[id] = true, v.Left
		events = append(events, sse.Event{ID: seq, Name: "list", Data: d})
		return err
	}
	for _, l := range changed {
		if err := add(l, l.Seq, true); err != nil {
			return nil, err
		}
	}
	others, err := o.others(ctx, changed)
	if err != nil {
		return nil, err
	}
	for _, l := range others {
		if err := add(l, 0, false); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// others returns the lists that may have been left behind or taken up again:
// those that the conversations of changed lists held before, and at times all
// of which that is true.
func (o *openPage) others(ctx context.Context, changed []todo.Snapshot) (others []todo.Snapshot, err error) {
	for _, l := range changed {
		ids, err := o.lists.HeldBefore(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			before, err := o.lists.Load(ctx, id, 0)
			if err != nil && !errors.Is(err, todo.ErrNotFound) {
				return nil, err
			}
			if before.Open() {
				others = append(others, before)
			}
		}
	}
	now := o.panel.config.Now()
	if now.Before(o.check) {
		return others, nil
	}
	defer func() { o.check = now.Add(max(checkEvery, restShare*o.panel.config.Now().Sub(now))) }()
	all, err := o.lists.Find(ctx, todo.Query{Limit: maxRead})
	if err != nil {
		return nil, err
	}
	onBoard := slices.DeleteFunc(families(all), func(f family) bool { return !f.onBoard(now) })
	ids, err := leftBehind(ctx, o.lists, onBoard)
	if err != nil {
		return nil, err
	}
	for _, f := range onBoard {
		if _, left := f.open(ids); left != o.left[f.main.List.ID] {
			others = append(others, f.main)
		}
	}
	return others, nil
}

func (p *Panel) draw(v listView) (drawnList, error) {
	d := drawnList{ID: v.ID, Name: v.Name, Seq: v.Seq, Revision: v.Revision, Oldest: v.Oldest, Settled: v.Settled, Left: v.Left, Gone: v.Gone, Say: spoken(v)}
	for part, to := range map[string]*string{"card": &d.Card, "railitem": &d.Rail, "nowitem": &d.Now} {
		var b strings.Builder
		if err := p.templates.ExecuteTemplate(&b, part, v); err != nil {
			return d, fmt.Errorf("draw %s: %w", part, err)
		}
		*to = strings.TrimSpace(b.String())
	}
	return d, nil
}

// spoken returns what screen readers say when a list changes.
func spoken(v listView) string {
	text := fmt.Sprintf("%s: %d of %d done", v.Name, v.Progress.Done, v.Progress.Total)
	if v.Current != nil {
		text += ", now " + v.Current.Title
	}
	if v.Left {
		text += ", left open"
	}
	return text
}
