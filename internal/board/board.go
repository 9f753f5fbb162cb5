// Package board reads and writes lists: it finds the list that a call means and the revision that the agent was
// last shown, merges the agent's change ([todo.Change]) with later changes by others, and notifies watchers.
//
// It promises two things. No reader ever sees half of a write. A write that was
// acknowledged is in the [Store], and revisions of a list are dense (1, 2, 3 …).
//
// A slow reader may miss snapshots: a [Follower] of revisions receives the newest snapshot of a list but not each
// earlier one, and a Follower of calls loses the oldest calls.
package board

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// Board applies changes to lists and notifies watchers. It keeps no list in memory: the
// store is the source of truth, and other processes may write to it.
//
// Lists are read and written as a principal: see [Board.For].
type Board struct {
	store        Store
	now          func() time.Time
	process      string
	feed         *feed
	archiveAfter time.Duration // see [WithArchiveAfter]

	attending sync.Once
	leave     func() // the result of Store.Attend; set by Lists.here
}

// Option configures a [Board].
type Option func(*Board)

// WithClock makes the board read the time from now instead of [time.Now].
func WithClock(now func() time.Time) Option { return func(b *Board) { b.now = now } }

// WithArchiveAfter makes lists count as archived after a time without changes: settled lists after the given age, open
// ones after [todo.LapseAfter]. An age of 0, the default, archives none. This is decided when a list is read, and not
// stored (see [todo.Snapshot.Archived]), so a new setting takes effect at once.
func WithArchiveAfter(age time.Duration) Option { return func(b *Board) { b.archiveAfter = age } }

// NewBoard returns a board on a store. The caller closes the board and, after it, the store.
func NewBoard(store Store, opts ...Option) *Board {
	b := &Board{store: store, now: time.Now, process: NewID()[:processIDLength]}
	for _, opt := range opts {
		opt(b)
	}
	b.feed = &feed{store: store, process: b.process, followers: make(map[*Follower]struct{})}
	b.feed.open, b.feed.close = context.WithCancel(context.Background())
	return b
}

// processIDLength is short, since every revision stores an id; 50 random bits distinguish the processes of a store.
const processIDLength = 10

// NewID returns 130 random bits as 26 lower-case letters and digits.
func NewID() string { return strings.ToLower(rand.Text()) }

// Process returns this board's own id, which it writes into each revision that it makes ([todo.Writer.Process]).
func (b *Board) Process() string { return b.process }

// Watching returns how many followers there are.
func (b *Board) Watching() int {
	b.feed.mu.RLock()
	defer b.feed.mu.RUnlock()
	return len(b.feed.followers)
}

// As returns the lists of one principal, without access to other lists; the empty principal is the server itself.
func (b *Board) As(principal string) Lists { return b.For(Identity{Principal: principal}) }

// Everyone returns the lists of all principals, for commands on the machine, never for serving a request.
func (b *Board) Everyone() Lists { return Lists{board: b, all: true} }

// Close closes all followers, and waits until the board's goroutines end. Writes still work afterwards.
func (b *Board) Close() {
	b.feed.end()
	b.attending.Do(func() {}) // waits for a call of Attend that is under way
	if b.leave != nil {
		b.leave()
	}
}

// Identity is the caller that reads and writes lists, as sign-in found it; the zero Identity is the server itself.
type Identity struct {
	Principal string // who owns the lists: a person, a program or a team; empty is the server itself
	// Subject identifies the user who signed in, among one principal's users. It never changes; empty without sign-in.
	Subject  string
	User     string // the user's name, for people and logs; it may change, and two users may have the same
	ReadOnly bool   // may see the lists and change nothing
}

// For returns the lists of an identity's principal. Writes are in the name of its User, or refused if it is ReadOnly.
func (b *Board) For(id Identity) Lists { return Lists{board: b, id: id} }
