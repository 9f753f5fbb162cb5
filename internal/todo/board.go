package todo

import (
	"crypto/rand"
	"strings"
	"time"
)

// Board applies changes to lists, one at a time for each scope and in arrival
// order, and tells watchers. It holds no list in memory: the store is the
// truth, and other processes may write to it.
//
// Lists are read and written as a principal: see [Board.As].
type Board struct {
	store   Store
	now     func() time.Time
	newID   func() string
	process string
	turns   turns
	feed    *feed
}

// Option sets up a [Board].
type Option func(*Board)

// WithClock makes the board take the time from now instead of time.Now.
func WithClock(now func() time.Time) Option { return func(b *Board) { b.now = now } }

// WithIDs makes the board take ids of lists and operations from newID, which
// must not repeat itself, instead of [NewID].
func WithIDs(newID func() string) Option { return func(b *Board) { b.newID = newID } }

// NewBoard returns a board on a store, which stays the caller's to close, after
// the board.
func NewBoard(store Store, opts ...Option) *Board {
	b := &Board{store: store, now: time.Now, newID: NewID, process: NewID()[:processIDLength]}
	for _, opt := range opts {
		opt(b)
	}
	b.feed = newFeed(store, b.process)
	return b
}

// processIDLength is the length of a process id: 50 random bits are enough to
// tell the processes that share a store apart, and every revision carries one.
const processIDLength = 10

// NewID returns 130 random bits as 26 lower-case letters and digits.
func NewID() string { return strings.ToLower(rand.Text()) }

// Process is the id that this board puts on everything it writes
// ([Writer.Process]); no two boards have the same one.
func (b *Board) Process() string { return b.process }

// As returns the lists of one principal, the empty one being the server's own.
// Whatever is read or written through them stays inside that principal.
func (b *Board) As(principal string) Lists { return Lists{board: b, principal: &principal} }

// Everyone returns the lists of all principals, for the person whose store it
// is: commands on that machine, never a request.
func (b *Board) Everyone() Lists { return Lists{board: b} }

// Close ends all watchers and waits for the board's goroutines. Writes are not
// affected.
func (b *Board) Close() { b.feed.close() }
