package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// TrashAge is how long after a person deleted a list it can be brought back. Then the store removes it.
const TrashAge = 24 * time.Hour

// Keep is how much a store keeps. The zero value keeps everything. A list's newest revision is always kept.
type Keep struct {
	Revisions int // how many of a list's newest revisions are kept; 0 is all
	// Lists is how many lists a principal may have, and Begun how many one conversation may begin in a day; 0 is
	// any number. A save that would begin one more fails with [ErrTooManyLists].
	Lists, Begun int
	// Bytes is the size that the store may grow to; 0 is any. A principal who signed in may use a [share] of
	// it. When [Full] of the store or the share is in use, no list begins any more; when all of it is, no list
	// changes. These saves fail with [ErrStoreFull].
	Bytes     int64
	Abandoned time.Duration // how old the last change is of lists that [Keep.MakeRoom] may remove; 0 removes none
	// Finished is the age at which a finished list is removed although there is room, counted from its last change and
	// from when it came to the store, whichever is later; 0 is never. See [Leaving] for what stays.
	Finished time.Duration
	// Moving is called with a sentence about each step that migrates an older store. If nil, older stores are refused.
	Moving func(text string)
	Before func(context.Context) // called as each read and each change of the store begins; nil for nothing
}

const (
	// Full is the part of [Keep.Bytes], or of a share, in percent, beyond which no list begins.
	Full = 90
	// share is the part of [Keep.Bytes], in percent, that the lists of one principal who signed in may take.
	share = 25
	// MaxAbandoned is the most lists of one [todo.Spare] that are removed at once.
	MaxAbandoned = 16
	// MaxHolders is how many conversations and names a store remembers for a list. One more replaces the
	// conversation that used the list least recently, give or take five minutes.
	MaxHolders = 1000
)

// Leaving returns the ids of those of some lists that may be removed to make room, at most
// [MaxAbandoned], in the order of [todo.Spare] and then of their last change, the oldest first. It
// leaves out open lists that others than the chat that began them have seen, and lists that a chat
// which is here holds. Unless room is short, it also leaves out lists that a person looked at.
// r reads which chats know the lists. server reports whether a process is alive, as [Store.Alive] does.
func Leaving(ctx context.Context, r Reader, some []todo.Snapshot, isShort bool, now time.Time, server func(process string) bool) (ids []string, err error) {
	some = slices.DeleteFunc(slices.Clone(some), func(s todo.Snapshot) bool { return s.Spare() < todo.SpareUnseen })
	slices.SortStableFunc(some, func(a, b todo.Snapshot) int {
		return cmp.Or(int(a.Spare()-b.Spare()), a.Updated.Compare(b.Updated))
	})
	isHere := func(c todo.Chat) bool { return c.IsHere(now, alive(server)) }
	for _, s := range some {
		if len(ids) == MaxAbandoned {
			break
		}
		on, err := r.SeenOn(ctx, s.List.Principal, s.List.ID)
		if err != nil {
			return nil, err
		}
		isLookedAt := func(k Seen) bool {
			return s.Open() && k.Chat != s.List.Conversation || !isShort && k.Chat == todo.PersonChat
		}
		if slices.ContainsFunc(on, isLookedAt) {
			continue
		}
		stays, err := anyChat(ctx, r, on, Seen.holds, isHere)
		if err != nil {
			return nil, err
		}
		if !stays {
			ids = append(ids, s.List.ID)
		}
	}
	return ids, nil
}

// CheckLists returns [ErrTooManyLists] when a principal with n lists may not have another one.
func (k Keep) CheckLists(n int) error {
	if k.Lists > 0 && n >= k.Lists {
		return &FullError{Err: ErrTooManyLists, Detail: fmt.Sprintf("this store keeps %d (--max-lists); `todo-mcp prune` removes old ones", k.Lists)}
	}
	return nil
}

// Usage is how much of a store is in use.
type Usage struct {
	// Begun counts the lists of one conversation that both came to the store and last changed after a given time; the
	// counting may stop at [Keep.Begun]. Lists counts the principal's lists that are not deleted.
	Begun, Lists int
	// Bytes is the size in use, Own the principal's part. Own is 0 for the server itself, or if not [Keep.IsTight].
	Bytes, Own int64
}

// CheckBytes returns [ErrStoreFull] when the usage u leaves no room for another revision or, if begins is true,
// for a list that begins. Callers skip it for a revision that deletes or archives its list, see [todo.Snapshot.Leaves].
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
	return cmp.Or(full(u.Own, k.Bytes/100*share, "the %d MB that one account may use, a quarter of --max-size,"),
		full(u.Bytes, k.Bytes, "%d MB (--max-size)"))
}

// IsTight reports whether usage needs to be checked: below half of a share nobody can be over a limit.
func (k Keep) IsTight(size int64) bool { return k.Bytes > 0 && size > k.Bytes/100*share/2 }

// MakeRoom returns an error when a list may not begin, or not change. If room is short it first has evict remove
// old lists of the principal, [MaxAbandoned] of a kind, kind after kind.
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
	// Even if the list only changes, room is made so that another list can begin afterwards.
	isShort := func() bool { return k.CheckBytes(u, true) != nil || begins && k.CheckLists(u.Lists) != nil }
	for kind := todo.SpareDeleted; kind <= todo.SpareFinished && k.Abandoned > 0 && isShort(); kind++ {
		before := now.Add(-k.Abandoned)
		if kind == todo.SpareDeleted {
			before = now.Add(1) // includes what was deleted now: some clocks tick 64 times a second
		}
		if err := evict(kind, before, true); err != nil {
			return err
		}
		if u, err = usage(day); err != nil {
			return err
		}
	}
	if begins {
		err = k.CheckLists(u.Lists)
	}
	return cmp.Or(err, k.CheckBytes(u, begins))
}

// Oldness returns the time at which the age of lists is measured when a list begins: now, or the time saved of the
// previous save if that is earlier. So a clock that is wrong for one save makes no list old.
func Oldness(now, saved time.Time) time.Time {
	if saved.Before(now) {
		return saved
	}
	return now
}

// Expire has evict remove up to [MaxAbandoned] lists of each finished kind, see [Keep.Finished].
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
