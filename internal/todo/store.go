package todo

import (
	"context"
	"time"
)

// Store keeps snapshots and their history. All methods are safe for concurrent
// use; those with a context return soon after it ends. The storetest suite
// checks on every backend that:
//
//   - When Save returns nil the snapshot is durable: a later read, also after
//     the process was killed or power was lost, returns that revision or a
//     later one.
//   - Saves are linearizable per list, and revisions are dense.
//   - Neither the store nor the caller changes a snapshot that was returned.
type Store interface {
	// Save stores next as the revision after next.Revision-1 and adds it to the
	// history, atomically, and returns it with Seq set. A list begins with
	// revision 1; next.List is stored by that first save only.
	//
	// In the same transaction it stores the bindings. Of those that have no List,
	// it is the saved one's id.
	//
	// It returns a [*ConflictError] when the list is not at next.Revision-1, when a
	// list begins and the first binding's conversation does not hold Binding.Over
	// any more, or when the [Basis] of ctx may not be the newest any more. For a repeated operation it returns the snapshot
	// stored the first time, or [ErrOperationReused]. After an error that wraps
	// [ErrUnknownOutcome] the save may have been applied; after any other error
	// it was not.
	Save(ctx context.Context, next Snapshot, bindings ...Binding) (Snapshot, error)

	// Load reads one revision of a list; revision 0 means the newest. It
	// returns [ErrNotFound] when there is none.
	Load(ctx context.Context, list string, revision int64) (Snapshot, error)

	// Find reads the newest snapshot of each list that matches.
	Find(ctx context.Context, q Query) ([]Snapshot, error)

	// Position reads a Seq such that all saves with a smaller or equal one are
	// readable. Who reads with [Query.AfterSeq] and OldestFirst from there on, and
	// goes on from the last Seq each time, misses no save.
	Position(ctx context.Context) (int64, error)

	// History reads the revisions of a list above after in ascending order, at
	// most limit (0: all). The result is empty for an unknown list.
	History(ctx context.Context, list string, after int64, limit int) ([]Snapshot, error)

	// LastBy reads the newest revision of a list up to one that a person wrote, or
	// that none did; it reads that one alone. It returns [ErrNotFound] when none is
	// kept.
	LastBy(ctx context.Context, list string, person bool, upTo int64) (Snapshot, error)

	// Purge removes lists with all their revisions and bindings, those of unknown
	// ids aside, and returns the ids of those that it removed, with an error those
	// of before it failed; after one that wraps [ErrUnknownOutcome] others may be
	// removed, too. Of each a revision by that writer, which is Deleted and has no
	// text, stays for [TrashAge] so that watchers see it. Lists that have been
	// deleted for that long go, too, when lists begin.
	Purge(ctx context.Context, by Writer, now time.Time, lists ...string) (purged []string, err error)

	// Watch calls hint from one goroutine until ctx ends, and then returns nil:
	// once when watching has begun, and soon after this or any other process
	// saves a snapshot. Hints are coalesced and never come before the snapshot
	// is readable. An error means that watching is not possible now; the caller
	// may try again, unless it is [ErrClosed], which every method returns after
	// Close.
	Watch(ctx context.Context, hint func()) error

	// Close waits for running saves and releases the store.
	Close() error

	Announcements
	Bindings
	HostCalls
}

// Basis says whether what a write is based on was read from a store's memory, where
// it may be older than what another process has saved since: see [WithBasis]. The
// zero value is a basis that nothing was read for yet. It is not safe for concurrent
// use.
type Basis struct {
	memory any // the store's own
	stale  bool
}

type basisKey struct{}

// WithBasis returns a context in which a store may answer Load of a newest revision
// and Bindings from its memory. Then only a [Store.Save] with this context that
// returns no error shows that it was the newest.
func WithBasis(ctx context.Context, b *Basis) context.Context {
	return context.WithValue(ctx, basisKey{}, b)
}

// BasisOf returns the basis of a context; nil when it has none.
func BasisOf(ctx context.Context) *Basis {
	b, _ := ctx.Value(basisKey{}).(*Basis)
	return b
}

// Use is called by a store that answers from a memory, which is comparable.
func (b *Basis) Use(memory any) {
	b.stale = b.stale || b.memory != nil && b.memory != memory
	b.memory = memory
}

// Holds reports whether a write with this basis, which may be nil, may be saved while
// the store has a memory.
func (b *Basis) Holds(memory any) bool { return !b.used() || !b.stale && b.memory == memory }

func (b *Basis) used() bool { return b != nil && b.memory != nil }

type replacedKey struct{}

// withReplaced returns a context for [Store.Save], which has the snapshot that the
// save replaces.
func withReplaced(ctx context.Context, before Snapshot) context.Context {
	return context.WithValue(ctx, replacedKey{}, before)
}

// Replaced returns, from the context of a [Store.Save], the snapshot that the save
// replaces, so that a store that wraps another one need not read it; ok is false
// where it is not known.
func Replaced(ctx context.Context) (before Snapshot, ok bool) {
	before, ok = ctx.Value(replacedKey{}).(Snapshot)
	return before, ok
}

