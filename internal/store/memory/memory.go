// Package memory implements todo.Store in memory, for throw-away lists and
// tests. It keeps every promise of todo.Store except durability: the lists are
// lost when the process ends.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Store is a todo.Store in memory.
type Store struct {
	mu         sync.RWMutex
	lists      map[string][]todo.Snapshot // list id → kept revisions, ascending
	bindings   map[string][]todo.Binding  // principal and conversation → the one that moved last is the last
	hostCalls  map[string]notedCall       // by principal and id
	attending  map[string]bool            // ids of processes
	operations map[string]todo.Snapshot   // operation id → the snapshot it stored
	announced  []todo.Announcement
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
	return &Store{keep: keep, lists: map[string][]todo.Snapshot{}, bindings: map[string][]todo.Binding{}, hostCalls: map[string]notedCall{}, attending: map[string]bool{}, begun: map[string]time.Time{}, operations: map[string]todo.Snapshot{},
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

// Save implements todo.Store.
func (s *Store) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved, err := s.save(ctx, next, bindings)
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("save snapshot: %w", err)
	}
	return saved, nil
}

func (s *Store) save(ctx context.Context, next todo.Snapshot, bindings []todo.Binding) (todo.Snapshot, error) {
	if err := s.checkUsable(ctx); err != nil {
		return todo.Snapshot{}, err
	}
	if done, ok := s.operations[next.Operation.ID]; ok && next.Operation.ID != "" {
		if done.Operation != next.Operation {
			return todo.Snapshot{}, todo.ErrOperationReused
		}
		return s.read(done), nil
	}
	stored := s.lists[next.List.ID]
	if err := s.checkSave(next, stored, bindings); err != nil {
		return todo.Snapshot{}, err
	}
	s.seq++
	next = next.Clone()
	next.Seq = s.seq
	if len(stored) > 0 {
		next.List = stored[0].List
	}
	next.List.Parent = fixedParent(next.List)
	for _, b := range bindings {
		b.List = cmp.Or(b.List, next.List.ID)
		s.bind(b)
	}
	if len(stored) == 0 {
		s.begun[next.List.ID] = time.Now()
		s.forgetTrash()
	}
	s.size += int64(record.Footprint(next))
	s.lists[next.List.ID] = s.trim(append(stored, next))
	if next.Operation.ID != "" {
		s.operations[next.Operation.ID] = next
	}
	s.hintAll()
	return s.read(next), nil
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

// Announce implements todo.Store.
func (s *Store) Announce(ctx context.Context, a todo.Announcement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkUsable(ctx); err != nil {
		return fmt.Errorf("announce call: %w", err)
	}
	s.seq++
	a.Seq = s.seq
	s.announced = append(s.announced, a)
	s.announced = s.announced[max(0, len(s.announced)-todo.KeepAnnouncements):]
	s.hintAll()
	return nil
}

// Announced implements todo.Store.
func (s *Store) Announced(ctx context.Context, after int64) ([]todo.Announcement, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return nil, fmt.Errorf("read announcements: %w", err)
	}
	from := slices.IndexFunc(s.announced, func(a todo.Announcement) bool { return a.Seq > after })
	if from < 0 {
		return nil, nil
	}
	return slices.Clone(s.announced[from:]), nil
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

func (s *Store) checkSave(next todo.Snapshot, stored []todo.Snapshot, bindings []todo.Binding) error {
	n := len(stored)
	switch {
	case n == 0 && next.Revision != 1:
		return fmt.Errorf("revision %d: %w", next.Revision, todo.ErrNotFound)
	case n > 0 && stored[n-1].Revision != next.Revision-1:
		return &todo.ConflictError{Current: s.read(stored[n-1])}
	case n > 0 && next.Deleted:
		return nil
	case n > 0:
		return s.keep.CheckBytes(s.size, false)
	}
	if len(bindings) > 0 {
		if held := s.held(bindings[0].Principal, bindings[0].Conversation); held != bindings[0].Over {
			return &todo.ConflictError{Current: s.newest(held)}
		}
	}
	return s.makeRoom(next.List)
}

// Load implements todo.Store.
func (s *Store) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkUsable(ctx); err != nil {
		return todo.Snapshot{}, fmt.Errorf("read snapshots: %w", err)
	}
	stored := s.lists[list]
	i := len(stored) - 1
	if revision != 0 {
		i = slices.IndexFunc(stored, func(r todo.Snapshot) bool { return r.Revision == revision })
	}
	if i < 0 {
		return todo.Snapshot{}, fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
	}
	return s.read(stored[i]), nil
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
