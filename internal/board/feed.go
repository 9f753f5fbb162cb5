package board

import (
	"context"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// pollInterval is how often the feed reads the store without a hint. It bounds how long a
// lost hint can delay a change (BAD-INPUT 56: 5 s, of which the rest is for a slow machine).
const pollInterval = 3 * time.Second

// unknownSeq stands for the Seq of the newest snapshot when the store could not be read.
const unknownSeq = -1

// feed delivers snapshots to watchers, and calls to followers of calls. Calls of this process are delivered as they are
// made; all else is read from the store, while there is a follower.
type feed struct {
	store   Store
	process string
	open    context.Context // until the board is closed
	close   context.CancelFunc

	mu         sync.RWMutex // locked before a follower's
	watchers   followers
	callers    followers          // followers of calls
	stopRun    context.CancelFunc // nil while run does not run
	goroutines sync.WaitGroup
}

type followers map[*follower]struct{}

// follower is what a [Watcher] and [Calls] have in common.
type follower struct {
	feed *feed
	all  followers // the watchers of the feed, or its callers
	want func(todo.Snapshot) bool
	keep func(Call)      // keeps a call until it is fetched; does not block
	open context.Context // until the follower or its board is closed
	end  context.CancelFunc
}

func newFeed(store Store, process string) *feed {
	f := &feed{store: store, process: process, watchers: make(followers), callers: make(followers)}
	f.open, f.close = context.WithCancel(context.Background())
	return f
}

// follow adds a follower, which receives what is saved from now on.
func (f *feed) follow(w *follower) {
	w.feed = f
	w.open, w.end = context.WithCancel(f.open)
	if !f.add(w, unknownSeq, false) {
		f.add(w, f.position(), true) // read without the lock: the store may be slow
	}
}

// add adds a follower and, if nobody reads the store, begins to read it after a Seq, or returns false unless it may begin.
func (f *feed) add(w *follower, from int64, begins bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopRun == nil && !begins {
		return false
	}
	w.all[w] = struct{}{}
	if f.stopRun == nil && f.open.Err() == nil {
		ctx, stop := context.WithCancel(f.open)
		f.stopRun = stop
		f.goroutines.Go(func() { f.run(ctx, from) })
	}
	return true
}

// end ends all followers, and waits for run.
func (f *feed) end() {
	f.mu.Lock()
	f.close()
	f.mu.Unlock()
	f.goroutines.Wait()
}

// Close ends the follower.
func (w *follower) Close() {
	f := w.feed
	w.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(w.all, w)
	if len(f.watchers)+len(f.callers) == 0 && f.stopRun != nil {
		f.stopRun()
		f.stopRun = nil
	}
}

// deliverOwn hands a call of this process to followers of calls.
func (f *feed) deliverOwn(out Outcome) {
	call := Call{List: out.After, Changed: out.Changed}
	if !call.Changed {
		call.ID = NewID()[:callIDLength]
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	f.callers.deliver(call)
}

// deliver delivers a call to those that want its list. The caller must hold the feed's mu, for reading.
func (all followers) deliver(c Call) {
	for w := range all {
		if w.want(c.List) {
			w.keep(c)
		}
	}
}

// position returns the Seq after which to read, or unknownSeq.
func (f *feed) position() int64 {
	ctx, cancel := context.WithTimeout(f.open, time.Second)
	defer cancel()
	position, err := f.store.Position(ctx)
	if err != nil {
		return unknownSeq
	}
	return position
}

// run delivers what was saved after seq, by hints of the store and every pollInterval; at once if it is unknownSeq.
func (f *feed) run(ctx context.Context, seq int64) {
	hints := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { f.watchStore(ctx, func() { Signal(hints) }) })

	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	if seq == unknownSeq {
		Signal(hints)
	}
	for from := (place{seq, seq}); ; {
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
		Sleep(ctx, pollInterval/4)
	}
}

// pull delivers what was saved after a place, and returns the place to which it has read. After a
// failed read it returns the place unchanged. If the place is not known it delivers the newest
// snapshot of every list to watchers, which may have missed it, and none to followers of calls,
// for whom it would be a new call (docs/spec/variants.md W2).
func (f *feed) pull(ctx context.Context, from place) place {
	replayed := from.lists == unknownSeq
	fresh, err := f.store.Find(ctx, Query{AfterSeq: max(from.lists, 0), OldestFirst: true, Deleted: true})
	if err != nil {
		return from
	}
	stands, chats, err := f.standOtherwise(ctx, from.chats)
	if err != nil {
		return from
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if ctx.Err() != nil {
		return from // run was stopped; its successor may be further
	}
	from.lists, from.chats = max(from.lists, 0), chats
	for _, s := range fresh {
		call := Call{List: s, Changed: true}
		f.watchers.deliver(call)
		// Calls of this process were delivered by deliverOwn. A snapshot without an operation is no call.
		if !replayed && s.Writer.Process != f.process && s.Operation.ID != "" {
			f.callers.deliver(call)
		}
		from.lists = s.Seq
	}
	for _, s := range stands {
		f.watchers.deliver(Call{List: s})
	}
	return from
}

// place is the Seq up to which the feed has read lists, and that for chats.
type place struct{ lists, chats int64 }

// standOtherwise returns, for chats saved after a Seq, the lists that they hold, with Stood set, and the
// chats, as [todo.Chat.AsList], that hold no open list. to is the Seq up to which it has read.
func (f *feed) standOtherwise(ctx context.Context, after int64) (stands []todo.Snapshot, to int64, err error) {
	if after == unknownSeq {
		position, err := f.store.Position(ctx)
		return nil, position, err
	}
	chats, err := f.store.Chats(ctx, ChatQuery{AfterSeq: after})
	for _, c := range chats {
		lists, err := heldBy(ctx, f.store, c)
		if err != nil {
			return nil, after, err
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
		after = c.Seq
	}
	return stands, after, err
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
