package board

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Lists are a board's lists as one principal sees them. No method finds a list
// of another principal, by id or otherwise (BAD-INPUT 34). The zero value is
// not usable; [Board.For], [Board.As] and [Board.Everyone] return usable ones.
//
// Methods that change a list return [ErrReadOnly] if the identity may only read;
// what they would have noted of a conversation is not noted.
type Lists struct {
	board     *Board
	principal string
	all       bool   // the lists of every principal; what is noted is the server's
	subject   string // see [Identity]
	user      string
	readOnly  bool
}

// update is the only way in which a method changes the store: none can go round that the
// identity may write (BAD-INPUT 33). of is what the update is serial for.
func (l Lists) update(ctx context.Context, of Key, change func(Tx) error) error {
	if l.readOnly {
		return ErrReadOnly
	}
	of.Principal = l.principal
	return l.board.store.Update(ctx, of, change)
}

func (l Lists) owns(s todo.Snapshot) bool {
	return l.all || s.List.Principal == l.principal && (!s.IsChat() || s.Writer.User == l.subject)
}

// load reads one revision of one of these lists, also of a deleted one.
func (l Lists) load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := l.board.store.Load(ctx, list, revision)
	if err == nil && !l.owns(s) {
		return todo.Snapshot{}, errNoSnapshot
	}
	return s, err
}

// checkOwns returns [ErrNotFound] unless a list is one of these.
func (l Lists) checkOwns(ctx context.Context, r Reader, list string) error {
	s, err := r.Load(ctx, list, 0)
	if err == nil && !l.owns(s) {
		return errNoSnapshot
	}
	return err
}

// errNoSnapshot is what a store returns when it has none.
var errNoSnapshot = fmt.Errorf("read snapshot: %w", ErrNotFound)

// Load reads one revision of a list; revision 0 means the newest. It returns
// [ErrNotFound] when there is none, or when it is one of a list as it was
// deleted.
func (l Lists) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := l.load(ctx, list, revision)
	if err == nil && s.Deleted {
		return todo.Snapshot{}, errNoSnapshot
	}
	if err == nil && revision == 0 {
		newest := []todo.Snapshot{s}
		err = l.archive(ctx, newest)
		s = newest[0]
	}
	return s, err
}

// archived returns a newest snapshot as [WithArchiveAfter] has it if no agent of it is here.
func (b *Board) archived(s todo.Snapshot) todo.Snapshot {
	age := b.now().Sub(s.Updated)
	s.Lapsed = b.archiveAfter > 0 && !s.Archived && s.Open() && age >= todo.LapseAfter
	s.Archived = s.Archived || s.Lapsed || b.archiveAfter > 0 && s.Settled() && age >= b.archiveAfter
	return s
}

// archive makes newest snapshots such as [WithArchiveAfter] has them.
func (l Lists) archive(ctx context.Context, lists []todo.Snapshot) error {
	var lapsed []*todo.Snapshot
	for i, s := range lists {
		if lists[i] = l.board.archived(s); lists[i].Lapsed {
			lapsed = append(lapsed, &lists[i])
		}
	}
	who := l.attendance(len(lapsed))
	for _, s := range lapsed {
		agent, err := who.attend(ctx, *s)
		if err != nil {
			return err
		}
		s.Lapsed, s.Archived = !agent.Here, !agent.Here
	}
	return nil
}

// Find reads the newest snapshot of each list that matches. It sets
// q.Principal, except for [Board.Everyone], and takes q.Workspace as [todo.Folder]. Where the query has no place to go on from,
// those that changed last come first, by their own times: of an imported list the time
// in its history counts.
func (l Lists) Find(ctx context.Context, q Query) ([]todo.Snapshot, error) {
	if !l.all {
		q.Principal = &l.principal
	}
	if q.Workspace != nil {
		q.Workspace = new(todo.Folder(*q.Workspace))
	}
	found, err := l.board.store.Find(ctx, q)
	if err == nil {
		err = l.archive(ctx, found)
	}
	if !q.OldestFirst && q.AfterSeq == 0 && q.BeforeSeq == 0 {
		slices.SortStableFunc(found, func(a, b todo.Snapshot) int { return b.Updated.Compare(a.Updated) })
	}
	return found, err
}

