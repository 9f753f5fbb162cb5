package todo

import (
	"context"
	"sync"
	"time"
)

// pollInterval is how often the feed reads the store without a hint. It bounds
// how long a lost hint can delay a change (BAD-INPUT 56: 5 s).
const pollInterval = 4 * time.Second

// feed delivers snapshots to all watchers of a board, and other processes' calls
// to all followers of calls. It delivers only what it has read from the store, and
// reads only while there is a receiver.
type feed struct {
	store   Store
	process string // this process's id; its calls are not delivered here
	calls   *callHub

	mu         sync.Mutex
	watchers   map[*Watcher]struct{}
	followers  int                // of calls
	stopRun    context.CancelFunc // nil while run does not run
	goroutines sync.WaitGroup
	closed     bool
}

func newFeed(store Store, process string) *feed {
	return &feed{store: store, process: process, watchers: make(map[*Watcher]struct{}), calls: newCallHub(store, process)}
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
	f.followers++
	f.start()
	return c
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
	if f.calls.remove(c) {
		f.followers--
		f.stopIfUnused()
	}
}

// stopIfUnused stops run when no receiver is left. The caller must hold f.mu.
func (f *feed) stopIfUnused() {
	if len(f.watchers)+f.followers == 0 && f.stopRun != nil {
		f.stopRun()
		f.stopRun = nil
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	watchers := f.watchers
	f.watchers, f.followers = make(map[*Watcher]struct{}), 0
	f.stopIfUnused()
	f.mu.Unlock()
	for w := range watchers {
		w.markClosed()
	}
	f.calls.close()
	f.goroutines.Wait()
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
		f.calls.pullAnnounced(ctx)
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
		if s.Writer.Process != f.process {
			f.calls.deliver(Call{List: s, Changed: true})
		}
	}
	return seq
}
