package todo

import (
	"context"
	"time"
)

// Store keeps snapshots and their history. All methods are safe for concurrent
// use, accept a context and return soon after it ends. Promises, held by the
// storetest suite on every backend:
//
//   - When Save returns nil the snapshot is durable: a later read, also after a
//     kill of the process or power loss, gives that revision or a later one.
//   - Saves are linearizable per list, and revisions are dense.
//   - Snapshots handed out belong to the caller's reading; nobody changes them.
type Store interface {
	// Save stores next as the revision after next.Revision-1, with the history
	// row, both or neither, and returns it with Seq set. A list begins with
	// revision 1; next.List is taken from that first save.
	//
	// It returns a [*ConflictError] when the list is at another revision, or
	// when a list begins in an exclusive scope that has one already (Current is
	// then that list's). A repeated operation gives the snapshot stored then,
	// or [ErrOperationReused]. An error that wraps [ErrUnknownOutcome] may have
	// been applied; any other error was not.
	Save(ctx context.Context, next Snapshot) (Snapshot, error)

	// Load reads one revision of a list; revision 0 means the newest.
	// [ErrNotFound] when there is none.
	Load(ctx context.Context, list string, revision int64) (Snapshot, error)

	// Find reads the newest snapshot of each list that matches.
	Find(ctx context.Context, q Query) ([]Snapshot, error)

	// History reads revisions of a list in ascending order, beginning after
	// revision after, at most limit (0: all). Unknown lists give none.
	History(ctx context.Context, list string, after int64, limit int) ([]Snapshot, error)

	// Watch calls hint, from one goroutine, soon after any snapshot was saved
	// by anyone, this process included, and once when it has begun to watch, until
	// ctx ends; then it returns nil.
	// Hints are coalesced and never come before the snapshot is readable. An
	// error means that watching is not possible now; the caller may try again,
	// unless it is [ErrClosed], which every method gives after Close.
	Watch(ctx context.Context, hint func()) error

	// Close releases the store after saves in hand are finished.
	Close() error

	Announcements
}

// Announcements are a store's notice board for calls that made no revision, so
// that other processes on the store can show them. They are hints: a store keeps
// the last few hundred, and power loss may take some.
type Announcements interface {
	// Announce puts up a notice; Seq is set by the store. Watchers are hinted.
	Announce(ctx context.Context, a Announcement) error

	// Announced reads the notices after a place, oldest first.
	Announced(ctx context.Context, after int64) ([]Announcement, error)
}

// Announcement says that a call on a list left it at a revision it already had.
type Announcement struct {
	// Seq orders the announcements of one store, from 1; not dense.
	Seq      int64
	List     string // id
	Revision int64
	// Call is the call's own id, see [Call].
	Call string
	// Process is the one that answered the call, see [Board.Process].
	Process string
}

// KeepAnnouncements is how many announcements a store keeps.
const KeepAnnouncements = 256

// Query chooses lists for [Store.Find]. Fields left zero do not restrict.
type Query struct {
	// Principal restricts to lists of one principal; nil is any.
	Principal *string
	// Scope restricts to one scope by its key.
	Scope string
	// Parent restricts to the sub-lists of one list.
	Parent string
	// Operation restricts to the one snapshot, of any revision, that an
	// operation id made; other conditions apply to that snapshot.
	Operation string
	// UpdatedSince restricts to lists whose newest revision is not older.
	UpdatedSince time.Time
	// AfterSeq restricts to lists whose newest snapshot has a larger Seq.
	AfterSeq int64
	// OldestFirst orders by Seq ascending; otherwise the last saved comes
	// first. Neither depends on clocks.
	OldestFirst bool
	// Limit is the most lists to return; 0 is no limit.
	Limit int
}
