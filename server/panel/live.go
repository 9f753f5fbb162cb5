package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

const (
	presenceEvery = 2 * time.Second        // how often pages check for agents that came or went without a write
	presenceSoon  = 200 * time.Millisecond // how soon pages check after a write: its chat may have left another list
	presenceShare = 20                     // the pause before the next check as a multiple of the last check's duration
)

// openPage is the board, or a list's page, that a person has open. The server sends it lists as they change and, at
// intervals, news of states that changed without a write. Open pages of a user share the server's reads and drawings.
type openPage struct {
	panel   *Panel
	request *edge.Request
	stream  *sse.Stream
	list    string // the id of the list whose page this is; empty for a board
	version string // the version that the page shows or was told to load
	waits   int    // how many waiting lists the page counts
}

// sharedKey identifies a result that open pages of one user share: a read of the board, by its due time in at, or an
// update of a list, by that time or by the Seq of a list's write or a chat's change. own marks updates of list pages.
type sharedKey struct {
	whose, list string
	own         bool
	seq         int64
	at          time.Time
}

// update is an encoded change.
type update struct {
	event   []byte
	version string // the new version of the list's own page
}

// change is the data of a "list" event.
type change struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
	// Pieces has the HTML of the elements that show the list, by element id: its card and row, or the main element of
	// its own page. Their attributes have the list's state, see [drawing.standing].
	Pieces map[string]string `json:"pieces,omitempty"`
	Say    string            `json:"say"`              // for screen readers
	Reason string            `json:"reason,omitempty"` // for notifications: the agent's question or the blocked item
	Person bool              `json:"person,omitempty"` // a person changed the list
	Gone   bool              `json:"gone,omitempty"`   // the list was deleted or is damaged
}

// events streams changes of all lists, or of one (?list=). The page has those up to Seq ?after= or Last-Event-ID.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	after, resumes, err := r.ResumeAfter()
	if err != nil {
		return err
	}
	return r.Stream(w, func(stream *sse.Stream) error {
		watch := r.Lists.Watch(nil) // before the reads, so that no change is missed
		defer watch.Close()
		o := &openPage{panel: p, request: r, stream: stream, list: r.URL.Query().Get("list")}
		if err := o.begin(after, resumes); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		return o.follow(watch)
	})
}

// begin sends the version that the page should show; an empty version makes a board that missed a change load again.
// For a list's page, it notes that a person looks at the list and at the lists of its sub-agents.
func (o *openPage) begin(after int64, resumes bool) error {
	ctx, cancel := o.bounded()
	defer cancel()
	now, err := o.panel.standing(ctx, o.request, o.panel.next(0, presenceSoon))
	if err != nil {
		return err
	}
	o.version, o.waits = now.version, now.waits
	if o.list != "" {
		u, err := o.panel.update(ctx, o.request.Lists, sharedKey{list: o.list, own: true}, false)
		if err != nil {
			return err
		}
		o.version = u.version // empty if the list does not exist or is damaged
		if f, err := readGroup(ctx, o.request.Lists, o.list); err == nil {
			for _, l := range f.Lists() {
				o.request.Lists.Look(ctx, l) // not noted at the request for the page, which may come from a program
			}
		}
	} else if resumes {
		missed, err := o.request.Lists.Find(ctx, board.Query{AfterSeq: after, Limit: 1})
		if err != nil {
			return err
		}
		if len(missed) > 0 {
			o.version = ""
		}
	}
	o.stream.Aloud()
	return cmp.Or(o.stream.Begin(), o.hello())
}

// hello sends the id of the serving process, the version to show, how many lists wait for a person, and the
// milliseconds of silence after which the page is no longer live.
func (o *openPage) hello() error {
	hello := map[string]any{"process": o.panel.process, "version": o.version, "waits": o.waits, "silence": o.stream.Silence.Milliseconds()}
	return o.stream.Send(sse.Event{Name: "hello", Data: hello})
}

// bounded returns a context that ends after the time that a request may take to read the store.
func (o *openPage) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(o.stream.Context(), o.request.ReadTimeout())
}

// follow sends changes until the stream ends or the store cannot be read.
func (o *openPage) follow(watch *board.Follower) error {
	due := o.panel.next(0, presenceEvery)
	rest := time.Duration(0)
	for {
		until, cancel := context.WithDeadline(o.stream.Context(), due)
		changed, err := watch.Next(until)
		cancel()
		if err != nil && (o.stream.Context().Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return cmp.Or(o.stream.Context().Err(), err)
		}
		ctx, cancel := o.bounded()
		err = o.sendChanged(ctx, changed)
		if soon := o.panel.next(rest, presenceSoon); len(changed) > 0 && soon.Before(due) {
			due = soon
		}
		if err == nil && !time.Now().Before(due) {
			rest, err = o.sendMoved(ctx, due)
			due = o.panel.next(rest, presenceEvery)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("send what changed: %w", err)
		}
	}
}

