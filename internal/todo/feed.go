package todo

import (
	"context"
	"sync"
	"time"
)

// pollInterval is how often the feed reads the store without a hint. It bounds
// how long a lost hint can delay a change (BAD-INPUT 56: 5 s).
const pollInterval = 4 * time.Second

// maxUnannounced is how many calls wait to be announced to other processes;
// further ones are not announced.
const maxUnannounced = 64

// callIDLength is the length of a [Call]'s id, which must differ only from
// those of other calls at the same revision of the same list.
const callIDLength = 6

// feed delivers snapshots and calls to all watchers and call followers of a
// board. It delivers only what it has read from the store, except for this
// process's own calls, which are durable by then. It reads only while there is
// a receiver.
type feed struct {
	store   Store
	process string // this process's id; its calls are delivered directly

	mu            sync.Mutex
	watchers      map[*Watcher]struct{}
	calls         map[*Calls]struct{}
	announcedSeq  int64              // Seq of the last announcement read, or unknownSeq
	stopRun       context.CancelFunc // nil while run does not run
	toAnnounce    chan Call          // nil until the first call that changed nothing
	stopAnnouncer context.CancelFunc // ends announceCalls; nil as long as toAnnounce is
	goroutines    sync.WaitGroup
	closed        bool
}

func newFeed(store Store, process string) *feed {
	return &feed{store: store, process: process, watchers: make(map[*Watcher]struct{}), calls: make(map[*Calls]struct{})}
}

func (f *feed) addWatcher(want func(Snapshot) bool) *Watcher {
	w := &Watcher{feed: f, want: want, pending: make(map[string]Snapshot), ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		w.markClosed()
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
		c.markClosed()
		return c
	}
	if len(f.calls) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		f.announcedSeq = f.newestAnnouncement(ctx)
	}
	f.calls[c] = struct{}{}
	f.start()
	return c
}

// unknownSeq stands for the Seq of the newest announcement when the store could
// not be read. The next read then fetches it and delivers no announcement up to
// it.
const unknownSeq = -1

// newestAnnouncement returns the Seq of the newest announcement, 0 when there
// is none, or unknownSeq.
func (f *feed) newestAnnouncement(ctx context.Context) int64 {
	announced, err := f.store.Announced(ctx, 0)
	switch {
	case err != nil:
		return unknownSeq
	case len(announced) == 0:
		return 0
	}
	return announced[len(announced)-1].Seq
}

// start starts run unless it is running. The caller must hold f.mu. start reads
// the newest Seq before it returns, so that run delivers whatever is saved
// afterwards.
func (f *feed) start() {
	if f.stopRun != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stopRun = stop
	from, err := f.newestSeq(ctx)
	f.goroutines.Go(func() { f.run(ctx, from, err == nil) })
}

func (f *feed) removeWatcher(w *Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	f.stopIfUnused()
}

func (f *feed) removeCalls(c *Calls) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, c)
	f.stopIfUnused()
}

