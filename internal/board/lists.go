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
// Methods that write return [ErrReadOnly] if the identity may only read.
type Lists struct {
	board *Board
	id    Identity
	all   bool // the lists of every principal
}

// update is the only way to change the store, and checks that the identity may write (BAD-INPUT 33).
func (l Lists) update(ctx context.Context, of Key, change func(Tx) error) error {
	if l.id.ReadOnly {
		return ErrReadOnly
	}
	of.Principal = l.id.Principal
	if l.all {
		of.Principal = AllPrincipals
	}
	return l.board.store.Update(ctx, of, change)
}

func (l Lists) owns(s todo.Snapshot) bool {
	return l.all || s.List.Principal == l.id.Principal && (!s.IsChat() || s.Writer.User == l.id.Subject)
}

// load reads one revision of a list of l, 0 for the newest, even if the list is deleted.
func (l Lists) load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := l.board.store.Load(ctx, list, revision)
	if err == nil && !l.owns(s) {
		return todo.Snapshot{}, errNoSnapshot
	}
	return s, err
}

// errNoSnapshot is the error that a store returns for a missing snapshot.
var errNoSnapshot = fmt.Errorf("read snapshot: %w", ErrNotFound)

// Load reads one revision of a list, 0 for the newest; [ErrNotFound] if there is none, or the list is deleted.
func (l Lists) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := l.load(ctx, list, revision)
	if err == nil && s.Deleted {
		return todo.Snapshot{}, errNoSnapshot
	}
	if err == nil && revision == 0 {
		return l.board.archived(s), nil
	}
	return s, err
}

// archived returns the newest snapshot of a list with Archived and Lapsed set by its age, see [WithArchiveAfter].
func (b *Board) archived(s todo.Snapshot) todo.Snapshot {
	age := b.now().Sub(s.Updated)
	s.Lapsed = b.archiveAfter > 0 && !s.Archived && s.Open() && age >= todo.LapseAfter
	s.Archived = s.Archived || s.Lapsed || b.archiveAfter > 0 && s.Settled() && age >= b.archiveAfter
	return s
}

// Find reads the newest snapshot of each list that matches. It sets q.Principal, except for
// [Board.Everyone], and normalises q.Workspace with [todo.Folder]. The most recently
// changed lists come first, unless the query pages by Seq or asks for OldestFirst.
func (l Lists) Find(ctx context.Context, q Query) ([]todo.Snapshot, error) {
	if !l.all {
		q.Principal = &l.id.Principal
	}
	if q.Workspace != nil {
		q.Workspace = new(todo.Folder(*q.Workspace))
	}
	found, err := l.board.store.Find(ctx, q)
	for i := range found {
		found[i] = l.board.archived(found[i])
	}
	if !q.OldestFirst && q.AfterSeq == 0 && q.BeforeSeq == 0 {
		slices.SortStableFunc(found, func(a, b todo.Snapshot) int { return b.Updated.Compare(a.Updated) })
	}
	return found, err
}

// Pages yields the lists that [Lists.Find] finds, each once, a page at a time, so that the caller need not hold all
// lists. The last saved lists come first; lists that are saved meanwhile, and were not yielded, come last. After
// an error it yields nothing more. It sets the query's Limit, AfterSeq and BeforeSeq.
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
			case q.BeforeSeq > 0: // a list saved meanwhile may have left a page before the page was read
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

// History reads the revisions of a list with numbers > after, in ascending order,
// at most limit (0: all). The result is empty for an unknown list.
func (l Lists) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	revisions, err := l.board.store.History(ctx, list, after, limit)
	if len(revisions) > 0 && !l.owns(revisions[0]) {
		return nil, err
	}
	return revisions, err
}

// Revisions yields the revisions of a list with numbers > after, in ascending order. It reads
// a few at a time, since a history may be larger than the memory (BAD-INPUT 60). After an error
// it yields nothing more, and for an unknown list nothing.
func (l Lists) Revisions(ctx context.Context, list string, after int64) iter.Seq2[todo.Snapshot, error] {
	return func(yield func(todo.Snapshot, error) bool) {
		for isLast := false; !isLast; {
			next, err := l.History(ctx, list, after, maxAhead)
			if err != nil {
				yield(todo.Snapshot{}, err)
				return
			}
			for _, s := range next {
				if !yield(s, nil) {
					return
				}
				after = s.Revision
			}
			isLast = len(next) < maxAhead
		}
	}
}

