package board

import (
	"context"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// unknownSeq stands for the Seq of the newest snapshot when the store could not be read.
const unknownSeq = -1

// feed delivers revisions of lists and calls to followers. Calls of this process are delivered as they are made. Once
// there is a follower, all revisions, and the calls of other processes, are read from the store.
type feed struct {
	store   Store
	process string
	open    context.Context // until the board is closed
	close   context.CancelFunc
	begin   sync.Once // starts watch

	mu        sync.RWMutex // locked before the mu of a follower
	followers map[*Follower]struct{}
	running   sync.WaitGroup
}

// follow returns a follower of revisions, or of calls if calls is true, from now on. The first call of follow asks
// the store for its position, for at most one second.
func (f *feed) follow(calls bool, want func(todo.Snapshot) bool) *Follower {
	w := &Follower{feed: f, want: want, calls: calls, ready: make(chan struct{}, 1), waiting: make(map[string]arrival)}
	w.open, w.end = context.WithCancel(f.open)
	f.mu.Lock()
	f.followers[w] = struct{}{}
	f.mu.Unlock()
	f.begin.Do(func() {
		ctx, cancel := context.WithTimeout(f.open, time.Second)
		defer cancel()
		from, err := f.store.Position(ctx)
		if err != nil {
			from = unknownSeq
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.open.Err() == nil {
			f.running.Go(func() { f.watch(from) })
		}
	})
	return w
}

// end ends all followers, and waits for watch.
func (f *feed) end() {
	f.mu.Lock()
	f.close()
	f.mu.Unlock()
	f.running.Wait()
}

// deliver delivers a snapshot to the followers that want it: followers of calls if toCalls is true, else of revisions.
func (f *feed) deliver(s todo.Snapshot, toCalls bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for w := range f.followers {
		if w.calls == toCalls && w.want(s) {
			w.keep(s)
		}
	}
}

// watch delivers all saves after seq, until the board or the store is closed.
func (f *feed) watch(seq int64) {
	_ = f.store.Watch(f.open, func() {
		if next, err := f.pull(seq); err == nil {
			seq = next
		}
	})
}

// pull delivers all saves with a Seq > from, and returns the Seq up to which it has read. If from is unknownSeq,
// followers of revisions get the newest snapshot of every list, as they may have missed it. Followers of calls get
// nothing: they would take each snapshot for a new call (docs/spec/variants.md W2).
func (f *feed) pull(from int64) (to int64, err error) {
	ctx := f.open
	if to, err = f.store.Position(ctx); err != nil || to == from {
		return to, err
	}
	fresh, err := f.store.Find(ctx, Query{AfterSeq: max(from, 0), OldestFirst: true, Deleted: true})
	if err != nil {
		return to, err
	}
	var stands []todo.Snapshot
	if from != unknownSeq {
		if stands, err = f.standOtherwise(ctx, from, to); err != nil {
			return to, err
		}
	}
	for _, s := range fresh {
		f.deliver(s, false)
		// A snapshot with Seq > to comes again with the next pull. Followers of revisions may get it twice, followers
		// of calls must not. Calls of this process are skipped, too: Lists.Apply delivers them. A snapshot without an
		// operation is no call.
		if from != unknownSeq && s.Seq <= to && s.Writer.Process != f.process && s.Operation.ID != "" {
			f.deliver(s, true)
		}
	}
	for _, s := range stands {
		f.deliver(s, false)
	}
	return to, nil
}

// standOtherwise returns snapshots for the chats with a Seq in (after, to]: the lists that each of them holds, with
// Stood set, except lists saved later than the chat. A main agent's chat without an open list is returned as
// [todo.Chat.AsList], if its end or its agent's activity is known.
func (f *feed) standOtherwise(ctx context.Context, after, to int64) (stands []todo.Snapshot, err error) {
	chats, err := f.store.Chats(ctx, ChatQuery{AfterSeq: after})
	for _, c := range chats {
		if c.Seq > to {
			break
		}
		lists, err := heldBy(ctx, f.store, c)
		if err != nil {
			return nil, err
		}
		hasOpen := false
		for _, id := range lists {
			s, err := f.store.Load(ctx, id, 0)
			if err != nil {
				continue // gone or damaged
			}
			hasOpen = hasOpen || s.Open() && !s.Archived
			if c.Seq < s.Seq {
				continue // watchers are sent this revision, and then read the chat
			}
			s.Stood = c.Seq
			stands = append(stands, s)
		}
		if c.Parent == "" && !hasOpen && (c.Doing != todo.NotKnown || !c.Ended.IsZero()) {
			stands = append(stands, c.AsList())
		}
	}
	return stands, err
}

// Sleep waits for a time, or until ctx ends, and reports whether ctx has not ended.
func Sleep(ctx context.Context, wait time.Duration) bool {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// Signal sends on a channel with a buffer of one, unless the buffer is full.
func Signal(slot chan<- struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}
