package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// TrashAge is how long after a person deleted a list it can be brought back; then
// the store forgets it.
const TrashAge = 24 * time.Hour

// Keep is how much a store keeps. The zero value keeps everything. A list's
// newest revision is always kept.
type Keep struct {
	// Revisions is how many of a list's newest revisions are kept; 0 is all.
	Revisions int
	// Lists is how many lists a principal may have, and Begun how many one
	// conversation may begin in a day; 0 is any number. A save that would begin one
	// more fails with [ErrTooManyLists].
	Lists, Begun int
	// Bytes is the size that the store may grow to, and of it a [Share] for each
	// principal who signed in; 0 is any. When [Full] of either is in use no list begins
	// any more, and when all of it is, none changes: these saves fail with
	// [ErrStoreFull].
	Bytes int64
	// Abandoned is for how long nobody has changed a list that makes room when Lists or
	// Bytes leaves none; see [Keep.MakeRoom]. 0 is that none makes room.
	Abandoned time.Duration
	// Finished is for how long a finished list stays that nobody changed, and that has
	// been here for as long, without need of room. 0 is for good. See [Leaving] for what
	// stays.
	Finished time.Duration
	// Moving is told, in a sentence, of each step by which a store of an earlier version
	// becomes one of this as it is opened. Without it that is refused: who opens has no time.
	Moving func(text string)
	// Before is called as each read and each change of the store begins. nil is nothing.
	Before func(context.Context)
}

const (
	// Full is the part of [Keep.Bytes], or of a share, in percent, that is not left to
	// the lists there are.
	Full = 90
	// Share is the part of [Keep.Bytes], in percent, that the lists of one principal who
	// signed in may take.
	Share = 25
	// MaxAbandoned is the most lists of a kind that go at once.
	MaxAbandoned = 16
	// MaxHolders is how many conversations and names are known to know a list. One more
	// takes the place of the conversation that used the list least recently, give or take
	// five minutes.
	MaxHolders = 1000
)

// Leaving returns the ids of those of some lists that make room for one that begins, at
// most [MaxAbandoned], in the order in which they go: abandoned ones (open, of one
// revision, shown to nobody but who began them), archived ones that are finished, and
// others that are finished; of each the one first that nobody changed for the longest
// time. It leaves out what a person kept (by its name, or by a change after which it was
// not archived), what a conversation that is present holds, and unless room is short, what
// a person looked at. r reads who knows these lists, and server is as [Store.Alive].
func Leaving(ctx context.Context, r Reader, some []todo.Snapshot, isShort bool, now time.Time, server func(process string) bool) (ids []string, err error) {
	some = slices.DeleteFunc(slices.Clone(some), func(s todo.Snapshot) bool { return s.Spare() < todo.SpareUnseen })
	slices.SortStableFunc(some, func(a, b todo.Snapshot) int {
		return cmp.Or(int(a.Spare()-b.Spare()), a.Updated.Compare(b.Updated))
	})
	for _, s := range some {
		if len(ids) == MaxAbandoned {
			break
		}
		on, err := r.SeenOn(ctx, s.List.Principal, s.List.ID)
		if err != nil {
			return nil, fmt.Errorf("find who holds the list: %w", err)
		}
		isLookedAt := func(k Seen) bool {
			return s.Open() && k.Chat != s.List.Conversation || !isShort && k.Chat == todo.PersonChat
		}
		isHere := func(c todo.Chat) bool { return c.IsHere(now, alive(server)) }
		stays, err := slices.ContainsFunc(on, isLookedAt), error(nil)
		if !stays {
			if stays, err = anyHere(ctx, r, on, Seen.holds, isHere); err != nil {
				return nil, fmt.Errorf("find whether a chat that holds the list is there: %w", err)
			}
		}
		if !stays {
			ids = append(ids, s.List.ID)
		}
	}
	return ids, nil
}

// CheckLists returns [ErrTooManyLists] when a principal with n lists may not
// have another one.
func (k Keep) CheckLists(n int) error {
	if k.Lists > 0 && n >= k.Lists {
		return &FullError{Err: ErrTooManyLists, Detail: fmt.Sprintf("this store keeps %d (--max-lists); `todo-mcp prune` removes old ones", k.Lists)}
	}
	return nil
}

