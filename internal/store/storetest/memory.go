package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Memory is a board.Store in memory, for tests and for programs of developers. It keeps every promise of board.Store
// but two: the lists are lost when the process ends, and no list is removed by age or for room. Of board.Keep it obeys
// Revisions, Lists and Before.
type Memory struct {
	reader
	now  atomic.Pointer[state]
	turn chan struct{} // taken by the running Update; first come, first served
	// operations maps operation ids to the ids of the lists that the operations saved. A copy in each update would be
	// slow, so the map is outside of the states. The saved revision is looked up in a state.
	operations struct {
		sync.RWMutex
		lists map[string]string
	}
	life      *tables.Life
	keep      board.Keep
	attending sync.Map // ids of processes
}

var _ board.Store = (*Memory)(nil)

// state holds all lists and chats at one time. It never changes: each update makes a new state, so the cost of an
// update grows with the number of lists.
type state struct {
	seq        int64 // of the last save
	lists      map[string]kept
	seen       map[board.Key][]board.Seen // the list that became current last is the first
	chats      map[string]todo.Chat
	names      map[nameKey]string // the ids of lists
	keys       map[board.ChatKey]keyed
	operations []indexed // changes of Memory.operations by the update that made this state
}

// kept is a list with the revisions that are kept, ascending, and the time at which it
// began by the store's clock.
type kept struct {
	revisions []todo.Snapshot
	begun     time.Time
}

// newest returns the last revision; the zero snapshot if there is none.
func (l kept) newest() (last todo.Snapshot) {
	if n := len(l.revisions); n > 0 {
		last = l.revisions[n-1]
	}
	return last
}

// nameKey is a name that a principal gave to a list.
type nameKey struct{ principal, name string }

// indexed says which list has the revision that an operation saved; list is empty if that revision was removed.
type indexed struct{ operation, list string }

// NewMemory returns an empty store that keeps everything.
func NewMemory() *Memory { return NewMemoryKeeping(board.Keep{}) }

// NewMemoryKeeping returns an empty store with the limits in keep.
func NewMemoryKeeping(keep board.Keep) *Memory {
	s := &Memory{keep: keep, life: tables.NewLife(nil), turn: make(chan struct{}, 1)}
	s.now.Store(&state{lists: map[string]kept{}, seen: map[board.Key][]board.Seen{}, chats: map[string]todo.Chat{}, names: map[nameKey]string{}, keys: map[board.ChatKey]keyed{}})
	s.operations.lists = map[string]string{}
	s.reader = reader{s, func(ctx context.Context) *state { s.before(ctx); return s.now.Load() }}
	return s
}

// before calls Keep.Before, if it is set, when a call begins.
func (s *Memory) before(ctx context.Context) {
	if s.keep.Before != nil {
		s.keep.Before(ctx)
	}
}

// checkUsable returns the error of a call that must not start: [board.ErrClosed] after Close, otherwise ctx.Err().
func (s *Memory) checkUsable(ctx context.Context) error {
	if s.life.Open.Err() != nil {
		return board.ErrClosed
	}
	return ctx.Err()
}

// Update implements board.Store.
func (s *Memory) Update(ctx context.Context, _ board.Key, change func(board.Tx) error) error {
	s.before(ctx)
	var err error
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		err = s.checkUsable(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		t := newTx(s)
		if err := change(t); err != nil {
			return err
		}
		if err = ctx.Err(); err == nil && t.changed {
			s.index(t.state.operations)
			s.now.Store(&t.state)
			s.life.Hint()
		}
	}
	if err != nil {
		err = fmt.Errorf("update lists: %w", err)
	}
	return err
}

// index stores the changes of operations in Memory.operations.
func (s *Memory) index(operations []indexed) {
	s.operations.Lock()
	defer s.operations.Unlock()
	for _, o := range operations {
		if o.list == "" {
			delete(s.operations.lists, o.operation)
		} else {
			s.operations.lists[o.operation] = o.list
		}
	}
}

// Position implements board.Store.
func (s *Memory) Position(ctx context.Context) (int64, error) {
	return look(ctx, s.reader, "read position", func(now *state) (int64, error) { return now.seq, nil })
}

// Attend implements board.Store.
func (s *Memory) Attend(process string) (leave func()) {
	s.attending.Store(process, true)
	return func() { s.attending.Delete(process) }
}

// Alive implements board.Store. Only one process can use this memory, so a process that attends is alive until it
// leaves.
func (s *Memory) Alive(process string) bool {
	_, attends := s.attending.Load(process)
	return attends
}

// Watch implements board.Store.
func (s *Memory) Watch(ctx context.Context, hint func()) error {
	return s.life.Watch(ctx, hint, nil, func(bool) <-chan time.Time { return nil })
}

// Close implements board.Store.
func (s *Memory) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.life.End()
	return nil
}
