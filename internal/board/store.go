package board

import (
	"context"
	"fmt"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Reader reads lists and chats. All methods return soon after their context ends.
type Reader interface {
	// Load reads one revision of a list, 0 for the newest; [ErrNotFound] if there is none.
	Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error)
	// Find reads the newest snapshot of each list that matches.
	Find(ctx context.Context, q Query) ([]todo.Snapshot, error)
	// History reads the revisions of a list with numbers > after, in ascending
	// order, at most limit (0: all). The result is empty for an unknown list.
	History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error)
	// Seen reads what a chat has seen, beginning with the list that became current last.
	Seen(ctx context.Context, of Key) ([]Seen, error)
	// SeenOn reads what all chats have seen of a list or, if list is empty, all current lists of a principal's chats.
	SeenOn(ctx context.Context, principal, list string) ([]Seen, error)
	// Named reads the id of the list that has a name; empty if there is no such list.
	Named(ctx context.Context, principal, name string) (string, error)
	// Chat reads a chat; the zero Chat when there is none, or it is damaged.
	Chat(ctx context.Context, id string) (todo.Chat, error)
	// Chats reads the chats that match, by Seq ascending.
	Chats(ctx context.Context, q ChatQuery) ([]todo.Chat, error)
	// Keyed reads the text that [Tx.SetKey] stored under a key; empty if there is none, or the key has expired.
	Keyed(ctx context.Context, k ChatKey) (string, error)
}

// Tx is the transaction of a [Store.Update]. It reads the newest data, which nobody else changes
// before the transaction ends. One goroutine uses it, until the function that got it returns.
type Tx interface {
	Reader

	// Save stores next as the revision after next.Revision-1, which the transaction has read, and returns it with Seq
	// set. A list begins with revision 1; an imported list may begin with any number, if the transaction has read that
	// the list does not exist. Only the first save of a list stores next.List. If the newest revision is damaged, Save
	// ignores next.Revision and stores next after it. Save returns [ErrTooManyLists] or [ErrStoreFull] when there is no
	// room: the function passed to Update must return that error.
	Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error)
	// See stores what a chat has seen, as [See] says.
	See(ctx context.Context, s Seen) error
	// SetName gives a name to a list, and takes it from any other list of the principal.
	SetName(ctx context.Context, principal, name, list string) error
	// SaveChat stores a chat, and returns it with its Seq set. Of a user's chats that held no list it
	// keeps the [MaxChats] that were used last. For a new chat it returns [ErrStoreFull], as SetKey
	// does, when no list of the principal can be written any more.
	SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error)
	// SetKey stores a chat's id, or the time of a notice, under a key until a time. It keeps the newest [MaxKeys] of a
	// kind and user.
	SetKey(ctx context.Context, k ChatKey, to string, until time.Time) error
	// Purge removes a list with all its revisions, what chats have seen of it, and the chats that held
	// no other list, or returns [ErrNotFound]. A revision by the given writer, Deleted and without
	// text, stays for [TrashAge] so that watchers see it. It is removed when a list begins after that time.
	Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error
}

// Store keeps lists with their history, and chats. All methods are safe for concurrent use; those with a
// context return soon after it ends. The storetest suite checks on every backend that:
//
//   - When Update returns nil, what it saved is durable: a later read, also after
//     the process was killed or power was lost, returns that revision or a
//     later one.
//   - Updates of one key, and of one list, are serial, and revisions are dense.
//   - Neither the store nor the caller changes a snapshot that was returned.
type Store interface {
	Reader

	// Update runs change in a transaction and stores all that it saved. If change returns an error, Update stores
	// nothing and returns that error. Updates with the same key run one after the other, in the order of their calls.
	// change may run more than once, each time in a transaction of its own. It must use the store only through its Tx
	// and Alive. After an error that wraps [ErrUnknownOutcome] all of it may have been stored; after any other error
	// nothing was. Update passes on a panic of change.
	Update(ctx context.Context, key Key, change func(Tx) error) error
	// Position reads a Seq such that all saves up to this Seq are readable. A reader that pages from there with
	// [Query.AfterSeq] and OldestFirst misses no save.
	Position(ctx context.Context) (int64, error)
	// Watch calls hint from one goroutine: once when watching has begun, soon after any process saves a snapshot, and
	// every few seconds, in case a hint was lost. Hints are coalesced and never come before the snapshot is readable.
	// Watch returns nil when ctx ends and, as every method does, [ErrClosed] after Close.
	Watch(ctx context.Context, hint func()) error
	// Attend makes a process known as alive until it calls leave or ends, in whatever way. If that fails, leave is nil and
	// the process counts as ended.
	Attend(process string) (leave func())
	// Alive reports whether a process, wherever it runs, is known as alive; see Attend.
	Alive(process string) bool
	// Close waits for running updates and releases the store.
	Close() error
}

