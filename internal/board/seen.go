package board

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Conversation is who calls, as far as it can be told: one agent in one chat, or
// several that cannot be told apart.
type Conversation struct {
	// Key says which chat it is, within its principal and user, with its kind as a
	// prefix ("session:…", "process:…"), or is the chat's id already. Empty is nobody: a person
	// or a command that names its list.
	Key string
	// Mirrors is true for calls of a todo tool of the host's own, whose list the chat has
	// beside that of our tools.
	Mirrors bool
	// Parent is the key of the main agent's chat when this is a sub-agent's, and Agent the
	// sub-agent's name; else both are empty.
	Parent, Agent string
	// Takes is the key of the process by which the chat was known before its id was: a chat that
	// holds no list takes over what that one has, unless it has an id of its own.
	Takes string
	// Chat is the host's own id of the chat, as far as known: lists of chats with
	// different ids are never taken for each other.
	Chat string
	// Name is the name of the list that the conversation was given by its user;
	// empty for none. All conversations with this name have that list as their current one, and
	// each has seen what was shown to it.
	Name string
	// Hint is true when the key may stand for another chat than before. Then the
	// conversation is certain only once it has written in this process, and never
	// if it is Shared (docs/spec/architecture.md, "Who is calling").
	Hint bool
	// Shared is true when several chats may have the key at the same time.
	Shared bool
	// Lasts is for how long after its last call the conversation counts as present;
	// 0 is for as long as the process that serves it is alive.
	Lasts time.Duration
	// Detached is true when the conversation outlives the processes that serve it:
	// each call of a command, or of a hook, is a process of its own. It needs Lasts. Host is the id
	// of the host's process, see [todo.HostProcess]; empty where that is not known.
	Detached bool
	Host     string
	// Client and Workspace are the caller's. A conversation that is not
	// certain may go on with an unfinished list that began with the same ones.
	Client, Workspace string
}

// Own returns a conversation as these lists have it: with the id of its chat in place of the
// key that its caller has, which may be of any size and says nothing of who of a team calls, and
// a workspace as [todo.Folder] of at most [todo.MaxWorkspace] bytes (BAD-INPUT 82).
func (l Lists) Own(c Conversation) Conversation {
	for _, key := range []*string{&c.Key, &c.Parent, &c.Takes} {
		if *key != "" {
			*key = todo.ChatID(l.principal, l.subject, *key, key == &c.Key && c.Shared)
		}
	}
	if c.Workspace = todo.Folder(c.Workspace); len(c.Workspace) > todo.MaxWorkspace {
		c.Workspace = strings.ToValidUTF8(c.Workspace[:todo.MaxWorkspace], "") // half a rune at the end
	}
	return c
}

// Key is whose [Seen]: those of a chat of a principal, which has a current list of each kind.
type Key struct {
	Principal string
	// Chat is the chat's id, or [todo.PersonChat].
	Chat string
	// Mirrors is true for the lists that the chat has in a todo tool of its host's own.
	Mirrors bool
}

// Seen is what a chat knows of one list.
type Seen struct {
	Key
	// List is the id of the list.
	List string
	// Revision is the newest one that the chat's agent was shown; 0 for none.
	Revision int64
	// Process is the id of the process by which it was shown that, see [Board.Process];
	// [todo.Detached] for one that ended with the call, and empty for none.
	Process string
	// Current is true for the list that is the chat's current one. In what is to be stored it
	// makes it so; false changes nothing of that.
	Current bool
	// Held orders the lists of a chat by when they became current, from 1; 0 for one that its
	// agent was only shown. Set by the store.
	Held int64
	// At is when this was used last, UTC, give or take five minutes. Set by the store.
	At time.Time
}

// See returns what a chat has seen after storing another one at a time, the list that became
// current last first, and that one as stored. Stores share it. Of a list that it knew already,
// Revision does not go back, and Process stays when s has none.
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
	at = at.Round(0).UTC() // without the monotonic clock, which stands while the machine sleeps
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

// Current returns the id of the current list of a chat that has seen these; empty for none.
func Current(seen []Seen) string {
	if len(seen) == 0 || !seen[0].Current {
		return ""
	}
	return seen[0].List
}

// SeenAge is how long after its last use a store may forget what a chat has seen, unless it is
// [todo.PersonChat].
const SeenAge = 60 * 24 * time.Hour

// seenTick is how exact the time of the last use is: stores have an index of it, which they
// then need not write with each call.
const seenTick = 5 * time.Minute

// see stores what chats of one principal have seen. It returns [ErrNotFound] for a list that is
// not one of these, whoever named it.
func (l Lists) see(ctx context.Context, tx Tx, seen ...Seen) error {
	for _, s := range seen {
		known, err := tx.Seen(ctx, s.Key)
		if err == nil && !slices.ContainsFunc(known, func(k Seen) bool { return k.List == s.List }) {
			err = l.checkOwns(ctx, tx, s.List)
		}
		if err == nil {
			err = tx.See(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
