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
	watchers   map[*watcher]struct{}
	quit       chan struct{} // closed by Close
	closed     bool
	keep       todo.Keep
	begun      map[string]time.Time // list id → when it began, by the store's clock
	size       int64                // of all revisions, in bytes, about
}

type watcher struct{ hint chan struct{} }

var _ todo.Store = (*Store)(nil)

// New returns an empty store that keeps every revision of any number of lists.
func New() *Store { return NewKeeping(todo.Keep{}) }

// NewKeeping returns an empty store with the limits in keep.
func NewKeeping(keep todo.Keep) *Store {
	return &Store{keep: keep, lists: map[string][]todo.Snapshot{}, cursors: map[todo.Key][]todo.Cursor{}, turn: make(chan struct{}, 1), hostCalls: map[string]notedCall{}, attending: map[string]bool{}, begun: map[string]time.Time{}, operations: map[string]todo.Snapshot{},
		watchers: map[*watcher]struct{}{}, quit: make(chan struct{})}
}

// checkUsable returns the error with which a call must end before it starts:
// [todo.ErrClosed] after Close, otherwise ctx.Err(). The caller must hold s.mu.
func (s *Store) checkUsable(ctx context.Context) error {
	if s.closed {
		return todo.ErrClosed
	}
	return ctx.Err()
}

// Update implements todo.Store. Whoever waits gets its turn in the order of arrival.
func (s *Store) Update(ctx context.Context, _ todo.Key, change func(todo.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("update lists: %w", ctx.Err())
	}
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("update lists: %w", err)
	}
	t := &tx{Store: s}
	if err := change(t); err != nil {
		return err
	}
	if err := s.commit(ctx, t); err != nil {
		return fmt.Errorf("update lists: %w", err)
	}
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.checkUsable(ctx)
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
		s.hintAll()
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
		l.Parent = current(all)
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
		if t.cursors == nil {
			t.cursors = make(map[todo.Key][]todo.Cursor, 1)
		}
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
	if t.lists == nil {
		t.lists = make(map[string][]todo.Snapshot, 1)
	}
	t.lists[next.List.ID] = append(t.lists[next.List.ID], next)
	return t.withParent(next), nil
}

// checkRoom returns an error when there is no room for a revision.
func (t *tx) checkRoom(next todo.Snapshot, begins bool) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	switch {
	case begins:
		return t.makeRoom(next.List)
	case next.Deleted:
		return nil
	}
	return t.keep.CheckBytes(t.sized(), false)
}

// hintAll hints every watcher that has no hint waiting already. The caller must
// hold s.mu.
func (s *Store) hintAll() {
	for w := range s.watchers {
		select {
		case w.hint <- struct{}{}:
		default:
		}
	}
}

// trim deletes the revisions that s.keep does not keep, and their operations,
// and returns the rest. The newest revision always stays.
func (s *Store) trim(revisions []todo.Snapshot) []todo.Snapshot {
	newest := revisions[len(revisions)-1]
	removed := 0
	remove := func() {
		s.forgetRevision(revisions[removed])
		removed++
	}
	for revisions[removed].Revision < s.keep.First(newest.Revision) {
		remove()
	}
	witness := int(s.keep.Witness(newest.Revision) - revisions[0].Revision) // revisions are dense
	for range todo.MaxExpired {
		if removed > witness || !s.keep.Expired(revisions[removed], revisions[witness], newest) {
			break
		}
		remove()
	}
	clear(revisions[:removed])
	return revisions[removed:] // append makes room again, once for many saves
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return todo.Snapshot{}, fmt.Errorf("read snapshots: %w", err)
	}
	found, err := s.load(list, revision)
	return s.read(found), err
}

// load returns a revision as it is stored. The caller must hold s.mu.
func (s *Store) load(list string, revision int64) (todo.Snapshot, error) {
	stored := s.lists[list]
	i := len(stored) - 1
	if revision != 0 {
		i = slices.IndexFunc(stored, func(r todo.Snapshot) bool { return r.Revision == revision })
	}
	if i < 0 {
		return todo.Snapshot{}, fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
	}
	return stored[i], nil
}

// LastBy implements todo.Store.
func (s *Store) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return todo.Snapshot{}, fmt.Errorf("read snapshots: %w", err)
	}
	for _, r := range slices.Backward(s.lists[list]) {
		if r.Writer.Person == person && r.Revision <= upTo {
			return s.read(r), nil
		}
	}
	return todo.Snapshot{}, fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
}

// Position implements todo.Store.
func (s *Store) Position(ctx context.Context) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return 0, fmt.Errorf("read position: %w", err)
	}
	return s.seq, nil
}

// Find implements todo.Store.
func (s *Store) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	if q.Operation != "" {
		if done := s.read(s.operations[q.Operation]); done.Revision > 0 && matches(q, done) {
			return []todo.Snapshot{done}, nil
		}
		return nil, nil
	}
	var found []todo.Snapshot
	for _, revisions := range s.lists {
		if newest := s.read(revisions[len(revisions)-1]); matches(q, newest) {
			found = append(found, newest)
		}
	}
	slices.SortFunc(found, func(a, b todo.Snapshot) int {
		if q.OldestFirst {
			return cmp.Compare(a.Seq, b.Seq)
		}
		return cmp.Compare(b.Seq, a.Seq)
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, nil
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
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read snapshots: %w", err)
	}
	stored := s.lists[list]
	from, _ := slices.BinarySearchFunc(stored, after+1, func(r todo.Snapshot, n int64) int { return cmp.Compare(r.Revision, n) })
	stored = stored[from:]
	if limit > 0 && len(stored) > limit {
		stored = stored[:limit]
	}
	out := make([]todo.Snapshot, len(stored))
	for i, snapshot := range stored {
		out[i] = s.read(snapshot)
	}
	return out, nil
}

// Watch implements todo.Store.
func (s *Store) Watch(ctx context.Context, hint func()) error {
	w := &watcher{hint: make(chan struct{}, 1)}
	w.hint <- struct{}{} // todo.Store promises a first hint when the watch has begun
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("watch store: %w", todo.ErrClosed)
	}
	s.watchers[w] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		s.mu.Unlock()
	}()
	for {
		select {
		case <-w.hint:
			hint()
		case <-ctx.Done():
			return nil
		case <-s.quit:
			return fmt.Errorf("watch store: %w", todo.ErrClosed)
		}
	}
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
		l.Parent = s.held(l.Principal, l.ParentConversation)
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