// maxAhead is how many revisions [Lists.Revisions] reads at a time. Each may have texts of [todo.MaxSize].
const maxAhead = 8

// Current reads the list that a target means. It returns [ErrNotFound] when there is none.
func (l Lists) Current(ctx context.Context, t Target) (todo.Snapshot, error) {
	a, err := l.choose(ctx, t)
	return a.list, err
}

// choose returns an attempt with the list that a target means. If there is no list, the error is [ErrNotFound].
func (l Lists) choose(ctx context.Context, t Target) (*attempt, error) {
	t.Conversation = l.Own(t.Conversation)
	a := &attempt{Lists: l, Write: Write{Target: t}, read: l.board.store}
	err := a.choose(ctx)
	if err == nil && a.list.Revision == 0 {
		err = ErrNotFound
	}
	if err != nil {
		a.list = todo.Snapshot{}
	}
	return a, err
}

// Show reads the list that a target means, to show it to the conversation's agent, and notes that the agent has seen
// the list. It ignores errors of that note. It returns [ErrNotFound] when there is no list.
func (l Lists) Show(ctx context.Context, t Target) (todo.Snapshot, error) {
	a, err := l.choose(ctx, t)
	if err == nil && !l.id.ReadOnly && a.Conversation.Key != "" && a.seen(a.list) < a.list.Revision {
		seen := Seen{Key: a.key, List: a.list.List.ID, Revision: a.list.Revision}
		_ = l.update(ctx, a.key, func(tx Tx) error { return l.see(ctx, tx, seen) })
	}
	return a.list, err
}

// Look notes within a second that a person looked at a list, so that it is not removed by age. It ignores errors.
func (l Lists) Look(ctx context.Context, s todo.Snapshot) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	key := Key{Principal: s.List.Principal, Chat: todo.PersonChat}
	on, err := l.board.store.SeenOn(ctx, key.Principal, s.List.ID)
	if err == nil && !slices.ContainsFunc(on, func(c Seen) bool { return c.Key == key }) {
		seen := Seen{Key: key, List: s.List.ID, Revision: s.Revision}
		_ = l.update(ctx, key, func(tx Tx) error { return l.see(ctx, tx, seen) })
	}
}

// SetCurrent makes a list the current one of a conversation, and notes that the agent was shown revision s.
func (l Lists) SetCurrent(ctx context.Context, c Conversation, s todo.Snapshot) error {
	here := l.here(c)
	_, err := l.Hear(ctx, c, func(c *todo.Chat, _ time.Time) { c.GoOn(); c.Serve(here) }, func(tx Tx, chat string) error {
		seen := Seen{Key: Key{l.id.Principal, chat, c.Mirrors}, List: s.List.ID, Revision: s.Revision, Process: here.Process, Current: true}
		if err := l.see(ctx, tx, seen); err != nil || c.Name == "" {
			return err
		}
		return tx.SetName(ctx, l.id.Principal, c.Name, s.List.ID)
	})
	return err
}

// Archive archives a list, see [todo.Snapshot.Archived].
func (l Lists) Archive(ctx context.Context, list string, w todo.Writer) (Outcome, error) {
	change := func(d *todo.Draft) error { d.Archive(true, ""); return nil }
	return l.Apply(ctx, Write{Target: Target{List: list, deleted: true}, Writer: w, Change: change})
}