// ChatQuery selects chats for [Reader.Chats]. Zero fields do not restrict.
type ChatQuery struct {
	Principal, User *string   // restrict to the chats of one principal, and one user; nil is any
	UsedSince       time.Time // restricts to chats that were used at that time or later
	AfterSeq        int64     // restricts to chats of a larger Seq
}

// ChatKey is the key of a row whose value is a chat's id or a notice's time; see [Tx.SetKey].
type ChatKey struct {
	Principal, User string
	Kind            KeyKind
	Text            string
}

// KeyKind is the kind of a [ChatKey]. No client can choose a kind by the data that it sends (BAD-INPUT 150).
type KeyKind string

// The kinds of keys.
const (
	CallKey KeyKind = "call" // the host's id of a tool call, as a hook reported it before the call
	HostKey KeyKind = "host" // the id of a host's process in which only this chat is in a turn

	NoticeKey KeyKind = "notice" // a task that one of several processes does for all, see [Lists.Claim]
)

// How many chats and keys a store keeps, and for how long.
const (
	MaxChats    = 1000           // a user's chats that never held a list
	BareChatAge = 24 * time.Hour // how long such a chat is kept after it ended
	MaxKeys     = 1000           // keys of a kind and user
	KeyAge      = time.Hour
)

// Query selects lists for [Store.Find]. Zero fields do not restrict.
type Query struct {
	Principal *string // restricts to lists of one principal; nil is any
	Client    string  // restricts to the lists that this client began
	Workspace *string // restricts to the lists of one workspace, "" included; nil is any
	Parent    string  // restricts to the lists of sub-agents under one list
	// Operation restricts to the one snapshot, of any revision, that a write with this operation id made.
	Operation string
	// Excerpt asks for excerpts, which a store reads faster; it has no effect beside Operation or Text.
	Excerpt bool
	// Text restricts to lists of which any revision has a text, see [todo.Snapshot.Saying], and finds the last such
	// revision of each, in full. The other conditions and the order apply to the newest revision. A store searches all
	// revisions of the lists that pass the other conditions: a caller with many lists should page by BeforeSeq.
	Text         string
	Deleted      bool      // also finds deleted lists
	UpdatedSince time.Time // restricts to lists updated at that time or later
	AfterSeq     int64     // restricts to lists with a newest snapshot of a larger Seq
	BeforeSeq    int64     // restricts to lists with a newest snapshot of a smaller Seq; 0 is any
	OldestFirst  bool      // orders by Seq ascending, else descending
	Limit        int       // the maximum number of lists to return; 0 is no limit
}

// TrashAge is how long a list that a person deleted can be brought back. Then the store removes it.
const TrashAge = 24 * time.Hour

// Keep is how much a store keeps. The zero value keeps everything. A list's newest revision is always kept.
type Keep struct {
	Revisions int // how many of a list's newest revisions are kept; 0 is all
	// Lists is how many lists a principal may have, and Begun how many one conversation may begin in a day; 0 is
	// any number. A save that would begin one more fails with [ErrTooManyLists].
	Lists, Begun int
	// Bytes is the size that the store may grow to; 0 is any. A principal who signed in may use a quarter of it. Once
	// [Full] percent of Bytes or of the quarter are in use, no list can begin. At 100 percent, lists can only be
	// archived or deleted. Other saves fail with [ErrStoreFull].
	Bytes     int64
	Abandoned time.Duration // lists whose last change is this old may be removed to make room; 0 removes none
	// Finished is the age at which a finished list is removed although there is room, counted from its last change and
	// from when it came to the store, whichever is later; 0 is never. Lists that a person looked at, or that a chat
	// which is here holds, stay.
	Finished time.Duration
	// Moving is called with a sentence about each step that migrates an older store. If nil, older stores are refused.
	Moving func(text string)
	Before func(context.Context) // called when a read or a change of the store begins; may be nil
}

const (
	// Full is the part of [Keep.Bytes], or of a principal's quarter, in percent, beyond which no list begins.
	Full = 90
	// MaxAbandoned limits the lists that are removed at once for one reason ([todo.Spare]).
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

// First returns the number of the oldest revision to keep of a list whose newest revision is the argument.
func (k Keep) First(newest int64) int64 {
	if k.Revisions <= 0 {
		return 1
	}
	return max(1, newest-int64(k.Revisions)+1)
}
