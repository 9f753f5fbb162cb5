package panel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/sse"
)

// hub follows the lists of one principal for all its open pages: each change is
// read and drawn once, however many pages show it. It also finds what changed
// without a write: an agent's process ended, or its time is over. It runs from its
// first page to its last, or until the store fails; then the next page has another.
type hub struct {
	panel     *Panel
	principal string
	lists     todo.Lists
	shared    sse.Shared[*update]
	users     int // the streams that have not left; guarded by the panel's mu

	stop  context.CancelFunc
	ready chan struct{} // closed when places are read
	ended chan struct{} // closed when the hub has ended, with err
	err   error

	mu     sync.Mutex
	pages  map[string][]*openPage    // by the list that they show, empty for the board
	places map[string]string         // where the lists stand that the hub knows of, by the main list's id
	open   map[string]account.Family // of those, the ones that may stand elsewhere without a write
	drawn  map[string]*listPage      // what the list pages show that are followed, by list
}

const (
	// presenceEvery is how often an open page learns that an agent has gone or
	// come without a write; presenceSoon how long after a change, which may mean
	// that another list was left behind.
	presenceEvery, presenceSoon = 2 * time.Second, 200 * time.Millisecond
	// presenceShare is how many times as long as a check took the next one waits.
	presenceShare = 20
	// maxMissed is how many changed lists a page that comes back is sent at most.
	maxMissed = 500
)

// openPage is one open page: of each list the newest update waits until the page
// has been sent the one before.
type openPage struct {
	list string // the one that it shows; empty for the board

	mu      sync.Mutex
	waiting []*update
	ready   chan struct{} // buffer of one: an update waits
}

// offer makes an update wait in the place of an older one of its list.
func (o *openPage) offer(u *update) {
	o.mu.Lock()
	older := func(w *update) bool { return w.name == u.name && w.id == u.id }
	o.waiting = append(slices.DeleteFunc(o.waiting, older), u)
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take returns the updates that wait.
func (o *openPage) take() []*update {
	o.mu.Lock()
	defer o.mu.Unlock()
	got := o.waiting
	o.waiting = nil
	return got
}

// events streams what changes of all lists, or with ?list= of one list's page.
// ?after= or Last-Event-ID is the Seq after which a page has missed changes.
func (p *Panel) events(w http.ResponseWriter, r *edge.Request) error {
	after, resumes, err := r.ResumeAfter()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), r.ReadTimeout())
	defer cancel()
	return r.Stream(w, func(stream *sse.Stream) error {
		h := p.hubOf(r)
		page := &openPage{list: r.URL.Query().Get("list"), ready: make(chan struct{}, 1)}
		defer h.leave(page)
		version, err := h.join(ctx, page)
		if err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		if err := stream.Begin(); err != nil {
			return err
		}
		hello := map[string]string{"process": p.config.Process, "version": version} // of what the page should show
		if err := stream.Send(sse.Event{Name: "hello", Data: hello}); err != nil {
			return err
		}
		if resumes && page.list == "" {
			if err := h.catchUp(ctx, page, after); err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
		}
		return h.serve(stream, page)
	})
}