// Purge removes lists with all revisions, and returns how many it removed, also on error. Watchers see them as deleted.
func (l Lists) Purge(ctx context.Context, by todo.Writer, lists ...string) (n int, err error) {
	for _, list := range lists {
		_, err := l.load(ctx, list, 0)
		if isUnread := l.all && errors.Is(err, ErrDamaged); err != nil && !isUnread {
			return 0, err
		}
	}
	by.User = l.id.User
	for batch := range slices.Chunk(lists, purgeBatch) {
		var gone int
		began := time.Now()
		err := l.update(ctx, Key{Chat: batch[0]}, func(tx Tx) error {
			gone = 0
			for _, list := range batch {
				switch err := tx.Purge(ctx, list, by, l.board.now()); {
				case err == nil:
					gone++
				case !errors.Is(err, ErrNotFound): // ErrNotFound: others purged it meanwhile
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
			Sleep(ctx, time.Since(began)) // lets others write
		}
	}
	return n, nil
}

// purgeBatch is how many lists one transaction purges, so that other writes do not wait long.
const purgeBatch = 50

// Watch returns a follower of the revisions of the lists for which want returns true (nil: every list). It receives the
// newest snapshot of each list that is saved from now on, and of each list whose agents begin to do something else, see
// [todo.Snapshot.Stood]. A caller that also needs earlier snapshots reads them after this call. want is called with
// each snapshot in the order of the store, and must not block. The follower must be closed.
func (l Lists) Watch(want func(todo.Snapshot) bool) *Follower {
	return l.board.feed.follow(false, func(s todo.Snapshot) bool { return l.owns(s) && (want == nil || want(s)) })
}

// Calls returns a follower of all calls on these lists from now on, also of those that change nothing
// (docs/spec/variants.md W2, V4). It receives the list as it stood after the call. A call in this process arrives
// before its caller has the answer. A call in another process arrives soon after, and only if it made a revision. If
// several such calls on one list come shortly after each other, it may receive only the last. A slow follower loses
// the oldest calls. It must be closed.
func (l Lists) Calls() *Follower { return l.board.feed.follow(true, l.owns) }

// During passes lists to a function, each once, the last saved first: all lists that were saved since the start of a
// period (from) and began before its end (to). So these include all lists that changed in the period. It holds one page
// of excerpts at a time. If the period includes now, the chats that work or wait without a list follow, as
// [todo.Chat.AsList]. During returns the first error of a read or of the function.
func (l Lists) During(ctx context.Context, from, to time.Time, with todo.ChangedList) error {
	for page, err := range l.Pages(ctx, Query{UpdatedSince: from, Excerpt: true}) {
		if err != nil {
			return err
		}
		states, err := l.States(ctx, page...)
		if err != nil {
			return err
		}
		for _, s := range page {
			if !s.List.Created.Before(to) {
				continue
			}
			if err := with(states[s.List.ID], l.Revisions(ctx, s.List.ID, 0)); err != nil {
				return err
			}
		}
	}
	if now := l.board.now(); now.Before(from) || !now.Before(to) {
		return nil
	}
	chats, states, err := l.WithChats(ctx, nil)
	for _, s := range chats {
		if st := states[s.List.ID]; err == nil && (st.State == todo.Working || st.State == todo.Waiting) {
			err = with(st, func(yield func(todo.Snapshot, error) bool) { yield(s, nil) })
		}
	}
	return err
}

// Said searches lists, which may be excerpts, for a text. It returns, by list id, the last revision with the text.
func (l Lists) Said(ctx context.Context, text string, lists ...todo.Snapshot) (map[string]todo.Said, error) {
	said, newest, seqs := make(map[string]todo.Said), make(map[string]int64, len(lists)), make([]int64, 0, len(lists))
	for _, s := range lists {
		newest[s.List.ID] = s.Revision
		seqs = append(seqs, s.Seq)
	}
	slices.Sort(seqs)
	for page := range slices.Chunk(seqs, saidPage) {
		found, err := l.Find(ctx, Query{Text: todo.Cut(text, todo.MaxTitle), AfterSeq: page[0] - 1, BeforeSeq: page[len(page)-1] + 1})
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if revision, wanted := newest[s.List.ID]; wanted {
				shown := todo.Cut(s.Saying(text), todo.MaxTitle)
				said[s.List.ID] = todo.Said{Revision: s.Revision, Updated: s.Updated, Text: shown, Left: s.Revision < revision}
			}
		}
	}
	return said, nil
}

// saidPage is how many lists [Lists.Said] searches at a time.
const saidPage = 50
