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

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

const (
	// presenceEvery is how often an open page learns that an agent has gone or
	// come without a write; presenceSoon how long after a change, which may mean
	// that another list was left behind.
	presenceEvery, presenceSoon = 2 * time.Second, 200 * time.Millisecond
	// presenceShare is how many times as long as a check took the next one waits.
	presenceShare = 20
)

// openPage is a board or a list's own page that a person has open. It is sent a
// list that changed, and at times what stands otherwise without a write: an agent's
// process ended, or its time is over. What all open pages are sent alike is read and
// drawn once.
type openPage struct {
	panel   *Panel
	request *edge.Request
	stream  *sse.Stream
	list    string // the one whose page it is; empty for a board
	version string // of what the page shows, or was told to show
	waits   int    // how many lists the page says wait for a person
	place   string // where its list stood on boards
	unseen  bool   // what a person did to its list waits to be seen
}

// standingKey is when the lists and chats of somebody are compared with how they stood.
type standingKey struct {
	whose string
	at    time.Time
}

// updateKey is a change of a list, for boards or for its own page: the Seq of a write or of
// what was heard of its agent, or when the list's own page may show something else without one.
type updateKey struct {
	whose, list string
	own         bool
	seq         int64
	at          time.Time
}

// update is a change as it is sent.
type update struct {
	event   []byte
	version string // of the list's own page
	unseen  bool   // the own page says that something waits to be seen
}

// change is the data of an event.
type change struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
	// Pieces are all elements that show the list, drawn, by id: those of boards, or the
	// main element of the list's own page.
	Pieces map[string]string `json:"pieces,omitempty"`
	// What is said of it: by screen readers, and in notifications.
	Say    string     `json:"say"`
	Title  string     `json:"title"`
	State  todo.State `json:"state"`
	Reason string     `json:"reason,omitempty"` // for what the agent waits
	Failed int        `json:"failed"`
	Person bool       `json:"person,omitempty"` // a person changed it
	// Archived is true when it was put away, Gone when it was deleted.
	Archived bool `json:"archived,omitempty"`
	Gone     bool `json:"gone,omitempty"`
	// Place says where the list stands on the board: while it is the same, nothing
	// moves.
	Place string `json:"place"`
}

// events streams what changes of all lists, or with ?list= of one list's page.
// ?after= or Last-Event-ID is the Seq up to which a page shows all changes.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	after, resumes, err := r.ResumeAfter()
	if err != nil {
		return err
	}
	return r.Stream(w, func(stream *sse.Stream) error {
		watch := r.Lists.Watch(nil) // before the reads, so that nothing falls between
		defer watch.Close()
		o := &openPage{panel: p, request: r, stream: stream, list: r.URL.Query().Get("list")}
		if err := o.begin(after, resumes); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		return o.follow(watch)
	})
}

