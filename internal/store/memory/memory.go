// Package memory implements todo.Store in memory, for throw-away lists and
// tests. It keeps every promise of todo.Store except durability: the lists are
// lost when the process ends.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Store is a todo.Store in memory.
type Store struct {
	turn       chan struct{} // held by the running Update; first come, first served
	mu         sync.RWMutex
	lists      map[string][]todo.Snapshot // list id → kept revisions, ascending
	cursors    map[todo.Key][]todo.Cursor // the one that became current last is the first
	hostCalls  map[string]notedCall       // by principal and id
	attending  map[string]bool            // ids of processes
	operations map[string]todo.Snapshot   // operation id → the snapshot it stored
	seq        int64
	watchers   record.Hints
	quit       chan struct{} // closed by Close
	closed     bool
	keep       todo.Keep
	begun      map[string]time.Time // list id → when it began, by the store's clock
	size       int64                // of all revisions, in bytes, about
}

var _ todo.Store = (*Store)(nil)

// New returns an empty store that keeps every revision of any number of lists.
func New() *Store { return NewKeeping(todo.Keep{}) }

// NewKeeping returns an empty store with the limits in keep.
func NewKeeping(keep todo.Keep) *Store {
	return &Store{keep: keep, turn: make(chan struct{}, 1), quit: make(chan struct{}), lists: map[string][]todo.Snapshot{}, begun: map[string]time.Time{},
		cursors: map[todo.Key][]todo.Cursor{}, hostCalls: map[string]notedCall{}, attending: map[string]bool{}, operations: map[string]todo.Snapshot{}}
}

// checkUsable returns the error with which a call must end before it starts:
// [todo.ErrClosed] after Close, otherwise ctx.Err(). The caller must hold s.mu.
func (s *Store) checkUsable(ctx context.Context) error {
	if s.closed {
		return todo.ErrClosed
	}
	return ctx.Err()
}

// look runs a read of a store, and names it in its error.
func look[T any](ctx context.Context, s *Store, what string, read func() (T, error)) (found T, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err = s.checkUsable(ctx); err == nil {
		found, err = read()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return found, err
}

// take waits for the caller's turn to change the store, in the order of arrival.
func (s *Store) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	err := s.checkUsable(ctx)
	if err != nil {
		<-s.turn
	}
	return err
}

// Update implements todo.Store.
func (s *Store) Update(ctx context.Context, _ todo.Key, change func(todo.Tx) error) error {
	if err := s.take(ctx); err != nil {
		return fmt.Errorf("update lists: %w", err)
	}
	defer func() { <-s.turn }()
	t := &tx{Store: s, lists: map[string][]todo.Snapshot{}, cursors: map[todo.Key][]todo.Cursor{}, gone: map[string]bool{}}
	if err := change(t); err != nil {
		return err
	}
	if err := s.commit(ctx, t); err != nil {
		return fmt.Errorf("update lists: %w", err)
	}
	return nil
}

// commit stores what a transaction saved.
func (s *Store) commit(ctx context.Context, t *tx) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return err
	}
	for id := range t.gone {
		s.forget(id)
	}
	for key, all := range t.cursors {
		s.cursors[key] = all
	}
	for _, next := range t.saved {
		stored := s.lists[next.List.ID]
		if len(stored) == 0 {
			s.begun[next.List.ID] = time.Now()
			s.forgetTrash()
		}
		s.seq = next.Seq
		s.size += int64(record.Footprint(next))
		s.lists[next.List.ID] = s.trim(append(stored, next))
		if next.Operation.ID != "" {
			s.operations[next.Operation.ID] = next
		}
	}
	if len(t.saved)+len(t.cursors) > 0 {
		s.watchers.Send()
	}
	return nil
}

// tx is a transaction: the store, and over it what the transaction saved. Only one is
// open at a time, and nothing else but Purge changes the store meanwhile.
type tx struct {
	*Store
	saved   []todo.Snapshot
	lists   map[string][]todo.Snapshot // the same by list
	cursors map[todo.Key][]todo.Cursor // all of a conversation of which one was set
	gone    map[string]bool            // lists that make room for those that begin
}

// Load implements todo.Tx.
func (t *tx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	for _, s := range slices.Backward(t.lists[list]) {
		if revision == 0 || s.Revision == revision {
			return t.withParent(s), nil
		}
	}
	t.mu.RLock()
	s, err := t.load(list, revision)
	t.mu.RUnlock()
	return t.withParent(s), err
}

// withParent returns a snapshot with the parent by the cursors that the transaction has
// set.
func (t *tx) withParent(s todo.Snapshot) todo.Snapshot {
	if l := &s.List; l.ParentConversation != "" {
		of := todo.Key{Principal: l.Principal, Conversation: l.ParentConversation}
		all, ok := t.cursors[of]
		if !ok {
			t.mu.RLock()
			all = t.Store.cursors[of]
			t.mu.RUnlock()
		}
		l.Parent = todo.Current(all)
	}
	return s
}

// Cursors implements todo.Tx.
func (t *tx) Cursors(ctx context.Context, of todo.Key) ([]todo.Cursor, error) {
	if all, ok := t.cursors[of]; ok {
		return slices.Clone(all), nil
	}
	return t.Store.Cursors(ctx, of)
}

// SetCursor implements todo.Tx.
func (t *tx) SetCursor(ctx context.Context, c todo.Cursor) error {
	all, err := t.Cursors(ctx, c.Key)
	if err == nil {
		t.cursors[c.Key], _ = todo.SetCursor(all, c, time.Now())
	}
	return err
}

