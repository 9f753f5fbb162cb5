package panel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
	"todo-mcp/server/sse"
)

// hub follows the lists of one principal for all its open pages: each change is
// read and drawn once, however many pages show it. It also finds what changed
// without a write: an agent's process ended, or its time is over. It runs while a
// page is open.
type hub struct {
	panel *Panel
	// principal is whose lists they are.
	principal string
	lists     todo.Lists
	shared    sse.Shared[*update]

	mu      sync.Mutex
	pages   map[*openPage]struct{}
	stop    context.CancelFunc // nil while run does not run
	stopped chan struct{}      // closed when run has ended
	// places are where all lists stand that the hub knows of, by the main list's
	// id.
	places map[string]place
	drawn  map[string]*listPage // what the list pages show that are followed, by list
}

// place is where a main list stands, with what is needed to ask for its state
// again.
type place struct {
	text string
	thin account.Family // its items have a status and nothing else
}

const (
	// presenceEvery is how often an open page learns that an agent has gone or
	// come without a write; presenceSoon how long after a change, which may mean
	// that another list was left behind.
	presenceEvery, presenceSoon = 2 * time.Second, 200 * time.Millisecond
	// presenceShare is how many times as long as a check took the next one waits.
	presenceShare = 20
)

// openPage is one open page: of each list the newest update waits until the page
// has been sent the one before.
type openPage struct {
	list string // the one that it shows; empty for the board

	mu      sync.Mutex
	waiting []*update
	err     error
	ready   chan struct{} // buffer of one: an update waits, or err is set
}

// offer makes an update wait in the place of an older one of its list.
func (o *openPage) offer(u *update) {
	o.mu.Lock()
	o.waiting = append(slices.DeleteFunc(o.waiting, func(w *update) bool { return w.key == u.key }), u)
	o.mu.Unlock()
	o.wake()
}

func (o *openPage) end(err error) {
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
	o.wake()
}

func (o *openPage) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// next waits for updates.
func (o *openPage) next(ctx context.Context) ([]*update, error) {
	select {
	case <-o.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	got := o.waiting
	o.waiting = nil
	return got, o.err
}

// join adds a page, and starts the hub unless it runs. It returns the version of
// what the page should show.
func (h *hub) join(ctx context.Context, list string) (page *openPage, version string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		if err := h.start(ctx); err != nil {
			return nil, "", err
		}
	}
	version = h.digest()
	if list != "" {
		if version, err = h.draws(ctx, list); err != nil && !errors.Is(err, todo.ErrNotFound) {
			h.leaveLocked(nil)
			return nil, "", err
		}
	}
	page = &openPage{list: list, ready: make(chan struct{}, 1)}
	h.pages[page] = struct{}{}
	return page, version, nil
}

// start reads how all lists stand, and begins to follow them. The caller must
// hold mu.
func (h *hub) start(ctx context.Context) error {
	watch := h.lists.Watch(nil) // before the read, so that nothing falls between
	all, err := readFamilies(ctx, h.lists)
	if err != nil {
		watch.Close()
		return err
	}
	h.places = make(map[string]place)
	h.drawn = make(map[string]*listPage)
	for _, f := range all {
		h.places[f.Main.List.ID] = h.remember(f)
	}
	running, stop := context.WithCancel(context.Background())
	h.stop, h.stopped = stop, make(chan struct{})
	go func(stopped chan struct{}) {
		defer close(stopped)
		defer watch.Close()
		h.end(stopped, h.run(running, watch))
	}(h.stopped)
	return nil
}

// leave removes a page; without pages the hub stops, and leave waits for that. The
// panel forgets it then: there may be very many principals.
func (h *hub) leave(page *openPage) {
	h.mu.Lock()
	stopped := h.leaveLocked(page)
	h.mu.Unlock()
	if stopped == nil {
		return
	}
	<-stopped
	h.panel.mu.Lock()
	defer h.panel.mu.Unlock()
	if h.panel.hubs[h.principal] == h {
		delete(h.panel.hubs, h.principal) // a page that joins it in this moment has a hub of its own
	}
}

func (h *hub) leaveLocked(page *openPage) (stopped chan struct{}) {
	delete(h.pages, page)
	if len(h.pages) > 0 || h.stop == nil {
		return nil
	}
	h.stop()
	h.stop = nil
	return h.stopped
}

// end ends all pages with an error, unless the run that ended was stopped.
func (h *hub) end(run chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil || h.stopped != run {
		return
	}
	h.stop()
	h.stop = nil
	for page := range h.pages {
		page.end(err)
		delete(h.pages, page)
	}
}

