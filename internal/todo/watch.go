package todo

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Watcher receives the newest snapshots of lists. It never delays a writer: of
// each list only the newest snapshot waits to be fetched.
type Watcher struct {
	feed *feed
	want func(Snapshot) bool

	mu      sync.Mutex
	pending map[string]Snapshot // by list id
	ready   chan struct{}       // buffer of one: a snapshot is pending, or closed
	closed  bool
}

// Next waits for changes and returns the newest snapshot of each list that
// changed since the last call, by Seq ascending. It returns ctx's error when
// ctx ends, and [ErrClosed] when the watcher or its board is closed.
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
			signal(w.ready) // so that the next Next does not block
			return nil, ErrClosed
		}
		if len(got) > 0 {
			return bySeq(got), nil
		}
	}
}

// Close ends the watcher.
func (w *Watcher) Close() {
	w.feed.removeWatcher(w)
	w.markClosed()
}

func (w *Watcher) markClosed() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	signal(w.ready)
}

// offer makes a snapshot pending unless a later one of its list already is.
func (w *Watcher) offer(s Snapshot) {
	if !w.want(s) {
		return
	}
	w.mu.Lock()
	if old, ok := w.pending[s.List.ID]; !ok || old.Revision < s.Revision {
		w.pending[s.List.ID] = s
	}
	w.mu.Unlock()
	signal(w.ready)
}

// bySeq returns snapshots in the order they were saved.
func bySeq(m map[string]Snapshot) []Snapshot {
	out := make([]Snapshot, 0, len(m))
	for _, s := range m {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}