// Bindings say which lists conversations hold.
type Bindings interface {
	// Bind stores bindings without a save. A Seen that is older than the stored
	// one does not replace it.
	Bind(ctx context.Context, bindings ...Binding) error

	// Bindings reads the bindings of a conversation, the one that moved last
	// first.
	Bindings(ctx context.Context, principal, conversation string) ([]Binding, error)

	// Holders reads the bindings of the conversations that hold a list now; of
	// those that hold any list when list is empty.
	Holders(ctx context.Context, principal, list string) ([]Binding, error)

	// Attend makes a process known as alive until it leaves or ends, in whatever
	// way. A process for which that fails counts as ended.
	Attend(process string) (leave func(), err error)

	// Alive reports whether a process attends, on this store or on another one
	// that shares the lists.
	Alive(process string) bool
}

// HostCalls keep what hooks of hosts said about calls, for [HostCallAge].
type HostCalls interface {
	// NoteHostCall stores what a hook said at a time.
	NoteHostCall(ctx context.Context, principal string, c HostCall, at time.Time) error

	// HostCall reads what a hook said about a call within [HostCallAge]; the zero
	// HostCall when there is nothing.
	HostCall(ctx context.Context, principal, id string) (HostCall, error)
}

// Announcements make calls that made no revision visible to other processes on
// the same store. They are hints: a store keeps the last [KeepAnnouncements],
// and a power loss may lose some.
type Announcements interface {
	// Announce adds an announcement and hints watchers. The store sets Seq.
	Announce(ctx context.Context, a Announcement) error

	// Announced reads the announcements with a Seq above after, oldest first.
	Announced(ctx context.Context, after int64) ([]Announcement, error)
}

// Announcement is one call that left a list at a revision it already had.
type Announcement struct {
	// Seq orders the announcements of one store, from 1; not dense.
	Seq      int64
	List     string // the list's id
	Revision int64
	// Call is the call's id, see [Call].
	Call string
	// Process is the id of the process that answered the call, see
	// [Board.Process].
	Process string
}

// KeepAnnouncements is how many announcements a store keeps.
const KeepAnnouncements = 256

// Subscription says that an MCP session subscribed to a resource.
type Subscription struct {
	// Session is a digest of the session's id, and URI the resource's.
	Session, URI string
	// Conversation is who subscribed.
	Conversation Conversation
	// Ended is true when the session unsubscribed.
	Ended bool
	// Seq orders subscriptions as the Seq of saves does.
	Seq int64
}

// Move says that a conversation, or a name, came to hold another list, or none.
type Move struct {
	Principal string
	// Conversation is the key of the binding, see [Conversation.Holder].
	Conversation string
	// Seq orders moves as the Seq of saves does.
	Seq int64
}

// Subscriptions is what a store keeps for several servers in addition: those of
// sessions, whose requests and stream may go to different servers. A subscription
// that no stream asked for in [BindingAge] may be deleted, and one that ended after
// some minutes.
type Subscriptions interface {
	// Subscribe stores a subscription and hints watchers. It returns
	// [ErrTooManySubscriptions] when the session has most others.
	Subscribe(ctx context.Context, s Subscription, most int) error

	// Unsubscribe stores the end of a session's subscription to a resource, of all
	// that it has when uri is empty, and hints watchers.
	Unsubscribe(ctx context.Context, session, uri string) error

	// SubscriptionsOf reads those of a session that have not ended.
	SubscriptionsOf(ctx context.Context, session string) ([]Subscription, error)

	// SubscriptionsAfter reads those of all sessions with a Seq above after, in the
	// order of Seq, the ended ones too: some hundreds, and all that have the last
	// Seq. Who goes on from there until it finds nothing misses none.
	SubscriptionsAfter(ctx context.Context, after int64) ([]Subscription, error)

	// Position is that of [Store].
	Position(ctx context.Context) (int64, error)

	// Moves reads the moves with a Seq above after as SubscriptionsAfter reads
	// subscriptions. Of those to one list there is the last.
	Moves(ctx context.Context, after int64) ([]Move, error)

	// WatchSubscriptions is Watch of [Store] for subscriptions and moves: any other
	// save gives no hint.
	WatchSubscriptions(ctx context.Context, hint func()) error
}

// Query selects lists for [Store.Find]. Zero fields do not restrict.
type Query struct {
	// Principal restricts to lists of one principal; nil is any.
	Principal *string
	// Client restricts to the lists that this client began.
	Client string
	// Workspace restricts to the lists of one workspace, "" included; nil is any.
	Workspace *string
	// Parent restricts to the sub-lists of one list.
	Parent string
	// Operation restricts to the one snapshot, of any revision, that an
	// operation id made; other conditions apply to that snapshot.
	Operation string
	// Deleted is true to also find deleted lists.
	Deleted bool
	// UpdatedSince restricts to lists updated at that time or later.
	UpdatedSince time.Time
	// AfterSeq restricts to lists with a newest snapshot of a larger Seq.
	AfterSeq int64
	// BeforeSeq restricts to lists with a newest snapshot of a smaller Seq; 0 is
	// any. With it a reader pages from the newest list backwards.
	BeforeSeq int64
	// OldestFirst orders by Seq ascending; otherwise the order is by Seq
	// descending. Neither depends on clocks.
	OldestFirst bool
	// Limit is the maximum number of lists to return; 0 is no limit.
	Limit int
}
