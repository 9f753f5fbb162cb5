package todo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"
)

// Conversation is who calls, as far as it can be told: one agent in one chat, or
// several that cannot be told apart. A conversation holds at most one list at a
// time, see [Binding].
type Conversation struct {
	// Key identifies the conversation within its principal, with its kind as a
	// prefix ("session:…", "process:…"). Empty is nobody: a person or a command
	// that names its list.
	Key string
	// Name is the name of the list that the conversation was given by its user;
	// empty for none. All conversations with this name hold that list, and each
	// has seen what was shown to it.
	Name string
	// Hint is true when the key may stand for another chat than before. Then a
	// whole-list write must keep something of a list to replace it, see
	// [Target.Lines].
	Hint bool
	// Shared is true when several chats may have the key at the same time.
	Shared bool
	// Lasts is for how long after its last call the conversation counts as there;
	// 0 is for as long as the process that serves it is alive.
	Lasts time.Duration
	// Detached is true when the conversation outlives the processes that serve it:
	// each call of a command is a process of its own. It needs Lasts.
	Detached bool
	// Client and Workspace are those of the caller. A caller with a hint may
	// continue an unfinished list that began with the same ones.
	Client, Workspace string
}

// Holder returns the key under which the conversation's list is bound.
func (c Conversation) Holder() string {
	if c.Name != "" {
		return NameKey(c.Name)
	}
	return c.Key
}

// bounded returns the conversation with a workspace of at most [MaxWorkspace]
// bytes and a key of at most maxKey: both may be of any size as callers send them,
// and both are stored with every list and binding (BAD-INPUT 82).
func (c Conversation) bounded() Conversation {
	c.Key = boundedKey(c.Key)
	if len(c.Workspace) > MaxWorkspace {
		c.Workspace = strings.ToValidUTF8(c.Workspace[:MaxWorkspace], "") // half a rune at the end
	}
	return c
}

// maxKey is the size in bytes above which a key of a conversation is replaced. No
// honest key is longer: the longest has a workspace in it.
const maxKey = 2 * MaxWorkspace

// boundedKey returns the key of a conversation, or a digest if it is too long: two
// that differ stay different.
func boundedKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "digest:" + hex.EncodeToString(sum[:])
}

// NameKey returns the key whose binding says which list has a name.
func NameKey(name string) string { return "name:" + name }

// Binding says that a conversation holds a list, or held it before, and which
// revision of it its agent has last seen. Of a conversation's bindings the one
// that moved last says which list it holds now.
type Binding struct {
	Principal    string
	Conversation string // its key
	// List is the id of the list; empty in the binding of a conversation that
	// holds none any more.
	List string
	// Seen is the newest revision that the conversation's agent was shown; 0 for
	// none.
	Seen int64
	// Process is the id of the process that the conversation lives in, see
	// [Board.Process]; empty when it can outlive a process.
	Process string
	// Server is the id of the process that the conversation called last, and Until
	// when it counts as ended unless it calls again; zero while Server is alive.
	// Server is "-" for a detached conversation.
	Server string
	Until  time.Time
	// Moves is true when the binding, being stored, becomes the one that moved
	// last. Otherwise only Seen changes.
	Moves bool
	// Moved orders the bindings of a conversation that was read from a store: of
	// those above 0 the largest is the list that it holds. It is 0 for a list that
	// its agent was only shown.
	Moved int64
	// Over is the list that the conversation held when the caller decided to move
	// it, empty for none. A save that begins a list fails if that has changed.
	Over string
	// At is when the binding was stored last, UTC.
	At time.Time
}

