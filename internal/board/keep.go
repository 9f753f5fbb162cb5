package board

import (
	"context"
	"fmt"
	"time"
)

// TrashAge is how long after a person deleted a list it can be brought back. Then the store removes it.
const TrashAge = 24 * time.Hour

// Keep is how much a store keeps. The zero value keeps everything. A list's newest revision is always kept.
type Keep struct {
	Revisions int // how many of a list's newest revisions are kept; 0 is all
	// Lists is how many lists a principal may have, and Begun how many one conversation may begin in a day; 0 is
	// any number. A save that would begin one more fails with [ErrTooManyLists].
	Lists, Begun int
	// Bytes is the size that the store may grow to; 0 is any. A principal who signed in may use a quarter of
	// it. When [Full] of the store or the quarter is in use, no list begins any more; when all of it is, no list
	// changes. These saves fail with [ErrStoreFull].
	Bytes     int64
	Abandoned time.Duration // how old the last change is of lists that are removed to make room; 0 removes none
	// Finished is the age at which a finished list is removed although there is room, counted from its last change and
	// from when it came to the store, whichever is later; 0 is never. Lists stay that a person looked at, or that a
	// chat which is here holds.
	Finished time.Duration
	// Moving is called with a sentence about each step that migrates an older store. If nil, older stores are refused.
	Moving func(text string)
	Before func(context.Context) // called as each read and each change of the store begins; nil for nothing
}

const (
	// Full is the part of [Keep.Bytes], or of a principal's quarter, in percent, beyond which no list begins.
	Full = 90
	// MaxAbandoned is the most lists of one [todo.Spare] that are removed at once.
	MaxAbandoned = 16
	// MaxHolders is how many conversations and names a store remembers for a list. One more replaces the
	// conversation that used the list least recently, give or take five minutes.
	MaxHolders = 1000
)

// CheckLists returns [ErrTooManyLists] when a principal with n lists may not have another one.
func (k Keep) CheckLists(n int) error {
	if k.Lists > 0 && n >= k.Lists {
		return &FullError{Err: ErrTooManyLists, Detail: fmt.Sprintf("this store keeps %d (--max-lists); `todo-mcp prune` removes old ones", k.Lists)}
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