// run follows changes until ctx ends or the store cannot be read, and returns
// that error.
func (h *hub) run(ctx context.Context, watch *todo.Watcher) error {
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

// follow sends the lists that changed.
func (h *hub) follow(ctx context.Context, changed []todo.Snapshot) error {
	done := make(map[string]bool)
	for _, l := range changed {
		main := cmp.Or(l.List.Parent, l.List.ID)
		if main != l.List.ID { // a sub-agent's list has a page of its own, too
			if err := h.sendOwn(ctx, l); err != nil {
				return err
			}
		}
		if done[main] {
			continue
		}
		done[main] = true
		if err := h.send(ctx, main, l.Writer.Person); err != nil {
			return err
		}
	}
	return nil
}

// send draws a main list and offers it to all pages that show it.
func (h *hub) send(ctx context.Context, id string, person bool) error {
	f, err := readFamily(ctx, h.lists, id)
	gone := errors.Is(err, todo.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if gone {
		delete(h.places, id)
	} else {
		h.places[id] = h.remember(f)
	}
	u := &update{key: "list " + id, id: id, panel: h.panel, family: f, gone: gone, person: person, place: h.places[id].text}
	for page := range h.pages {
		if page.list == "" {
			page.offer(u)
		}
	}
	return h.sendPage(ctx, id, gone)
}

// sendOwn offers what changed on the own page of a sub-agent's list.
func (h *hub) sendOwn(ctx context.Context, l todo.Snapshot) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sendPage(ctx, l.List.ID, l.Deleted)
}

// sendPage offers what changed on a list's own page, if one is open. The caller
// must hold mu.
func (h *hub) sendPage(ctx context.Context, id string, gone bool) error {
	before := h.drawn[id]
	if before == nil || !h.follows(id) {
		delete(h.drawn, id)
		return nil
	}
	u := &update{key: "page " + id, id: id, panel: h.panel, gone: gone}
	if !gone {
		page, err := h.panel.listPage(ctx, h.lists, id)
		if err != nil {
			return err
		}
		if page.Version == before.Version {
			return nil
		}
		u.page, u.before = &page, before
		h.drawn[id] = &page
	}
	for page := range h.pages {
		if page.list == id {
			page.offer(u)
		}
	}
	return nil
}

// draws returns the version of a list's page, and remembers what it shows. The
// caller must hold mu.
func (h *hub) draws(ctx context.Context, id string) (string, error) {
	if page := h.drawn[id]; page != nil {
		return page.Version, nil
	}
	page, err := h.panel.listPage(ctx, h.lists, id)
	if err != nil {
		return "", err
	}
	h.drawn[id] = &page
	return page.Version, nil
}

// presence asks again how the lists stand that are not finished, and sends each that
// stands otherwise without a write.
func (h *hub) presence(ctx context.Context) error {
	h.mu.Lock()
	var all []todo.Snapshot
	thin := make(map[string]place)
	for id, p := range h.places {
		if len(p.thin.Main.Items) > 0 || len(p.thin.Subs) > 0 {
			thin[id] = p
			all = append(all, p.thin.Lists()...)
		}
	}
	h.mu.Unlock()
	states, err := h.lists.States(ctx, all...)
	if err != nil {
		return err
	}
	for id, p := range thin {
		p.thin.States = states
		if placeOf(p.thin, h.panel.config.Now()) == p.text {
			continue
		}
		if err := h.send(ctx, id, false); err != nil {
			return err
		}
	}
	return h.read(ctx)
}

// read sends to open pages of lists that an agent has read what its reading changed:
// what waited to be seen is seen.
func (h *hub) read(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, page := range h.drawn {
		if page.Unseen.N == 0 {
			continue
		}
		if err := h.sendPage(ctx, id, false); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return err
		}
	}
	return nil
}

// remember returns where a family stands. What may change its state without a
// write is kept of lists that are open.
func (h *hub) remember(f account.Family) place {
	now := h.panel.config.Now()
	p := place{text: placeOf(f, now)}
	p.thin.Main = thin(f.Main)
	for _, s := range f.Subs {
		p.thin.Subs = append(p.thin.Subs, thin(s))
	}
	if f.State() == todo.Finished || f.Main.Archived {
		p.thin.Main.Items, p.thin.Subs = nil, nil
	}
	return p
}

// thin returns what the state of a list depends on.
func thin(l todo.Snapshot) todo.Snapshot {
	items := make([]todo.Item, len(l.Items))
	for i, item := range l.Items {
		items[i].Status = item.Status
	}
	l.Items, l.Report = items, todo.Report{}
	return l
}

// digest returns what tells apart how the board's lists stand.
func (h *hub) digest() string {
	places := make([]string, 0, len(h.places))
	for id, p := range h.places {
		places = append(places, id+p.text)
	}
	return digestOf(places)
}

// digest returns the same for the lists of a page; see [hub.digest].
func digest(s board) string {
	var places []string
	for _, f := range slices.Concat(s.Active, s.Past, s.Archived) {
		places = append(places, f.Main.List.ID+placeOf(f, s.now))
	}
	return digestOf(places)
}

func digestOf(places []string) string {
	slices.Sort(places)
	sum := sha256.Sum256([]byte(strings.Join(places, "\n")))
	return hex.EncodeToString(sum[:6])
}

// follows reports whether a page of a list is open. The caller must hold mu.
func (h *hub) follows(list string) bool {
	for page := range h.pages {
		if page.list == list {
			return true
		}
	}
	return false
}

// update is what changed of one list, for the pages that show it. It is drawn
// when the first of them is sent it.
type update struct {
	key    string // updates with the same key replace each other
	id     string
	panel  *Panel
	family account.Family
	place  string
	gone   bool
	person bool // a person wrote
	page   *listPage
	before *listPage
}

// events returns the update as events.
func (u *update) events() []sse.Event {
	if u.key == "page "+u.id {
		return []sse.Event{{Name: "page", Data: u.pageChange()}}
	}
	return []sse.Event{{ID: u.family.Seq(), Name: "list", Data: u.listChange()}}
}
