package todo

import (
	"context"
	"sync"
	"time"
)

// healEvery is how often the feed reads the store without a hint. It bounds how
// long a lost hint can hide a change (BAD-INPUT 56: 5 s).
const healEvery = 4 * time.Second

// maxUnannounced is how many calls wait to be announced to other processes;
// past it they are not announced.
const maxUnannounced = 64

// callIDLength is the length of a [Call]'s id, which need only differ from the
// others at the same revision of the same list.
const callIDLength = 6

// feed follows the store for all watchers of a board. It reads from the store
// what it hands out, so it cannot run ahead of durability, and it works only
// while somebody watches.
type feed struct {
	store   Store
	process string // whose own calls are handed out at once

	mu        sync.Mutex
	watchers  map[*Watcher]struct{}
	calls     map[*Calls]struct{}
	announced int64              // the Seq of the last announcement handed out; see unknownPlace
	stop      context.CancelFunc // nil while nobody watches
	announce  chan Call          // nil until the first call that changed nothing
	unwatched context.CancelFunc // ends the announcer
	work      sync.WaitGroup
	closed    bool
}

func newFeed(store Store, process string) *feed {
	return &feed{store: store, process: process, watchers: make(map[*Watcher]struct{}), calls: make(map[*Calls]struct{})}
}

func (f *feed) addWatcher(want func(Snapshot) bool) *Watcher {
	w := &Watcher{feed: f, want: want, pending: make(map[string]Snapshot), ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		w.shut()
		return w
	}
	f.watchers[w] = struct{}{}
	f.start()
	return w
}

func (f *feed) addCalls(want func(Snapshot) bool) *Calls {
	c := &Calls{feed: f, want: want, ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		c.shut()
		return c
	}
	if len(f.calls) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		f.announced = f.newestAnnouncement(ctx)
	}
	f.calls[c] = struct{}{}
	f.start()
	return c
}

// unknownPlace says that the store could not be asked for its newest
// announcement; then the first read finds it, and hands out none before it.
const unknownPlace = -1

func (f *feed) newestAnnouncement(ctx context.Context) int64 {
	announced, err := f.store.Announced(ctx, 0)
	switch {
	case err != nil:
		return unknownPlace
	case len(announced) == 0:
		return 0
	}
	return announced[len(announced)-1].Seq
}

// start begins to follow the store, unless it is followed; f.mu is held. The
// place to begin at is read before it returns, so that whatever is saved
// afterwards arrives.
func (f *feed) start() {
	if f.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	from, err := f.newest(ctx)
	f.work.Go(func() { f.run(ctx, from, err == nil) })
}

func (f *feed) removeWatcher(w *Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	f.stopUnwatched()
}

func (f *feed) removeCalls(c *Calls) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, c)
	f.stopUnwatched()
}

// stopUnwatched stops following the store when nobody watches; f.mu is held.
func (f *feed) stopUnwatched() {
	if len(f.watchers)+len(f.calls) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	watchers, calls := f.watchers, f.calls
	f.watchers, f.calls = make(map[*Watcher]struct{}), make(map[*Calls]struct{})
	f.stopUnwatched()
	if f.unwatched != nil {
		f.unwatched()
	}
	f.mu.Unlock()
	for w := range watchers {
		w.shut()
	}
	for c := range calls {
		c.shut()
	}
	f.work.Wait()
}

// called hands out a call of this process. One that changed nothing is also
// announced, for the store has no revision by which other processes would see
// it; a call on no list at all has nothing to show.
func (f *feed) called(out Outcome) {
	call := Call{List: out.After, Changed: out.Changed}
	if !call.Changed {
		call.ID = NewID()[:callIDLength]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.calls {
		c.offer(call)
	}
	if call.Changed || call.List.Revision == 0 || f.closed {
		return
	}
	if f.announce == nil {
		f.announce = make(chan Call, maxUnannounced)
		var ctx context.Context
		ctx, f.unwatched = context.WithCancel(context.Background())
		f.work.Go(func() { f.announceCalls(ctx) })
	}
	select {
	case f.announce <- call:
	default:
	}
}

// announceCalls announces calls until ctx ends, and then what still waits.
// Announcements are hints: one that fails is dropped.
func (f *feed) announceCalls(ctx context.Context) {
	for {
		select {
		case call := <-f.announce:
			f.announceOne(call)
			continue
		case <-ctx.Done():
		}
		for range len(f.announce) {
			f.announceOne(<-f.announce)
		}
		return
	}
}

func (f *feed) announceOne(call Call) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = f.store.Announce(ctx, Announcement{List: call.List.List.ID, Revision: call.List.Revision, Call: call.ID, Process: f.process})
}

// newest is the Seq of the snapshot saved last.
func (f *feed) newest(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	last, err := f.store.Find(ctx, Query{Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// run reads and hands out what is new, on every hint and now and then without
// one, until ctx ends. known is false when the store could not say where to
// begin; then everything is handed out once it can.
func (f *feed) run(ctx context.Context, from int64, known bool) {
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { f.watchStore(ctx, func() { signal(hints) }) })

	heal := time.NewTicker(healEvery)
	defer heal.Stop()
	if !known {
		signal(hints)
	}
	for {
		select {
		case <-hints:
		case <-heal.C:
		case <-ctx.Done():
			return
		}
		from = f.pull(ctx, from)
		f.pullAnnounced(ctx)
	}
}

// watchStore keeps watching although the store fails now and then.
func (f *feed) watchStore(ctx context.Context, hint func()) {
	for ctx.Err() == nil {
		if err := f.store.Watch(ctx, hint); err == nil {
			return
		}
		select {
		case <-time.After(healEvery / 4):
		case <-ctx.Done():
		}
	}
}

// pull hands out what was saved after seq and returns the new place. A read
// that fails is made good by the next.
func (f *feed) pull(ctx context.Context, seq int64) int64 {
	fresh, err := f.store.Find(ctx, Query{AfterSeq: seq, OldestFirst: true})
	if err != nil {
		return seq
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return seq // another run has taken over; what we read may be older
	}
	for _, s := range fresh {
		seq = s.Seq
		for w := range f.watchers {
			w.offer(s)
		}
		if s.Writer.Process == f.process {
			continue // its calls were handed out when they were made
		}
		for c := range f.calls {
			c.offer(Call{List: s, Changed: true})
		}
	}
	return seq
}

// pullAnnounced hands out the calls that other processes announced since the
// last time. Only this goroutine moves f.announced while somebody follows.
func (f *feed) pullAnnounced(ctx context.Context) {
	f.mu.Lock()
	followed, after := len(f.calls) > 0, f.announced
	f.mu.Unlock()
	if !followed {
		return
	}
	if after == unknownPlace {
		f.handOut(f.newestAnnouncement(ctx))
		return
	}
	announced, err := f.store.Announced(ctx, after)
	if err != nil || len(announced) == 0 {
		return
	}
	var calls []Call
	for _, a := range announced {
		if a.Process == f.process {
			continue
		}
		if list, err := f.store.Load(ctx, a.List, a.Revision); err == nil { // else it is not kept any more
			calls = append(calls, Call{List: list, ID: a.Call})
		}
	}
	f.handOut(announced[len(announced)-1].Seq, calls...)
}

// handOut offers calls to who follows, and remembers how far announcements were
// read.
func (f *feed) handOut(announced int64, calls ...Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announced = announced
	for _, call := range calls {
		for c := range f.calls {
			c.offer(call)
		}
	}
}