// serve sends updates until the stream or the hub ends.
func (h *hub) serve(stream *sse.Stream, page *openPage) error {
	for {
		select {
		case <-page.ready:
		case <-h.ended:
			return h.err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		for _, u := range page.take() {
			if err := h.shared.Send(stream, u, u.events); err != nil {
				return fmt.Errorf("send what changed: %w", err)
			}
		}
	}
}

// hubOf returns the hub of a request's principal, which runs. The caller must
// leave it.
func (p *Panel) hubOf(r *edge.Request) *hub {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hubs[r.Principal]
	if h == nil {
		h = &hub{panel: p, principal: r.Principal, lists: r.Lists, ready: make(chan struct{}), ended: make(chan struct{}),
			pages: make(map[string][]*openPage), places: make(map[string]string),
			open: make(map[string]account.Family), drawn: make(map[string]*listPage)}
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		p.hubs[r.Principal] = h
		go func() {
			defer close(h.ended)
			h.err = h.run(ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.forget(h)
		}()
	}
	h.users++
	return h
}

// forget lets the next page begin a hub. The caller must hold mu.
func (p *Panel) forget(h *hub) {
	if p.hubs[h.principal] == h {
		delete(p.hubs, h.principal)
	}
}

// join adds a page when the hub has read how all lists stand, and returns the
// version of what the page should show.
func (h *hub) join(ctx context.Context, page *openPage) (version string, err error) {
	select {
	case <-h.ready:
	case <-h.ended:
		return "", h.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	version = digest(h.places)
	if page.list != "" {
		if version, err = h.draws(ctx, page.list); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return "", err
		}
	}
	h.pages[page.list] = append(h.pages[page.list], page)
	return version, nil
}

// leave removes a page. The last one ends the hub and waits for that.
func (h *hub) leave(page *openPage) {
	h.mu.Lock()
	h.pages[page.list] = slices.DeleteFunc(h.pages[page.list], func(o *openPage) bool { return o == page })
	if len(h.pages[page.list]) == 0 {
		delete(h.pages, page.list)
		delete(h.drawn, page.list)
	}
	h.mu.Unlock()
	p := h.panel
	p.mu.Lock()
	h.users--
	last := h.users == 0
	if last {
		p.forget(h)
	}
	p.mu.Unlock()
	if last {
		h.stop()
		<-h.ended
	}
}

// run follows changes until ctx ends or the store cannot be read, and returns
// that error.
func (h *hub) run(ctx context.Context) error {
	watch := h.lists.Watch(nil) // before the read, so that nothing falls between
	defer watch.Close()
	if err := h.bounded(ctx, h.readPlaces); err != nil {
		return err
	}
	close(h.ready)
	due := time.Now().Add(presenceEvery)
	rest := time.Duration(0)
	for {
		changed, err := nextUntil(ctx, watch, due)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			if err := h.bounded(ctx, func(ctx context.Context) error { return h.follow(ctx, changed) }); err != nil {
				return err
			}
			if soon := time.Now().Add(max(presenceSoon, rest)); soon.Before(due) {
				due = soon
			}
		}
		if began := time.Now(); !began.Before(due) {
			if err := h.bounded(ctx, h.presence); err != nil {
				return err
			}
			rest = presenceShare * time.Since(began)
			due = time.Now().Add(max(presenceEvery, rest))
		}
	}
}

// bounded runs reads of the store within the time that a request has.
func (h *hub) bounded(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.panel.config.ReadTimeout)
	defer cancel()
	return read(ctx)
}

// nextUntil waits for changes until a time; then it returns none.
func nextUntil(ctx context.Context, watch *todo.Watcher, due time.Time) ([]todo.Snapshot, error) {
	until, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	changed, err := watch.Next(until)
	if errors.Is(err, context.DeadlineExceeded) {
		err = ctx.Err()
	}
	return changed, err
}

// readPlaces reads how all lists stand.
func (h *hub) readPlaces(ctx context.Context) error {
	all, err := readFamilies(ctx, h.lists)
	for _, f := range all {
		h.remember(f)
	}
	return err
}

// remember notes where a family stands. Of one that may stand elsewhere without a
// write it keeps what its state depends on: the status of each item.
func (h *hub) remember(f account.Family) {
	id := f.Main.List.ID
	h.places[id] = placeOf(&f, h.panel.config.Now())
	delete(h.open, id)
	if f.State() == todo.Finished || f.Main.Archived {
		return
	}
	thin := account.Family{Main: statuses(f.Main)}
	for _, s := range f.Subs {
		thin.Subs = append(thin.Subs, statuses(s))
	}
	h.open[id] = thin
}

// statuses returns a list whose items have a status and nothing else.
func statuses(l todo.Snapshot) todo.Snapshot {
	items := make([]todo.Item, len(l.Items))
	for i, item := range l.Items {
		items[i].Status = item.Status
	}
	l.Items, l.Report = items, todo.Report{}
	return l
}