// Pages reads what [Lists.Find] finds, each list once, some at a time: whoever looks through
// all lists holds no more than what it keeps. The last saved come first, and at the end those
// that were saved meanwhile. It ends with an error that is yielded. Limit, and where the query
// goes on from, are its own.
func (l Lists) Pages(ctx context.Context, q Query) iter.Seq2[[]todo.Snapshot, error] {
	return func(yield func([]todo.Snapshot, error) bool) {
		q.AfterSeq, q.BeforeSeq, q.Limit = 0, math.MaxInt64, pageSize
		newest, seen := int64(0), make(map[string]bool)
		for isLast := false; !isLast; {
			page, err := l.Find(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			if newest == 0 && len(page) > 0 {
				newest = page[0].Seq
			}
			switch {
			case len(page) == pageSize:
				q.BeforeSeq = page[pageSize-1].Seq
			case q.BeforeSeq > 0: // what was saved since may have stood on a page that was not read yet
				q.AfterSeq, q.BeforeSeq, newest = newest, 0, 0
			default:
				isLast = true
			}
			page = slices.DeleteFunc(page, func(s todo.Snapshot) bool { return seen[s.List.ID] })
			for _, s := range page {
				seen[s.List.ID] = true
			}
			if len(page) > 0 && !yield(page, nil) {
				return
			}
		}
	}
}

// pageSize is how many lists [Lists.Pages] reads at a time.
const pageSize = 200

// History reads the revisions of a list above after in ascending order, at most
// limit (0: all). The result is empty for an unknown list.
func (l Lists) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	revisions, err := l.board.store.History(ctx, list, after, limit)
	if len(revisions) > 0 && !l.owns(revisions[0]) {
		return nil, err
	}
	return revisions, err
}

// Revisions reads the revisions of a list above after in ascending order, a few at a
// time: a history may be larger than the memory (BAD-INPUT 60). It ends with an error
// that is yielded. It yields nothing for an unknown list.
func (l Lists) Revisions(ctx context.Context, list string, after int64) iter.Seq2[todo.Snapshot, error] {
	return func(yield func(todo.Snapshot, error) bool) {
		for limit := 1; ; {
			next, err := l.History(ctx, list, after, limit)
			if err != nil {
				yield(todo.Snapshot{}, err)
				return
			}
			size := 0
			for _, s := range next {
				if !yield(s, nil) {
					return
				}
				after = s.Revision
				size += todo.Size(s.Items) + todo.Size(s.Report.Dropped)
			}
			switch {
			case len(next) < limit:
				return
			case limit < maxAhead && size < todo.MaxSize/2:
				limit *= 2
			case size > todo.MaxSize:
				limit = 1
			}
		}
	}
}

// maxAhead is how many revisions [Lists.Revisions] reads at a time, of small lists.
const maxAhead = 32

// Current reads the list that a target means. It returns [ErrNotFound] when
// there is none.
func (l Lists) Current(ctx context.Context, t Target) (todo.Snapshot, error) {
	a, err := l.choose(ctx, t)
	return a.list, err
}

func (l Lists) choose(ctx context.Context, t Target) (*attempt, error) {
	t.principal, t.subject, t.Conversation = l.principal, l.subject, l.Own(t.Conversation)
	a := &attempt{Board: l.board, Write: Write{Target: t}, read: l.board.store, all: l.all}
	err := a.choose(ctx)
	if err == nil && a.list.Revision == 0 {
		err = ErrNotFound
	}
	if err != nil {
		a.list = todo.Snapshot{}
	}
	return a, err
}

// Show reads the list that a target means, to show it to the conversation's
// agent: what others changed up to now is not reported to it again, unless that
// cannot be stored. It returns [ErrNotFound] when there is none.
func (l Lists) Show(ctx context.Context, t Target) (todo.Snapshot, error) {
	a, err := l.choose(ctx, t)
	if err == nil && !l.readOnly && a.Conversation.Key != "" && a.seen(a.list) < a.list.Revision {
		_ = l.setSeen(ctx, Seen{Key: Key{l.principal, a.Conversation.Key, a.Conversation.Mirrors}, List: a.list.List.ID, Revision: a.list.Revision})
	}
	return a.list, err
}

// setSeen stores what a chat has seen, in an update of its own, see [Lists.see].
func (l Lists) setSeen(ctx context.Context, s Seen) error {
	if err := l.update(ctx, s.Key, func(tx Tx) error { return l.see(ctx, tx, s) }); err != nil {
		return fmt.Errorf("save what the chat has seen: %w", err)
	}
	return nil
}

