package todo

import (
	"context"
	"sync"
	"time"
)

// pollInterval is how often the feed reads the store without a hint. It bounds
// how long a lost hint can delay a change (BAD-INPUT 56: 5 s).
const pollInterval = 4 * time.Second

// feed delivers snapshots to all watchers of a board, and the calls by which other
// processes saved them to all followers of calls. It delivers only what it has read from the store, and
// reads only while there is a receiver.
type feed struct {
	store Store
	calls *callHub

	mu         sync.Mutex // locked before that of calls
	watchers   map[*Watcher]struct{}
	stopRun    context.CancelFunc // nil while run does not run
	goroutines sync.WaitGroup
	closed     bool
}

func newFeed(store Store, process string) *feed {
	return &feed{store: store, watchers: make(map[*Watcher]struct{}), calls: newCallHub(process)}
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
	f.calls.add(c)
	f.start()
	return c
}

// receivers returns how many watchers and followers of calls there are.
func (f *feed) receivers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers) + f.calls.count()
}

// start starts run unless it is running. The caller must hold f.mu. start reads
// the newest Seq before it returns, so that run delivers whatever is saved
// afterwards and no earlier call.
func (f *feed) start() {
	if f.stopRun != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stopRun = stop
	from := f.position(ctx)
	f.goroutines.Go(func() { f.run(ctx, from) })
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
	f.calls.remove(c)
	f.stopIfUnused()
}

// stopIfUnused stops run when no receiver is left. The caller must hold f.mu.
func (f *feed) stopIfUnused() {
	if len(f.watchers) == 0 && f.calls.count() == 0 {
		f.stop()
	}
}

// stop stops run if it is running. The caller must hold f.mu.
func (f *feed) stop() {
	if f.stopRun != nil {
		f.stopRun()
		f.stopRun = nil
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	watchers := f.watchers
	f.watchers = make(map[*Watcher]struct{})
	f.stop()
	f.mu.Unlock()
	for w := range watchers {
		w.markClosed()
	}
	f.calls.close()
	f.goroutines.Wait()
}

// position returns the Seq after which to read, or unknownSeq.
func (f *feed) position(ctx context.Context) int64 {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	position, err := f.store.Position(ctx)
	if err != nil {
		return unknownSeq
	}
	return position
}

// run reads and delivers what was saved after from, on every hint of the store
// and every pollInterval, until ctx ends. When from is unknownSeq it reads at
// once.
func (f *feed) run(ctx context.Context, from int64) {
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { f.watchStore(ctx, func() { signal(hints) }) })

	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	if from == unknownSeq {
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
// one. After a failed read it returns seq, so that the next read repeats it. When
// seq is unknownSeq it delivers the newest snapshot of every list to watchers,
// which may have missed any of them, and none to followers of calls, to whom an
// old snapshot would look like a new call (docs/spec/variants.md W2).
func (f *feed) pull(ctx context.Context, seq int64) int64 {
	replayed := seq == unknownSeq
	fresh, err := f.store.Find(ctx, Query{AfterSeq: max(seq, 0), OldestFirst: true, Deleted: true})
	if err != nil {
		return seq
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return seq // run was stopped; a new one may have delivered more already
	}
	for _, s := range fresh {
		for w := range f.watchers {
			w.offer(s)
		}
		if !replayed {
			f.calls.deliverSaved(s)
		}
	}
	if len(fresh) == 0 {
		return max(seq, 0)
	}
	return fresh[len(fresh)-1].Seq
}
