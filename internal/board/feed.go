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

// unknownSeq stands for the Seq of the newest snapshot when the store could not be
// read. The next successful read then fetches it, and followers of calls receive
// nothing up to it.
const unknownSeq = -1

// feed delivers snapshots to all watchers of a board, and calls to all that follow
// calls: of this process at once, and of others when it reads what they
// saved. It delivers to watchers only what it has read from the store, and reads only
// while there is a follower.
type feed struct {
	store   Store
	process string
	open    context.Context // until the board is closed
	close   context.CancelFunc

	mu         sync.RWMutex // locked before a follower's
	watchers   followers
	callers    followers          // who follows calls: few, and each call of this process passes them
	stopRun    context.CancelFunc // nil while run does not run
	goroutines sync.WaitGroup
}

type followers map[*follower]struct{}

// follower is what a [Watcher] and [Calls] have in common.
type follower struct {
	feed *feed
	all  followers // the watchers of the feed, or its callers
	want func(todo.Snapshot) bool
	keep func(Call)      // keeps what is to be fetched, and does not block
	open context.Context // until the follower or its board is closed
	end  context.CancelFunc
}

func newFeed(store Store, process string) *feed {
	f := &feed{store: store, process: process, watchers: make(followers), callers: make(followers)}
	f.open, f.close = context.WithCancel(context.Background())
	return f
}

// follow adds a follower. It receives what is saved afterwards and no earlier call.
func (f *feed) follow(w *follower) {
	w.feed = f
	w.open, w.end = context.WithCancel(f.open)
	if f.add(w, unknownSeq, false) {
		return
	}
	f.add(w, f.position(), true) // without the lock: a slow store delays nobody
}

// add adds a follower if run runs, or if start says that it may be started, to read what
// was saved after from. It reports whether the follower was added.
func (f *feed) add(w *follower, from int64, start bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopRun == nil && !start {
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

// deliverOwn delivers a call of this process, and waits for up to handoverTimeout until
// those who follow calls have dealt with it.
func (f *feed) deliverOwn(out Outcome) {
	f.mu.RLock()
	if len(f.callers) == 0 {
		f.mu.RUnlock()
		return
	}
	way := &handover{done: make(chan struct{})}
	way.left.Store(1) // this one
	call := Call{List: out.After, Changed: out.Changed, handover: way}
	if !call.Changed {
		call.ID = NewID()[:callIDLength]
	}
	f.callers.deliver(call)
	f.mu.RUnlock()
	way.finish()
	select {
	case <-way.done:
	case <-time.After(handoverTimeout):
	}
}

// deliver delivers a call, or the list that one left. The caller must hold the feed's
// mu, for reading.
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

// run reads and delivers what was saved after from, on every hint of the store
// and every pollInterval, until ctx ends. When from is unknownSeq it reads at
// once.
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

// pull delivers what was saved after a place, and returns where it has read to. After a failed
// read it returns the place, so that the next read repeats it. When the place is not known it
// delivers the newest snapshot of every list to watchers, which may have missed any of them, and
// none to followers of calls, to whom an old snapshot would look like a new call
// (docs/spec/variants.md W2).
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
		return from // run was stopped; a new one may have delivered more already
	}
	from.lists, from.chats = max(from.lists, 0), chats
	for _, s := range fresh {
		// The calls of this process were delivered as they were made. What has no
		// operation was saved beside a call.
		call := Call{List: s, Changed: true}
		f.watchers.deliver(call)
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

// place is up to which Seq the feed has read lists, and chats: what has a smaller Seq than the
// last of one may be read later among the others.
type place struct{ lists, chats int64 }

// standOtherwise returns the lists whose chats were saved after a Seq, with [todo.Snapshot.Stood],
// and [todo.Chat.AsList] of those of which hooks say what they do; and up to which it has read.
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
				continue // it is gone, or damaged: its chat says nothing of it
			}
			hasOpen = hasOpen || s.Open() && !s.Archived
			if c.Seq < s.Seq {
				continue // who is sent this revision finds what the chat says
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
