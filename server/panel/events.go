package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
)

// listChange is the data of the event "list": what the board shows of one list.
type listChange struct {
	ID    string `json:"id"`
	Seq   int64  `json:"seq"`
	Place string `json:"place"` // while it is the same, nothing moves
	// Pieces are the parts of a page that show the list, drawn, by element id.
	Pieces map[string]string `json:"pieces"`
	// What is said of it: by screen readers, and in notifications.
	Say    string     `json:"say"`
	Title  string     `json:"title"`
	State  todo.State `json:"state"`
	Reason string     `json:"reason,omitempty"` // for what the agent waits
	Failed int        `json:"failed"`
	At     int64      `json:"at"`               // when it changed, in ms
	Person bool       `json:"person,omitempty"` // a person changed it
	// Archived is true when it was put away, Gone when it was deleted.
	Archived bool `json:"archived,omitempty"`
	Gone     bool `json:"gone,omitempty"`
}

// pageChange is the data of the event "page": what changed on a list's own page
// between two of its versions.
type pageChange struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Seq      int64  `json:"seq"`
	Revision int64  `json:"revision"`
	// Pieces are drawn parts by element id; changed items among
	// them. Order are the ids of all items.
	Pieces map[string]string `json:"pieces"`
	Order  []string          `json:"order"`
	Title  string            `json:"title"`
	Say    string            `json:"say"`
	State  todo.State        `json:"state"`
	Failed int               `json:"failed"`
	At     int64             `json:"at"`
	Gone   bool              `json:"gone,omitempty"`
}

// hello is the data of the first event of a stream.
type hello struct {
	Process string `json:"process"`
	Version string `json:"version"` // of what the page should show
}

// maxMissed is how many changed lists a page that comes back is sent at most.
const maxMissed = 500

// events streams what changes of all lists, or with ?list= of one list's page.
// ?after= or Last-Event-ID is the Seq after which a page has missed changes.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	after, err := seqOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), r.ReadTimeout())
	defer cancel()
	h := p.hubOf(r)
	return r.Stream(w, func(stream *sse.Stream) error {
		page, version, err := h.join(ctx, r.URL.Query().Get("list"))
		if err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		defer h.leave(page)
		if err := stream.Begin(); err != nil {
			return err
		}
		if err := stream.Send(sse.Event{Name: "hello", Data: hello{p.config.Process, version}}); err != nil {
			return err
		}
		if after >= 0 && page.list == "" {
			if err := h.catchUp(ctx, page, after); err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
		}
		cancel() // what follows is bounded read by read
		return h.serve(stream, page)
	})
}

// serve sends updates until the stream or the hub ends.
func (h *hub) serve(stream *sse.Stream, page *openPage) error {
	for {
		updates, err := page.next(stream.Context())
		if err != nil {
			return err
		}
		for _, u := range updates {
			if err := h.shared.Send(stream, u, u.events); err != nil {
				return fmt.Errorf("send what changed: %w", err)
			}
		}
	}
}

// catchUp offers a page the lists that changed after a Seq. One above the newest
// comes from another store: then the page loads again by its version.
func (h *hub) catchUp(ctx context.Context, page *openPage, after int64) error {
	missed, err := h.lists.Find(ctx, todo.Query{AfterSeq: after, Limit: maxMissed})
	if err != nil {
		return err
	}
	done := make(map[string]bool)
	for i := len(missed) - 1; i >= 0; i-- {
		l := missed[i]
		id := cmp.Or(l.List.Parent, l.List.ID)
		if done[id] {
			continue
		}
		done[id] = true
		f, err := readFamily(ctx, h.lists, id)
		if errors.Is(err, todo.ErrNotFound) {
			continue // it has gone in this moment, which its own change says
		}
		if err != nil {
			return err
		}
		page.offer(&update{key: "list " + id, id: id, panel: h.panel, family: f, place: placeOf(f, h.panel.config.Now()), person: l.Writer.Person})
	}
	return nil
}

// seqOf returns the Seq after which a request resumes, -1 when it names none.
func seqOf(r *edge.Request) (int64, error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if text == "" {
		return -1, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, edge.BadRequest("Last-Event-ID or ?after= must be a whole number, 0 or more")
	}
	return after, nil
}

// hubOf returns the hub of a request's principal.
func (p *Panel) hubOf(r *edge.Request) *hub {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hubs[r.Principal]
	if h == nil {
		h = &hub{panel: p, principal: r.Principal, lists: r.Lists, pages: make(map[*openPage]struct{})}
		p.hubs[r.Principal] = h
	}
	return h
}

// listChange draws the update for boards.
func (u *update) listChange() listChange {
	if u.gone {
		return listChange{ID: u.id, Gone: true, Person: true}
	}
	v := cardOf(u.family, u.panel.config.Now())
	c := listChange{ID: v.ID, Seq: v.Seq, Place: u.place, Say: spoken(v), Title: v.Title, State: v.State, Failed: v.Progress.Failed,
		At: v.Updated.UnixMilli(), Person: u.person, Archived: v.Archived, Pieces: map[string]string{}}
	if _, item, ok := u.family.Waits(); ok {
		awaited := cutItem(itemOf(item, time.Time{}, true))
		c.Reason = cmp.Or(awaited.Reason, awaited.Title)
	}
	for name, id := range map[string]string{"card": "card-", "row": "row-", "nowrow": "now-"} {
		c.Pieces[id+v.ID] = u.panel.draw(name, v)
	}
	return c
}

// pageChange draws the update for the list's own page.
func (u *update) pageChange() pageChange {
	if u.gone {
		return pageChange{Gone: true}
	}
	v := u.page
	c := pageChange{From: u.before.Version, To: v.Version, Seq: v.Seq, Revision: v.Revision, Title: v.Title, Say: spoken(v.listView), State: v.State,
		Failed: v.Progress.Failed, At: v.Updated.UnixMilli(), Pieces: map[string]string{}, Order: []string{}}
	for _, name := range []string{"head", "side", "subs", "fold"} {
		c.Pieces[name] = u.panel.draw(name, v)
	}
	before := make(map[string]itemView)
	for _, i := range u.before.AllItems {
		before[i.ID] = i
	}
	for _, i := range v.AllItems {
		c.Order = append(c.Order, i.ID)
		if before[i.ID] != i {
			c.Pieces["i-"+i.ID] = u.panel.draw("item", i)
		}
	}
	return c
}

// draw returns a template drawn with a view. The templates are checked by every
// test that opens a page, so a failure is a fault of the program.
func (p *Panel) draw(name string, data any) string {
	var b strings.Builder
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// spoken returns what screen readers say when a list changes.
func spoken(v listView) string {
	text := fmt.Sprintf("%s: %d of %d done", v.Title, v.Progress.Done, v.Progress.Total)
	switch {
	case v.State == todo.Waiting:
		text += ", waiting for you"
	case v.Now != nil:
		text += ", now " + v.Now.Title
	case v.State == todo.LeftOpen:
		text += ", left open"
	}
	return text
}