// Save implements todo.Tx.
func (t *tx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	before, err := t.Load(ctx, next.List.ID, 0)
	begins := errors.Is(err, todo.ErrNotFound)
	if err != nil && !begins {
		return todo.Snapshot{}, err
	}
	if next.Revision != before.Revision+1 {
		return todo.Snapshot{}, fmt.Errorf("save revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, todo.ErrNotFound)
	}
	if err := t.checkRoom(next, begins); err != nil {
		return todo.Snapshot{}, err
	}
	delete(t.gone, next.List.ID)
	next = next.Clone()
	next.Seq = t.seq + int64(len(t.saved)) + 1
	if !begins {
		next.List = before.List
	}
	next.List.Parent = fixedParent(next.List)
	t.saved = append(t.saved, next)
	t.lists[next.List.ID] = append(t.lists[next.List.ID], next)
	return t.withParent(next), nil
}

// checkRoom returns an error when there is no room for a revision.
func (t *tx) checkRoom(next todo.Snapshot, begins bool) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if begins {
		return t.keep.MakeRoom(next.List, time.Now(), t.room(next.List))
	}
	return t.keep.CheckNext(next, t.sized)
}

// trim deletes the revisions that s.keep does not keep, and their operations,
// and returns the rest. The newest revision always stays.
func (s *Store) trim(revisions []todo.Snapshot) []todo.Snapshot {
	newest := revisions[len(revisions)-1]
	removed := 0
	for revisions[removed].Revision < s.keep.First(newest.Revision) {
		s.forgetRevision(revisions[removed])
		removed++
	}
	clear(revisions[:removed])
	return revisions[removed:] // append makes room again, once for many saves
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	return look(ctx, s, "read snapshot", func() (todo.Snapshot, error) {
		found, err := s.load(list, revision)
		return s.read(found), err
	})
}

// load returns a revision as it is stored. The caller must hold s.mu.
func (s *Store) load(list string, revision int64) (todo.Snapshot, error) {
	stored := s.lists[list]
	i := len(stored) - 1
	if revision != 0 {
		i = slices.IndexFunc(stored, func(r todo.Snapshot) bool { return r.Revision == revision })
	}
	if i < 0 {
		return todo.Snapshot{}, todo.ErrNotFound
	}
	return stored[i], nil
}

// LastBy implements todo.Store.
func (s *Store) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	return look(ctx, s, "read snapshot", func() (todo.Snapshot, error) {
		for _, r := range slices.Backward(s.lists[list]) {
			if r.Writer.Person == person && r.Revision <= upTo {
				return s.read(r), nil
			}
		}
		return todo.Snapshot{}, todo.ErrNotFound
	})
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (int64, error) {
	return look(ctx, s, "read position", func() (int64, error) { return s.seq, nil })
}

// Find implements todo.Store.
func (s *Store) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	return look(ctx, s, "read snapshots", func() (found []todo.Snapshot, err error) {
		add := func(stored todo.Snapshot) {
			if newest := s.read(stored); newest.Revision > 0 && matches(q, newest) {
				found = append(found, newest)
			}
		}
		if q.Operation != "" {
			add(s.operations[q.Operation])
			return found, nil
		}
		for _, revisions := range s.lists {
			add(revisions[len(revisions)-1])
		}
		slices.SortFunc(found, func(a, b todo.Snapshot) int {
			if q.OldestFirst {
				return cmp.Compare(a.Seq, b.Seq)
			}
			return cmp.Compare(b.Seq, a.Seq)
		})
		return atMost(q.Limit, found), nil
	})
}

// atMost returns the first of some snapshots, or all where the limit is 0.
func atMost(limit int, all []todo.Snapshot) []todo.Snapshot {
	if limit > 0 && len(all) > limit {
		return all[:limit]
	}
	return all
}

func matches(q todo.Query, s todo.Snapshot) bool {
	return (q.Principal == nil || *q.Principal == s.List.Principal) &&
		(q.Client == "" || q.Client == s.List.Client) &&
		(q.Workspace == nil || *q.Workspace == s.List.Workspace) &&
		(q.Parent == "" || q.Parent == s.List.Parent) &&
		(q.Deleted || q.Operation != "" || !s.Deleted) &&
		!s.Updated.Before(q.UpdatedSince) && s.Seq > q.AfterSeq && (q.BeforeSeq == 0 || s.Seq < q.BeforeSeq)
}

// History implements todo.Store.
func (s *Store) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return look(ctx, s, "read snapshots", func() ([]todo.Snapshot, error) {
		stored := s.lists[list]
		from, _ := slices.BinarySearchFunc(stored, after+1, func(r todo.Snapshot, n int64) int { return cmp.Compare(r.Revision, n) })
		out := slices.Clone(atMost(limit, stored[from:]))
		for i := range out {
			out[i] = s.read(out[i])
		}
		return out, nil
	})
}

// Watch implements todo.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	hints, remove := s.watchers.Add()
	defer remove()
	select {
	case <-s.quit:
		return fmt.Errorf("watch store: %w", todo.ErrClosed)
	default:
		hint() // todo.Store promises a first one when the watch has begun
	}
	return record.Relay[bool](ctx, hints, nil, s.quit, hint)
}

// Close implements todo.Store.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	return nil
}

// read returns a copy of a stored snapshot as a caller reads it: with the parent
// that it has now. The caller must hold s.mu.
func (s *Store) read(stored todo.Snapshot) todo.Snapshot {
	out := stored.Clone()
	if l := &out.List; l.ParentConversation != "" {
		l.Parent = todo.Current(s.cursors[todo.Key{Principal: l.Principal, Conversation: l.ParentConversation}])
	}
	return out
}

// fixedParent returns the parent to store: none when it is looked up.
func fixedParent(l todo.List) string {
	if l.ParentConversation != "" {
		return ""
	}
	return l.Parent
}