// Usage is how much of a store is in use.
type Usage struct {
	// Begun is how many lists a conversation began since a time, at least up to
	// [Keep.Begun]: the lists that came to the store since then and that somebody changed
	// since then, which an old list that was imported is not. Lists is how many its
	// principal has that are not deleted.
	Begun, Lists int
	// Bytes is the size of all lists. Own is the size of the principal's; 0 for the server
	// itself, which has no share, and where both are small.
	Bytes, Own int64
}

// CheckBytes returns [ErrStoreFull] when a store in use may not store another revision, or
// a list that begins. A revision that [todo.Snapshot.Leaves] can always be stored.
func (k Keep) CheckBytes(u Usage, begins bool) error {
	const mb = 1_000_000
	full := func(size, most int64, whose string) error {
		part := size * 100 / max(most, 1)
		if most <= 0 || part < Full || part < 100 && !begins {
			return nil
		}
		return &FullError{Err: ErrStoreFull, Detail: fmt.Sprintf("%d %% of %s are in use; delete lists, or `todo-mcp prune` removes old ones",
			part, fmt.Sprintf(whose, most/mb))}
	}
	if err := full(u.Own, k.Bytes/100*Share, "the %d MB that one account may use, a quarter of --max-size,"); err != nil {
		return err
	}
	return full(u.Bytes, k.Bytes, "%d MB (--max-size)")
}

// IsTight reports whether a store of a size has to look for room when a list changes:
// below half of a [Share] there is room for everybody.
func (k Keep) IsTight(size int64) bool { return k.Bytes > 0 && size > k.Bytes/100*Share/2 }

// MakeRoom returns an error when a list may not begin, or not change. Where room is short
// it first has evict remove up to [MaxAbandoned] lists of the same principal, the oldest
// of a kind that were written before a time, kind after kind.
func (k Keep) MakeRoom(l todo.List, begins bool, now time.Time, usage func(since time.Time) (Usage, error),
	evict func(kind todo.Spare, before time.Time, isShort bool) error) error {
	day := now.Add(-24 * time.Hour)
	u, err := usage(day)
	if err != nil {
		return err
	}
	if begins && k.Begun > 0 && l.Conversation != "" && u.Begun >= k.Begun {
		return &FullError{Err: ErrTooManyLists, Detail: fmt.Sprintf("this conversation began %d in a day", u.Begun)}
	}
	// Lists make room so early that another one can still begin afterwards.
	isShort := func() bool { return k.CheckBytes(u, true) != nil || begins && k.CheckLists(u.Lists) != nil }
	for kind := todo.SpareDeleted; kind <= todo.SpareFinished && k.Abandoned > 0 && isShort(); kind++ {
		before := now.Add(-k.Abandoned)
		if kind == todo.SpareDeleted {
			before = now.Add(1) // also what was deleted at this moment: some clocks tick 64 times a second
		}
		if err := evict(kind, before, true); err != nil {
			return err
		}
		if u, err = usage(day); err != nil {
			return err
		}
	}
	if begins {
		if err := k.CheckLists(u.Lists); err != nil {
			return err
		}
	}
	return k.CheckBytes(u, begins)
}

// Oldness returns the time by which it is told, when a list begins at now, what is so old
// that it goes: that of the save before. A clock that is wrong for one save makes nothing old.
func Oldness(now, saved time.Time) time.Time {
	if saved.Before(now) {
		return saved
	}
	return now
}

// Expire has evict remove up to [MaxAbandoned] lists of each kind that were finished long
// before a time, see [Keep.Finished].
func (k Keep) Expire(now time.Time, evict func(kind todo.Spare, before time.Time, isShort bool) error) error {
	for kind := todo.SpareArchived; kind <= todo.SpareFinished && k.Finished > 0; kind++ {
		if err := evict(kind, now.Add(-k.Finished), false); err != nil {
			return err
		}
	}
	return nil
}

// First returns the oldest revision to keep of a list at revision newest.
func (k Keep) First(newest int64) int64 {
	if k.Revisions <= 0 {
		return 1
	}
	return max(1, newest-int64(k.Revisions)+1)
}
