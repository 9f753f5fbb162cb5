package board

import (
	"context"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Reader reads lists and chats. All methods return soon after their context ends.
type Reader interface {
	// Load reads one revision of a list; revision 0 means the newest. It
	// returns [ErrNotFound] when there is none.
	Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error)

	// Find reads the newest snapshot of each list that matches.
	Find(ctx context.Context, q Query) ([]todo.Snapshot, error)

	// History reads the revisions of a list above after in ascending order, at
	// most limit (0: all). The result is empty for an unknown list.
	History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error)

	// Seen reads what a chat has seen, the list that became current last first.
	Seen(ctx context.Context, of Key) ([]Seen, error)

	// SeenOn reads what all chats have seen of a list, or the current lists of a principal's
	// chats when list is empty.
	SeenOn(ctx context.Context, principal, list string) ([]Seen, error)

	// Named reads the id of the list that has a name; empty when none has.
	Named(ctx context.Context, principal, name string) (string, error)

	// Chat reads a chat; the zero Chat when there is none, or it is damaged.
	Chat(ctx context.Context, id string) (todo.Chat, error)

	// Chats reads the chats that match, by Seq ascending.
	Chats(ctx context.Context, q ChatQuery) ([]todo.Chat, error)

	// Keyed reads the id of the chat to which a key leads by a row of its own; empty when
	// there is no such row any more.
	Keyed(ctx context.Context, k ChatKey) (string, error)
}

// Tx is the transaction of a [Store.Update]. What it reads is the newest, and nobody
// else changes it before the transaction ends. It is used by one goroutine, and not
// after the function that it was given to has returned.
type Tx interface {
	Reader

	// Save stores next as the revision after next.Revision-1, which the transaction
	// has read, and adds it to the history; it returns next with Seq set. A list
	// begins with revision 1, or, when the transaction has read that it is not there,
	// with any other, as a history in a file does; next.List is stored by that save only.
	// Where the newest revision is damaged, next is stored after it, whatever its number. It returns
	// [ErrTooManyLists] or [ErrStoreFull] when there is no room: the function has to
	// return that error.
	Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error)

	// See stores what a chat has seen, as [See] says.
	See(ctx context.Context, s Seen) error

	// SetName has a list have a name from now on, which no other one of the principal has then.
	SetName(ctx context.Context, principal, name, list string) error

	// SaveChat stores a chat, and returns it with its Seq set. Of those of a user that held
	// no list it keeps the [MaxChats] that were used last. For a new one it returns
	// [ErrStoreFull] when no list of the principal can be written any more, as SetKey and
	// Claim do.
	SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error)

	// SetKey stores to which chat a key leads until a time, and keeps of a kind and user the
	// newest [MaxKeys].
	SetKey(ctx context.Context, k ChatKey, chat string, until time.Time) error

	// Claim stores that a notice was given at a time, unless it was within a time before,
	// of at most [NoticeAge]: then it returns when. It keeps the newest [MaxNotices] of a
	// principal.
	Claim(ctx context.Context, n Notice, at time.Time, within time.Duration) (earlier time.Time, err error)

	// Purge removes a list with all its revisions, and what is known of it, or returns
	// [ErrNotFound]. The chats that held no other list go with it. A revision by that writer, which is Deleted and has no text, stays
	// for [TrashAge] so that watchers see it. Lists that have been deleted for that long
	// go when lists begin.
	Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error
}

// Store keeps lists with their history, and chats. All methods are safe for
// concurrent use; those with a context return soon after it ends. The storetest suite
// checks on every backend that:
//
//   - When Update returns nil, what it saved is durable: a later read, also after
//     the process was killed or power was lost, returns that revision or a
//     later one.
//   - Updates of one key, and of one list, are serial, and revisions are dense.
//   - Neither the store nor the caller changes a snapshot that was returned.
type Store interface {
	Reader

	// Update runs change in a transaction and stores all that it saved, or nothing
	// when it returns an error, which Update returns. Updates with the same key run
	// one after the other, in the order in which they were called. change may run
	// more than once, each time in a transaction of its own. It must not call the
	// store other than by its Tx, and by Alive. After an error that wraps [ErrUnknownOutcome] all of
	// it may have been stored; after any other error nothing was. A panic of change
	// is one of Update.
	Update(ctx context.Context, key Key, change func(Tx) error) error

	// Position reads a Seq such that all saves with a smaller or equal one are
	// readable. Who reads with [Query.AfterSeq] and OldestFirst from there on, and
	// goes on from the last Seq each time, misses no save.
	Position(ctx context.Context) (int64, error)

	// Watch calls hint from one goroutine until ctx ends, and then returns nil:
	// once when watching has begun, and soon after this or any other process
	// saves a snapshot. Hints are coalesced and never come before the snapshot
	// is readable. An error means that watching is not possible now; the caller
	// may try again, unless it is [ErrClosed], which every method returns after
	// Close.
	Watch(ctx context.Context, hint func()) error

	// Attend makes a process known as alive until it leaves or ends, in whatever
	// way. A process for which that fails counts as ended.
	Attend(process string) (leave func(), err error)

	// Alive reports whether a process attends, on this store or on another one
	// that shares the lists.
	Alive(process string) bool

	// Close waits for running updates and releases the store.
	Close() error
}

// ChatQuery selects chats for [Reader.Chats]. Zero fields do not restrict.
type ChatQuery struct {
	// Principal and User restrict to the chats of one principal, and one user; nil is any.
	Principal, User *string
	// UsedSince restricts to chats that were used at that time or later.
	UsedSince time.Time
	// AfterSeq restricts to chats of a larger Seq.
	AfterSeq int64
}

// ChatKey is a key that leads to a chat although the chat's id is no digest of it.
type ChatKey struct {
	Principal, User string
	Kind            KeyKind
	Text            string
}

// KeyKind is what a [ChatKey] is. No client names one, so that nothing which a client sends
// is taken for another kind (BAD-INPUT 150).
type KeyKind string

// The kinds of keys: of a host's id of a call of a tool, as its hook said it before the call
// arrived; and of the id of a host's process, of which one chat alone is in a turn.
const (
	CallKey KeyKind = "call"
	HostKey KeyKind = "host"
)

// Notice is something that one of several processes does for all of them.
type Notice struct{ Principal, What string }

// What of chats, keys and notices a store keeps.
const (
	// MaxChats is how many chats that held no list are kept of a user of a principal.
	MaxChats = 1000
	// BareChatAge is how long such a chat is kept after it ended.
	BareChatAge = 24 * time.Hour
	// MaxKeys is how many keys of a kind are kept of a user of a principal.
	MaxKeys = 1000
	// KeyAge is for how long a key leads to its chat.
	KeyAge = time.Hour
	// MaxNotices is how many notices are kept of a principal, and NoticeAge for how long.
	MaxNotices, NoticeAge = 1000, time.Hour
)

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
	// Excerpt is true when of each list an excerpt is enough, see [todo.Snapshot.Excerpt]: a
	// store reads it faster than the whole list. With an operation or a text it means
	// nothing.
	Excerpt bool
	// Text restricts to lists with a revision, of any age, in which a text stands, see
	// [todo.Snapshot.Says], and finds of each the last one in which it does, whole; other
	// conditions, and the order, are of the newest one. A store looks through all
	// revisions of the lists that they leave: who has many goes on by [Query.BeforeSeq].
	Text string
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