// follow sends the lists that changed.
func (h *hub) follow(ctx context.Context, changed []todo.Snapshot) error {
	for _, l := range changed {
		if l.List.Parent == "" {
			continue
		}
		if err := h.sendPage(ctx, l.List.ID); err != nil { // a sub-agent's list has a page of its own, too
			return err
		}
	}
	for u, err := range h.updates(ctx, changed) {
		if err == nil {
			err = h.send(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUp offers a page the lists that changed after a Seq. One above the newest
// comes from another store: then the page loads again by its version.
func (h *hub) catchUp(ctx context.Context, page *openPage, after int64) error {
	missed, err := h.lists.Find(ctx, todo.Query{AfterSeq: after, Limit: maxMissed})
	if err != nil {
		return err
	}
	slices.Reverse(missed) // the oldest first
	for u, err := range h.updates(ctx, missed) {
		if err != nil {
			return err
		}
		page.offer(u)
	}
	return nil
}

// updates reads the main lists of lists that changed, each once.
func (h *hub) updates(ctx context.Context, changed []todo.Snapshot) iter.Seq2[*update, error] {
	return func(yield func(*update, error) bool) {
		done := make(map[string]bool)
		for _, l := range changed {
			id := cmp.Or(l.List.Parent, l.List.ID)
			if !done[id] && !yield(h.read(ctx, id, l.Writer.Person)) {
				return
			}
			done[id] = true
		}
	}
}

// read reads what boards show of a main list.
func (h *hub) read(ctx context.Context, id string, person bool) (*update, error) {
	f, err := readFamily(ctx, h.lists, id)
	u := &update{name: "list", id: id, panel: h.panel, family: f, person: person, gone: errors.Is(err, todo.ErrNotFound)}
	if u.gone {
		err = nil
	}
	return u, err
}

// send offers a main list to all pages that show it.
func (h *hub) send(ctx context.Context, u *update) error {
	h.mu.Lock()
	if u.gone {
		delete(h.places, u.id)
		delete(h.open, u.id)
	} else {
		h.remember(u.family)
	}
	for _, board := range h.pages[""] {
		board.offer(u)
	}
	h.mu.Unlock()
	return h.sendPage(ctx, u.id)
}

// sendPage offers what changed on a list's own page, if one is open.
func (h *hub) sendPage(ctx context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.drawn[id]
	if before == nil {
		return nil
	}
	page, err := h.panel.listPage(ctx, h.lists, id)
	u := &update{name: "page", id: id, panel: h.panel, before: before, page: page, gone: errors.Is(err, todo.ErrNotFound)}
	switch {
	case u.gone:
		delete(h.drawn, id)
	case err != nil:
		return err
	case page.version == before.version:
		return nil
	default:
		h.drawn[id] = page
	}
	for _, own := range h.pages[id] {
		own.offer(u)
	}
	return nil
}

// draws returns the version of a list's page, and remembers what it shows. The
// caller must hold mu.
func (h *hub) draws(ctx context.Context, id string) (string, error) {
	page := h.drawn[id]
	if page == nil {
		var err error
		if page, err = h.panel.listPage(ctx, h.lists, id); err != nil {
			return "", err
		}
		h.drawn[id] = page
	}
	return page.version, nil
}

// presence asks again how the lists stand that are not finished, and sends each that
// stands otherwise without a write. It also sends the pages of lists that an agent
// has read: what waited to be seen is seen.
func (h *hub) presence(ctx context.Context) error {
	h.mu.Lock()
	open, unseen := maps.Clone(h.open), []string(nil)
	for id, page := range h.drawn {
		if page.unseen.N > 0 {
			unseen = append(unseen, id)
		}
	}
	h.mu.Unlock()
	var all []todo.Snapshot
	for _, f := range open {
		all = append(all, f.Lists()...)
	}
	states, err := h.lists.States(ctx, all...)
	if err != nil {
		return err
	}
	for id, f := range open {
		f.States = states
		if placeOf(&f, h.panel.config.Now()) == h.places[id] { // this goroutine alone writes them
			continue
		}
		u, err := h.read(ctx, id, false)
		if err == nil {
			err = h.send(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range unseen {
		if err := h.sendPage(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// digest returns what tells apart where lists stand, by id.
func digest(places map[string]string) string {
	lines := make([]string, 0, len(places))
	for id, place := range places {
		lines = append(lines, id+place)
	}
	slices.Sort(lines)
	return digestOf(strings.Join(lines, "\n"))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