// begin says which version the page should show: none where a board missed a change,
// which then loads again. It notes that a person looks at the list of the page, and at those
// of its sub-agents.
func (o *openPage) begin(after int64, resumes bool) error {
	ctx, cancel := o.bounded()
	defer cancel()
	now, err := o.panel.standing(ctx, o.request, o.panel.next(0, presenceSoon))
	if err != nil {
		return err
	}
	o.version, o.waits = now.version, now.waits
	if o.list != "" {
		u, err := o.panel.update(ctx, o.request.Lists, updateKey{list: o.list, own: true}, false)
		if err != nil {
			return err
		}
		o.version, o.unseen = u.version, u.unseen // no version of a list that is not there
		if f, err := readGroup(ctx, o.request.Lists, o.list); err == nil {
			for _, l := range f.Lists() {
				o.request.Lists.Look(ctx, l) // who asks for the page alone may be no person
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

// hello says which process serves the page, which version the page should show, how many
// lists wait for a person, and after how many milliseconds of silence the page is not live.
func (o *openPage) hello() error {
	hello := map[string]any{"process": o.panel.process, "version": o.version, "waits": o.waits, "silence": o.stream.Silence.Milliseconds()}
	return o.stream.Send(sse.Event{Name: "hello", Data: hello})
}

// bounded returns a context for reads of the store: as much time as a request has.
func (o *openPage) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(o.stream.Context(), o.request.ReadTimeout())
}

// follow sends changes until the stream ends or the store cannot be read.
func (o *openPage) follow(watch *board.Watcher) error {
	due := o.panel.next(0, presenceEvery)
	rest := time.Duration(0)
	for {
		changed, err := nextUntil(o.stream.Context(), watch, due)
		if err != nil {
			return err
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

// next returns the next time after a rest at which all open pages do what is done so
// often.
func (p *Panel) next(rest, every time.Duration) time.Time {
	n := (time.Since(p.began)+rest)/every + 1
	return p.began.Add(n * every)
}

// nextUntil waits for changes until a time; then it returns none.
func nextUntil(ctx context.Context, watch *board.Watcher, due time.Time) ([]todo.Snapshot, error) {
	until, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	changed, err := watch.Next(until)
	if errors.Is(err, context.DeadlineExceeded) {
		err = ctx.Err()
	}
	return changed, err
}

// sendChanged sends what the page shows of lists that were written, or whose agents do otherwise: a board the main
// lists, each once. A sub-agent's list has a page of its own, too.
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
		if err := o.send(ctx, updateKey{list: id, seq: max(l.Seq, l.Stood)}, l.Writer.Person); err != nil {
			return err
		}
	}
	return nil
}

// sendMoved says to a board that lists stand otherwise than they did, and to every page how
// many wait, and returns how long it may rest. An own page is sent its list then, and also when an agent has read
// it: what waited to be seen is seen.
func (o *openPage) sendMoved(ctx context.Context, due time.Time) (rest time.Duration, err error) {
	now, err := o.panel.standing(ctx, o.request, due)
	if err != nil {
		return 0, err
	}
	stale := now.waits != o.waits
	o.waits = now.waits
	if place := now.places[o.list]; o.list != "" && (o.unseen || place != o.place) {
		o.place = place
		err = o.send(ctx, updateKey{list: o.list, at: due}, false)
	} else if o.list == "" && now.version != o.version {
		o.version, stale = now.version, true
	}
	if stale && err == nil {
		err = o.hello()
	}
	return presenceShare * now.took, err
}

// send sends a change of a list, but not what its own page shows already.
func (o *openPage) send(ctx context.Context, k updateKey, person bool) error {
	k.whose, k.own = whose(o.request), o.list != ""
	u, err := o.panel.updates.Get(ctx, k, func() (update, error) { return o.panel.update(ctx, o.request.Lists, k, person) })
	if err != nil || k.own && o.version == u.version {
		return err
	}
	defer runtime.KeepAlive(u)
	if k.own {
		o.version, o.unseen = u.version, u.unseen
	}
	return o.stream.SendEncoded(u.event)
}

// whose says of whom lists and chats are shown: chats are a user's own.
func whose(r *edge.Request) string { return r.Principal + "\x00" + r.Subject }

// standing reads how all lists of who asks stand at a time.
func (p *Panel) standing(ctx context.Context, r *edge.Request, at time.Time) (*groups, error) {
	return p.standings.Get(ctx, standingKey{whose(r), at}, func() (groups, error) { return p.readBoard(ctx, r) })
}

func (p *Panel) update(ctx context.Context, lists board.Lists, k updateKey, person bool) (u update, err error) {
	c := change{ID: k.list, Person: person}
	f, err := readGroup(ctx, lists, k.list)
	switch {
	case errors.Is(err, board.ErrNotFound), errors.Is(err, board.ErrDamaged): // the page loads again, and says which
		c.Gone, c.Person = true, true
	case err != nil:
		return u, err
	case k.own:
		page, err := p.pageOf(ctx, lists, f, 0)
		if err != nil {
			return u, err
		}
		c.describe(&f, page.drawing)
		c.Pieces = map[string]string{"main": drawn(page.main())}
		u.version, u.unseen = page.version, page.unseen > 0
	default:
		d := drawing{now: p.now()}
		c.describe(&f, d)
		c.Pieces = map[string]string{"card-" + c.ID: drawn(d.card(&f)), "row-" + c.ID: drawn(d.row(&f, "", "", 0))}
	}
	u.event, err = sse.Encode(sse.Event{ID: c.Seq, Name: "list", Data: c})
	return u, err
}

// describe says how a list stands.
func (c *change) describe(f *account.Group, d drawing) {
	c.Place, c.Archived = placeOf(f, d.now), f.Main.Archived
	if !f.Main.IsChat() { // else a list that is read later may have a smaller one
		c.Seq = f.Seq()
	}
	progress := f.Progress()
	c.Title, c.State, c.Failed = titleOf(f.Main), f.State(), progress.Failed
	c.Say = strings.TrimSuffix(fmt.Sprintf("%s: %d of %d done, %s", c.Title, progress.Done, progress.Total, d.at(f)), ", ")
	if _, asks, ok := f.Asks(); ok {
		c.Reason = render.Safe(asks)
	} else if _, item, ok := f.Waits(); ok {
		c.Reason = render.Safe(todo.Cut(cmp.Or(item.Reason, item.Title()), maxShown))
	}
}
