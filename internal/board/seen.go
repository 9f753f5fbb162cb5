package board

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Conversation is the caller, as far as known: one agent in one chat, or several agents that cannot be distinguished.
type Conversation struct {
	// Key identifies the chat among those of its principal and user. It begins with its kind ("session:…",
	// "process:…"), or is the chat's id. It is empty for a person, or a command that names its list.
	Key     string
	Mirrors bool // true for calls of the host's own todo tool, which has a list apart from the one in our tools
	// Parent is the key of the main agent's chat, and Agent the sub-agent's name; both are empty for a main agent.
	Parent, Agent string
	// Takes is the process key that calls had before this chat's id was known: another, earlier chat in the store. If
	// this chat has held no list, it takes over what the earlier chat has seen, unless that chat has an id of the host.
	Takes string
	Chat  string // the chat's id at the host; empty if not known. Lists of chats with different ids are never mixed up
	Name  string // the name of the list that the user chose as the current one of the conversation; empty for none
	// Hint is true when the key may stand for another chat than before. Then the conversation is certain only
	// once it has written in this process, and never if it is Shared (docs/spec/architecture.md, "Who is calling").
	Hint   bool
	Shared bool          // several chats may have the key at the same time
	Lasts  time.Duration // how long after a call the conversation counts as present; 0: while its process lives
	// Detached is true if each call is made by a process of its own, as commands and hooks are. It needs Lasts.
	Detached bool
	Host     string // if Detached, the id of the host's process, see [todo.HostProcess]; empty if not known
	// Client and Workspace are the caller's: a guess considers only lists that began with the same ones.
	Client, Workspace string
}

// Own returns a conversation with its keys replaced by chat ids of this principal and user, and its workspace
// normalised by [todo.Folder] and cut to [todo.MaxWorkspace] bytes (BAD-INPUT 82).
func (l Lists) Own(c Conversation) Conversation {
	for _, key := range []*string{&c.Key, &c.Parent, &c.Takes} {
		if *key != "" {
			*key = todo.ChatID(l.id.Principal, l.id.Subject, *key, key == &c.Key && c.Shared)
		}
	}
	if c.Workspace = todo.Folder(c.Workspace); len(c.Workspace) > todo.MaxWorkspace {
		c.Workspace = strings.ToValidUTF8(c.Workspace[:todo.MaxWorkspace], "") // drops half a rune at the end
	}
	return c
}

// Key identifies the chat of a [Seen], and which todo tool its list is in: ours, or the host's own.
type Key struct {
	Principal string
	Chat      string // its id, or [todo.PersonChat]
	Mirrors   bool   // true for lists in the host's own todo tool
}

// AllPrincipals is the Principal of the key of an update that may change rows of every principal: no other update runs
// beside it. No principal has this name.
const AllPrincipals = "\x00"

// Seen is what a chat knows of one list.
type Seen struct {
	Key
	List     string // the id of the list
	Revision int64  // the newest revision that the chat's agent was shown; 0 for none
	Process  string // the process that showed it: [Board.Process], a host's id, [todo.Detached] or empty
	Current  bool   // the list is the chat's current one; storing false does not reset it
	// Held numbers a chat's lists in the order in which they became current, from 1; 0 is never. The store sets it.
	Held int64
	At   time.Time // when the entry was last used, UTC, give or take five minutes; set by the store
}

// See adds an entry to a chat's entries. It returns all entries, the highest Held first, and the new one as the store
// has to store it: its Revision never decreases, and an empty Process keeps the old one. All stores use See.
func See(all []Seen, s Seen, at time.Time) (after []Seen, stored Seen) {
	var old Seen
	last := s.Held
	after = make([]Seen, 0, len(all)+1)
	for _, o := range all {
		last = max(last, o.Held)
		if o.List == s.List {
			old = o
			continue
		}
		o.Current = o.Current && !s.Current
		after = append(after, o)
	}
	stored = s
	at = at.Round(0).UTC() // without the monotonic clock, which stops while the machine sleeps
	stored.At, stored.Revision, stored.Process = at, max(s.Revision, old.Revision), cmp.Or(s.Process, old.Process)
	if since := at.Sub(old.At); 0 <= since && since < seenTick {
		stored.At = old.At
	}
	switch {
	case !s.Current:
		stored.Held, stored.Current = old.Held, old.Current
	case old.Current:
		stored.Held = old.Held
	default:
		stored.Held = last + 1
	}
	after = append(after, stored)
	slices.SortStableFunc(after, func(a, b Seen) int { return cmp.Compare(b.Held, a.Held) })
	return after, stored
}

// Current returns the id of the current list among a chat's entries; empty for none.
func Current(seen []Seen) string {
	if len(seen) == 0 || !seen[0].Current {
		return ""
	}
	return seen[0].List
}

// SeenAge is the time without use after which a store may forget a [Seen], except one of [todo.PersonChat].
const SeenAge = 60 * 24 * time.Hour

// seenTick is the precision of [Seen.At]. It spares stores a write of their index of At with each call.
const seenTick = 5 * time.Minute

// see stores what a chat has seen. It returns [ErrNotFound] for a list that l does not own.
func (l Lists) see(ctx context.Context, tx Tx, s Seen) error {
	list, err := tx.Load(ctx, s.List, 0)
	if err == nil && !l.owns(list) {
		err = errNoSnapshot
	}
	if err == nil {
		err = tx.See(ctx, s)
	}
	return err
}