// stopIfUnused stops run when no receiver is left. The caller must hold f.mu.
func (f *feed) stopIfUnused() {
	if len(f.watchers)+len(f.calls) == 0 && f.stopRun != nil {
		f.stopRun()
		f.stopRun = nil
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	watchers, calls := f.watchers, f.calls
	f.watchers, f.calls = make(map[*Watcher]struct{}), make(map[*Calls]struct{})
	f.stopIfUnused()
	if f.stopAnnouncer != nil {
		f.stopAnnouncer()
	}
	f.mu.Unlock()
	for w := range watchers {
		w.markClosed()
	}
	for c := range calls {
		c.markClosed()
	}
	f.goroutines.Wait()
}

// deliverOwn delivers a call of this process to its followers. A call that
// changed nothing is also announced, since it made no revision by which other
// processes would see it. A call on no list at all is not announced.
func (f *feed) deliverOwn(out Outcome) {
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
	if f.toAnnounce == nil {
		f.toAnnounce = make(chan Call, maxUnannounced)
		var ctx context.Context
		ctx, f.stopAnnouncer = context.WithCancel(context.Background())
		f.goroutines.Go(func() { f.announceCalls(ctx) })
	}
	select {
	case f.toAnnounce <- call:
	default:
	}
}

// announceCalls announces calls until ctx ends, and then the calls that still
// wait. Announcements are hints: one that fails is not repeated.
func (f *feed) announceCalls(ctx context.Context) {
	for {
		select {
		case call := <-f.toAnnounce:
			f.announceOne(call)
			continue
		case <-ctx.Done():
		}
		for range len(f.toAnnounce) {
			f.announceOne(<-f.toAnnounce)
		}
		return
	}
}

func (f *feed) announceOne(call Call) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = f.store.Announce(ctx, Announcement{List: call.List.List.ID, Revision: call.List.Revision, Call: call.ID, Process: f.process})
}

// newestSeq returns the Seq of the snapshot saved last, or 0 when there is
// none.
func (f *feed) newestSeq(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	last, err := f.store.Find(ctx, Query{Limit: 1})
	if err != nil || len(last) == 0 {
		return 0, err
	}
	return last[0].Seq, nil
}

// run reads and delivers what was saved after from, on every hint of the store
// and every pollInterval, until ctx ends. known is false when the store could
// not be read for from, which is then 0; the first successful read delivers
// everything.
func (f *feed) run(ctx context.Context, from int64, known bool) {
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { f.watchStore(ctx, func() { signal(hints) }) })

	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	if !known {
		signal(hints)
	}
	for {
		select {
		case <-hints:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		from = f.pull(ctx, from)
		f.pullAnnounced(ctx)
	}
}

// watchStore watches the store until ctx ends, and tries again after failures.
func (f *feed) watchStore(ctx context.Context, hint func()) {
	for ctx.Err() == nil {
		if err := f.store.Watch(ctx, hint); err == nil {
			return
		}
		select {
		case <-time.After(pollInterval / 4):
		case <-ctx.Done():
		}
	}
}

// pull delivers the snapshots saved after seq and returns the Seq of the last
// one. After a failed read it returns seq, so that the next read repeats it.
func (f *feed) pull(ctx context.Context, seq int64) int64 {
	fresh, err := f.store.Find(ctx, Query{AfterSeq: seq, OldestFirst: true})
	if err != nil {
		return seq
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return seq // run was stopped; a new one may have delivered more already
	}
	for _, s := range fresh {
		seq = s.Seq
		for w := range f.watchers {
			w.offer(s)
		}
		if s.Writer.Process == f.process {
			continue // deliverOwn has delivered its calls
		}
		for c := range f.calls {
			c.offer(Call{List: s, Changed: true})
		}
	}
	return seq
}

// pullAnnounced delivers the calls that other processes announced since the
// last time. Only run's goroutine changes f.announcedSeq while calls are
// followed.
func (f *feed) pullAnnounced(ctx context.Context) {
	f.mu.Lock()
	followed, after := len(f.calls) > 0, f.announcedSeq
	f.mu.Unlock()
	if !followed {
		return
	}
	if after == unknownSeq {
		f.deliverAnnounced(f.newestAnnouncement(ctx))
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
		if list, err := f.store.Load(ctx, a.List, a.Revision); err == nil { // otherwise the revision is no longer kept
			calls = append(calls, Call{List: list, ID: a.Call})
		}
	}
	f.deliverAnnounced(announced[len(announced)-1].Seq, calls...)
}

// deliverAnnounced delivers calls to their followers. seq is the Seq of the
// last announcement read.
func (f *feed) deliverAnnounced(seq int64, calls ...Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announcedSeq = seq
	for _, call := range calls {
		for c := range f.calls {
			c.offer(call)
		}
	}
}