// Look notes that a person looked at a list, for [Leaving]. A failure is ignored, and so is a
// store that cannot be written within a second.
func (l Lists) Look(ctx context.Context, s todo.Snapshot) {
	if l.readOnly {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	key := Key{Principal: s.List.Principal, Chat: todo.PersonChat}
	on, err := l.board.store.SeenOn(ctx, key.Principal, s.List.ID)
	if err == nil && !slices.ContainsFunc(on, func(c Seen) bool { return c.Key == key }) {
		_ = l.setSeen(ctx, Seen{Key: key, List: s.List.ID, Revision: s.Revision})
	}
}

// SetCurrent makes a list the current one of a conversation, whose agent was shown this revision.
func (l Lists) SetCurrent(ctx context.Context, c Conversation, s todo.Snapshot) error {
	here := l.here(c)
	_, err := l.Hear(ctx, c, func(c *todo.Chat, _ time.Time) { c.GoOn(); c.Serve(here) }, func(tx Tx, chat string) error {
		seen := Seen{Key: Key{l.principal, chat, c.Mirrors}, List: s.List.ID, Revision: s.Revision, Process: here.Process, Current: true}
		if err := l.see(ctx, tx, seen); err != nil || c.Name == "" {
			return err
		}
		return tx.SetName(ctx, l.principal, c.Name, s.List.ID)
	})
	return err
}

// Archive puts a list away, or brings it back; see [todo.Snapshot.Archived].
func (l Lists) Archive(ctx context.Context, list string, away bool, w todo.Writer) (Outcome, error) {
	change := func(d *todo.Draft) error { d.Archive(away, ""); return nil }
	return l.Apply(ctx, Write{Target: Target{List: list, deleted: true}, Writer: w, Change: change})
}

// Purge forgets lists and all their revisions for good, and returns how many it
// forgot, also with an error. Watchers see them deleted.
func (l Lists) Purge(ctx context.Context, by todo.Writer, lists ...string) (n int, err error) {
	for _, list := range lists {
		_, err := l.load(ctx, list, 0)
		if isUnread := l.all && errors.Is(err, ErrDamaged); err != nil && !isUnread {
			return 0, err
		}
	}
	by.User = l.user
	for batch := range slices.Chunk(lists, purgeBatch) {
		var gone int
		began := time.Now()
		err := l.update(ctx, Key{Chat: batch[0]}, func(tx Tx) error {
			gone = 0
			for _, list := range batch {
				switch err := tx.Purge(ctx, list, by, l.board.now()); {
				case err == nil:
					gone++
				case !errors.Is(err, ErrNotFound): // others may have purged it meanwhile
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("purge lists: %w", err)
		}
		n += gone
		if n < len(lists) {
			Sleep(ctx, time.Since(began)) // who waits to write is next
		}
	}
	return n, nil
}

// purgeBatch is how many lists are purged in one transaction, so that writes need
// not wait long.
const purgeBatch = 50

// Watch returns a watcher of the lists for which want returns true (nil: every
// list). It receives the snapshots saved from now on, and those of lists whose agents do
// otherwise, see [todo.Snapshot.Stood]; a caller that also needs
// the earlier ones reads them after this call. want is called with each of them as it
// was read from the store, in their order, and must not block. The watcher must be
// closed.
func (l Lists) Watch(want func(todo.Snapshot) bool) *Watcher { return l.watch(want, false) }

// WatchRevisions is [Lists.Watch] for who need not know what agents do.
func (l Lists) WatchRevisions(want func(todo.Snapshot) bool) *Watcher { return l.watch(want, true) }

func (l Lists) watch(want func(todo.Snapshot) bool, revisions bool) *Watcher {
	w := &Watcher{revisions: revisions, pending: make(map[string]todo.Snapshot), ready: make(chan struct{}, 1)}
	w.all, w.want = l.board.feed.watchers, func(s todo.Snapshot) bool { return l.owns(s) && (want == nil || want(s)) }
	w.keep = w.keepNewest
	l.board.feed.follow(&w.follower)
	return w
}

// Calls returns a follower of the calls on these lists, in this process and in
// others that share the store, from now on. The follower must be closed.
func (l Lists) Calls() *Calls {
	c := &Calls{waiting: make(chan *Call, maxWaitingCalls)}
	c.all, c.want, c.keep = l.board.feed.callers, l.owns, c.keepLast
	l.board.feed.follow(&c.follower)
	return c
}