// Bind returns the bindings of a conversation, the one that moved last first, after b
// is stored beside those in bound, and b as it is stored.
func Bind(bound []Binding, b Binding, at time.Time) (after []Binding, stored Binding) {
	after = make([]Binding, 0, len(bound)+1)
	stored = b
	stored.Moved = 0
	if b.Moves {
		stored.Moved = 1
		if len(bound) > 0 {
			stored.Moved += bound[0].Moved
		}
	}
	stored.At, stored.Moves, stored.Over = at.UTC(), false, ""
	for _, old := range bound {
		if old.List != b.List {
			after = append(after, old)
			continue
		}
		if b.Server == "" {
			stored.Server, stored.Until = old.Server, old.Until
		}
		if !b.Moves {
			stored.Moved = old.Moved
		}
		stored.Seen, stored.Process = max(b.Seen, old.Seen), cmp.Or(b.Process, old.Process)
	}
	place := slices.IndexFunc(after, func(o Binding) bool { return o.Moved < stored.Moved })
	if place < 0 {
		place = len(after)
	}
	return slices.Insert(after, place, stored), stored
}

// BindingAge is how long after its last use a store may delete a binding, unless
// its key is that of a name.
const BindingAge = 60 * 24 * time.Hour

// sight is what agents were shown by reads of this process. What no binding in the
// store says yet is stored with the next write.
type sight struct {
	mu   sync.Mutex
	seen map[sightKey]int64
	// taken is what was taken to be stored. It stays known: while it is being stored,
	// a write that looks in the store and then here would find it in neither.
	taken map[sightKey]int64
}

type sightKey struct{ principal, conversation, list string }

// maxSight is how many sights wait for a write, and how many more stay known. When
// there are more, all are forgotten: then a change that an agent has read may be
// reported to it again.
const maxSight = 10_000

// note records that a conversation was shown a revision of a list.
func (s *sight) note(principal, conversation, list string, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= maxSight {
		s.seen = make(map[sightKey]int64)
	}
	key := sightKey{principal, conversation, list}
	s.seen[key] = max(s.seen[key], revision)
}

// of returns the newest revision recorded for a conversation and a list.
func (s *sight) of(principal, conversation, list string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sightKey{principal, conversation, list}
	return max(s.seen[key], s.taken[key])
}

// take returns all that waits to be stored as bindings that do not move. It does
// not wait any more then.
func (s *sight) take() []Binding {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Binding
	if s.taken == nil || len(s.taken)+len(s.seen) > maxSight {
		s.taken = make(map[sightKey]int64)
	}
	for key, revision := range s.seen {
		out = append(out, Binding{Principal: key.principal, Conversation: key.conversation, List: key.list, Seen: revision})
		s.taken[key] = max(s.taken[key], revision)
	}
	clear(s.seen)
	return out
}

// untake records again what a failed write could not store.
func (s *sight) untake(bindings []Binding) {
	for _, b := range bindings {
		s.note(b.Principal, b.Conversation, b.List, b.Seen)
	}
}

// HostCall is what a host's hook said about one tool call before it arrived:
// the exact answer to who is calling.
type HostCall struct {
	// ID is the id that the host gave the call, as in its _meta.
	ID string
	// Session is the host's id of the chat, and Agent that of the sub-agent in
	// it; Agent is empty for the main agent.
	Session, Agent string
	// Folder is the path of the folder that the chat works in.
	Folder string
}

// HostCallAge is how long a store keeps a [HostCall].
const HostCallAge = time.Hour

// NoteHostCall stores what a host's hook said about a call.
func (l Lists) NoteHostCall(ctx context.Context, c HostCall) error {
	return l.board.store.NoteHostCall(ctx, l.principalOrServer(), c, l.board.now())
}

// probeCall is the id under which TryWrite notes a call. It is one row of the store,
// which each try replaces, and is no id of any host.
const probeCall = "todo-mcp/readyz"

// TryWrite finds out whether the store can be written, by a write that no list shows.
func (l Lists) TryWrite(ctx context.Context) error {
	return l.NoteHostCall(ctx, HostCall{ID: probeCall})
}

// HostCall returns what a host's hook said about a call; the zero HostCall when
// it said nothing.
func (l Lists) HostCall(ctx context.Context, id string) (HostCall, error) {
	return l.board.store.HostCall(ctx, l.principalOrServer(), id)
}
