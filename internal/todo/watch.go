package todo

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// healEvery bounds how long a lost hint can hide a change (BAD-INPUT 56: 5 s).
const healEvery = 4 * time.Second

// Watcher receives the newest snapshots of lists. It never holds up a writer:
// what it has not fetched yet is one snapshot a list, newest wins.
type Watcher struct {
	feed *feed
	want func(Snapshot) bool

	mu      sync.Mutex
	pending map[string]Snapshot
	ready   chan struct{} // one slot: something is pending, or closed
	closed  bool
}

// Next waits for changes and returns the newest snapshot of each list that
// changed since the last call, by Seq ascending. It returns ctx's error when
// that ends, and [ErrClosed] when the watcher or its board is closed.
func (w *Watcher) Next(ctx context.Context) ([]Snapshot, error) {
	for {
		select {
		case <-w.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		w.mu.Lock()
		got, closed := w.pending, w.closed
		w.pending = make(map[string]Snapshot)
		w.mu.Unlock()
		if closed {
			w.signal()
			return nil, ErrClosed
		}
		if len(got) > 0 {
			return bySeq(got), nil
		}
	}
}

// Close ends the watcher.
func (w *Watcher) Close() {
	w.feed.remove(w)
	w.shut()
}

func (w *Watcher) shut() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// offer hands over a snapshot unless a later one of its list is pending.
func (w *Watcher) offer(s Snapshot) {
	if w.want != nil && !w.want(s) {
		return
	}
	w.mu.Lock()
	if old, ok := w.pending[s.List.ID]; !ok || old.Revision < s.Revision {
		w.pending[s.List.ID] = s
	}
	w.mu.Unlock()
	w.signal()
}

func bySeq(m map[string]Snapshot) []Snapshot {
	out := make([]Snapshot, 0, len(m))
	for _, s := range m {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// feed follows the store for all watchers. It reads from the store what it
// hands out, so it cannot run ahead of durability, and it works only while
// somebody watches.
type feed struct {
	store Store

	mu       sync.Mutex
	watchers map[*Watcher]struct{}
	stop     context.CancelFunc // nil while nobody watches
	done     sync.WaitGroup
	closed   bool
}

func newFeed(store Store) *feed {
	return &feed{store: store, watchers: make(map[*Watcher]struct{})}
}

func (f *feed) add(want func(Snapshot) bool) *Watcher {
	w := &Watcher{feed: f, want: want, pending: make(map[string]Snapshot), ready: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		w.shut()
		return w
	}
	f.watchers[w] = struct{}{}
	if f.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		// Where the feed begins is read before add returns, so that whatever
		// is saved afterwards arrives.
		from, err := f.newest(ctx)
		f.done.Go(func() { f.run(ctx, from, err == nil) })
	}
	return w
}

func (f *feed) remove(w *Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
	if len(f.watchers) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	watchers := f.watchers
	f.watchers = make(map[*Watcher]struct{})
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
	f.mu.Unlock()
	for w := range watchers {
		w.shut()
	}
	f.done.Wait()
}

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
	hint := func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { f.watchStore(ctx, hint) })

	heal := time.NewTicker(healEvery)
	defer heal.Stop()
	if !known {
		hint()
	}
	for {
		select {
		case <-hints:
		case <-heal.C:
		case <-ctx.Done():
			return
		}
		from = f.pull(ctx, from)
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
	}
	return seq
}