// next returns the first time after now+rest on a grid that open pages share: p.began plus multiples of an interval.
func (p *Panel) next(rest, every time.Duration) time.Time {
	n := (time.Since(p.began)+rest)/every + 1
	return p.began.Add(n * every)
}

// sendChanged sends the main list of each changed list, each main list once. To a list's page it sends only that list.
func (o *openPage) sendChanged(ctx context.Context, changed []todo.Snapshot) error {
	done := make(map[string]bool)
	for _, l := range changed {
		id := cmp.Or(l.List.Parent, l.List.ID)
		if o.list == l.List.ID {
			id = o.list
		}
		if done[id] || o.list != "" && o.list != id {
			continue
		}
		done[id] = true
		if err := o.send(ctx, sharedKey{list: id, seq: max(l.Seq, l.Stood)}, l.Writer.Person); err != nil {
			return err
		}
	}
	return nil
}

// sendMoved sends changes that no write of a list made: an agent came, left, or saw a person's edit. A board gets its
// new version, a list's page gets its list, and both get the number of waiting lists. rest is how long the caller must
// wait at least before the next call.
func (o *openPage) sendMoved(ctx context.Context, due time.Time) (rest time.Duration, err error) {
	began := time.Now()
	now, err := o.panel.standing(ctx, o.request, due)
	if err != nil {
		return 0, err
	}
	stale := now.waits != o.waits
	o.waits = now.waits
	if o.list != "" {
		err = o.send(ctx, sharedKey{list: o.list, at: due}, false)
	} else if now.version != o.version {
		o.version, stale = now.version, true
	}
	if stale && err == nil {
		err = o.hello()
	}
	return presenceShare * max(now.took, time.Since(began)), err
}

// send sends an update of a list. A list's own page does not get a version that it already shows.
func (o *openPage) send(ctx context.Context, k sharedKey, person bool) error {
	k.whose, k.own = whose(o.request), o.list != ""
	u, err := o.panel.updates.Get(ctx, k, func() (update, error) { return o.panel.update(ctx, o.request.Lists, k, person) })
	if err != nil || k.own && o.version == u.version {
		return err
	}
	defer runtime.KeepAlive(u)
	if k.own {
		o.version = u.version
	}
	return o.stream.SendEncoded(u.event)
}

// whose returns the same key for all requests that see the same lists and chats.
func whose(r *edge.Request) string { return r.Principal + "\x00" + r.Subject }

// standing reads the board as it stands now. All calls for one user with the same time share one read.
func (p *Panel) standing(ctx context.Context, r *edge.Request, at time.Time) (*groups, error) {
	return p.standings.Get(ctx, sharedKey{whose: whose(r), at: at}, func() (groups, error) { return p.readBoard(ctx, r) })
}

// update reads and draws a list for open pages.
func (p *Panel) update(ctx context.Context, lists board.Lists, k sharedKey, person bool) (u update, err error) {
	c, d := change{ID: k.list, Person: person}, drawing{now: p.now()}
	switch f, err := readGroup(ctx, lists, k.list); {
	case errors.Is(err, board.ErrNotFound), errors.Is(err, board.ErrDamaged):
		c.Gone = true // the page loads again and shows the error
	case err != nil:
		return u, err
	default:
		progress := f.Progress()
		c.Say = strings.TrimSuffix(fmt.Sprintf("%s: %d of %d done, %s", titleOf(f.Main), progress.Done, progress.Total, d.at(&f)), ", ")
		c.Reason = todo.Cut(render.Question(f), maxShown)
		if !f.Main.IsChat() { // a page that resumed after a chat's Seq might miss a list with a lower Seq
			c.Seq = f.Seq()
		}
		if !k.own {
			c.Pieces = map[string]string{"card-" + c.ID: drawn(d.card(&f)), "row-" + c.ID: drawn(d.row(&f, "", "", 0))}
			break
		}
		page, err := p.pageOf(ctx, lists, f, 0)
		if err != nil {
			return u, err
		}
		c.Pieces, u.version = map[string]string{"main": drawn(page.main())}, page.version
	}
	u.event = sse.Encode(sse.Event{ID: c.Seq, Name: "list", Data: c})
	return u, nil
}
