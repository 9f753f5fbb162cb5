package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// share is the part of [board.Keep.Bytes], in percent, that the lists of one principal who signed in may take.
const share = 25

// Used remembers how many bytes each principal uses. The empty principal stands for all principals together.
type Used struct {
	mu sync.Mutex
	of map[string]*used
}

type used struct {
	bytes   int64     // at the last count
	counted time.Time // the time of that count; zero for never
	added   int64     // upper bound of what this process added since that count
	expired time.Time // last removal by age, see mayExpire
}

// expireEvery is the least time between two removals by age for a principal. usedAge is how long a count stays valid.
const expireEvery, usedAge = 10 * time.Minute, 5 * time.Second

// principal returns the entry of a principal, and makes a missing one. The caller holds mu.
func (u *Used) principal(principal string) *used {
	k := u.of[principal]
	if k == nil {
		if u.of == nil || len(u.of) > 1000 {
			u.of = map[string]*used{"": cmp.Or(u.of[""], &used{})}
		}
		k = &used{}
		u.of[principal] = k
	}
	return k
}

// Bytes returns the size of the store in bytes when it was last counted; 0 before the first write, and for a store
// without a limit.
func (u *Used) Bytes() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.principal("").bytes
}

// mayExpire reports whether a principal's last removal by age was long enough ago. If so, it records a new removal.
func (u *Used) mayExpire(principal string, every time.Duration, now time.Time) (may bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.principal(principal)
	if may = now.Sub(k.expired) >= every; may {
		k.expired = now
	}
	return may
}

// read returns an upper bound of the bytes that a principal uses, as far as this process knows. It counts anew if the
// last count is older than usedAge, or so near to most, the principal's limit, that no list could begin.
func (u *Used) read(principal string, most int64, count func() (int64, error)) (bytes int64, err error) {
	u.mu.Lock()
	known := *u.principal(principal)
	u.mu.Unlock()
	if bytes = known.bytes + known.added; time.Since(known.counted) < usedAge && bytes < most/100*board.Full {
		return bytes, nil
	}
	if bytes, err = count(); err == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		k := u.principal(principal)
		k.bytes, k.counted, k.added = bytes, time.Now(), 0
	}
	return bytes, err
}

// add counts a row with the given bytes of texts. It adds an upper bound of the row's size with indexes and excerpt.
func (u *Used) add(principal string, texts int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	most := 4 * int64(rowSize+texts)
	u.principal("").added += most
	if principal != "" {
		u.principal(principal).added += most
	}
}

// rowSize is the number of bytes counted for each row of seen, names and keys. A chat counts as rowSize and its body.
const rowSize = 1000

// sizeOf returns SQL that selects the size in bytes of all rows that match a WHERE clause. The clause is inserted five
// times, once for each table.
func sizeOf(where string) string {
	return fmt.Sprintf(`SELECT CAST((SELECT coalesce(sum(bytes), 0) FROM main.lists%[1]s) + (SELECT coalesce(sum(%[2]d + octet_length(body)), 0) FROM main.chats%[1]s)
		+ %[2]d * ((SELECT count(*) FROM main.seen%[1]s) + (SELECT count(*) FROM main.names%[1]s) + (SELECT count(*) FROM main.keys%[1]s)) AS bigint)`, where, rowSize)
}

// usage is how much of a store is in use. The last three fields are 0 unless a list begins.
type usage struct {
	bytes, own int64 // used in all, and by the principal (0 for the empty principal, or if not isTight)
	isTight    bool  // somebody may be over a limit
	lists      int   // the principal's, apart from deleted ones
	begun      int   // how many of the conversation's lists came and last changed within a day, up to [board.Keep.Begun]
	saved      int64 // the Updated of the last save, Unix nanoseconds
}

// usage returns the usage before list l changes or, if begins is set, before it begins.
func (s *Saver) usage(ctx context.Context, l todo.List, begins bool, now time.Time) (u usage, err error) {
	p, ownMost := l.Principal, s.Keep.Bytes/100*share
	if s.Keep.Bytes > 0 {
		u.bytes, err = s.Used.read("", s.Keep.Bytes, func() (all int64, err error) {
			return all, s.DB.Scan(ctx, s.sql.size, nil, &all)
		})
		u.isTight = u.bytes > ownMost/2
	}
	if err == nil && u.isTight && p != "" {
		u.own, err = s.Used.read(p, ownMost, func() (own int64, err error) {
			return own, s.DB.Scan(ctx, s.sql.ownSize, []any{p, p, p, p, p}, &own)
		})
	}
	if err == nil && begins {
		day := record.UnixNano(now.Add(-24 * time.Hour))
		err = s.DB.Scan(ctx, `SELECT CAST((SELECT coalesce(sum(n), 0) FROM main.list_counts WHERE principal = ?) AS bigint),
			(SELECT count(*) FROM (SELECT 1 FROM main.lists WHERE principal = ? AND conversation = ? AND begun >= ? AND updated >= ?`+limited+`) AS lately),
			coalesce((SELECT updated FROM main.lists ORDER BY seq DESC LIMIT 1), 0)`, []any{p, p, l.Conversation, day, day, s.Keep.Begun}, &u.lists, &u.begun, &u.saved)
	}
	return u, err
}

// check returns [board.ErrStoreFull] when there is no room for another revision or, if begins is set, for a new list.
// Callers skip it for a revision that deletes or archives its list, see [todo.Snapshot.Leaves].
func (u usage) check(k board.Keep, begins bool) error {
	const mb = 1_000_000
	full := func(size, most int64, whose string) error {
		part := size * 100 / max(most, 1)
		if most <= 0 || part < board.Full || part < 100 && !begins {
			return nil
		}
		return &board.FullError{Err: board.ErrStoreFull, Detail: fmt.Sprintf("%d %% of %s are in use; delete lists, or `todo-mcp prune` removes old ones",
			part, fmt.Sprintf(whose, most/mb))}
	}
	return cmp.Or(full(u.own, k.Bytes/100*share, "the %d MB that one account may use, a quarter of --max-size,"),
		full(u.bytes, k.Bytes, "%d MB (--max-size)"))
}

// checkRoom returns [board.ErrStoreFull] if no list of a principal can be written. It removes no list to make room.
func (s *Saver) checkRoom(ctx context.Context, principal string) error {
	u, err := s.usage(ctx, todo.List{Principal: principal}, false, time.Time{})
	return cmp.Or(err, u.check(s.Keep, false))
}

// makeRoom returns an error if there is no room for list l to change or, if begins is set, to begin. If room is short,
// it first removes old lists of the principal, up to [board.MaxAbandoned] of each kind of [todo.Spare] in turn.
func (s *Saver) makeRoom(ctx context.Context, l todo.List, begins bool, now time.Time) (u usage, err error) {
	u, err = s.usage(ctx, l, begins, now)
	if err == nil && begins && s.Keep.Begun > 0 && l.Conversation != "" && u.begun >= s.Keep.Begun {
		err = &board.FullError{Err: board.ErrTooManyLists, Detail: fmt.Sprintf("this conversation began %d in a day", u.begun)}
	}
	// Even if the list only changes, room is made so that another list can begin afterwards.
	isShort := func() bool { return u.check(s.Keep, true) != nil || begins && s.Keep.CheckLists(u.lists) != nil }
	for kind := todo.SpareDeleted; err == nil && kind <= todo.SpareFinished && s.Keep.Abandoned > 0 && isShort(); kind++ {
		before := now.Add(-s.Keep.Abandoned)
		if kind == todo.SpareDeleted {
			before = now.Add(1) // includes lists deleted just now: some clocks tick 64 times a second
		}
		if err = s.evict(ctx, l, kind, before, true, now); err == nil {
			u, err = s.usage(ctx, l, begins, now)
		}
	}
	if err == nil && begins {
		err = s.Keep.CheckLists(u.lists)
	}
	return u, cmp.Or(err, u.check(s.Keep, begins))
}

// evict makes room for forList. It removes up to [board.MaxAbandoned] lists of the given kind and the same principal,
// the oldest first, if they last changed before a given time. Unless deleted, a list is kept if it is open and a chat
// other than its own has seen it, or if a present chat holds it (see [board.IsHeld]). If room is not short, a list is
// also kept if a person looked at it or if it came to the store after the given time (as by import). Finished lists are
// purged, so that watchers see that they are gone.
func (s *Saver) evict(ctx context.Context, forList todo.List, kind todo.Spare, before time.Time, isShort bool, now time.Time) error {
	begun, whose := now, ""
	if !isShort {
		begun, whose = before, todo.PersonChat
	}
	args := []any{forList.Principal, int(kind), record.UnixNano(before), record.UnixNano(begun), forList.ID, whose, board.MaxAbandoned}
	if kind == todo.SpareDeleted {
		return s.forget(spare, forList, args...)
	}
	some, _, err := good(ctx, s.Reader, "read excerpts", s.sql.spareLists, ScanSnapshot, args...)
	for _, l := range some {
		var on []board.Seen
		if err == nil {
			on, err = s.SeenOn(ctx, l.List.Principal, l.List.ID)
		}
		stays := slices.ContainsFunc(on, func(c board.Seen) bool { return l.Open() && c.Chat != l.List.Conversation })
		if err == nil && !stays {
			stays, err = board.IsHeld(ctx, s, on, now, s.Alive)
		}
		switch {
		case err != nil || stays || l.Spare() != kind: // no checksum covers the column spare, so it may be damaged
		case kind == todo.SpareUnseen:
			err = s.forget(oneList, forList, l.List.ID)
		default:
			err = s.purge(ctx, l.List.ID, forList, todo.Writer{}, now)
		}
	}
	return err
}
