package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// Conversation is who calls, as far as it can be told: one agent in one chat, or
// several that cannot be told apart. A conversation holds at most one list at a
// time, see [Cursor].
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
	// empty for none. All conversations with this name hold that list, and each
	// has seen what was shown to it.
	Name string
	// Hint is true when the key may stand for another chat than before. Then the
	// conversation is certain only once it has written in this process, and never
	// if it is Shared (docs/spec/architecture.md, "Who is calling").
	Hint bool
	// Shared is true when several chats may have the key at the same time.
	Shared bool
	// Pairs is true when hooks of the client know its chats and do not tell a server which of
	// them calls: it is taken to be the only one in the folder.
	Pairs bool
	// Lasts is for how long after its last call the conversation counts as present;
	// 0 is for as long as the process that serves it is alive.
	Lasts time.Duration
	// Detached is true when the conversation outlives the processes that serve it:
	// each call of a command is a process of its own. It needs Lasts.
	Detached bool
	// Client and Workspace are the caller's. A conversation that is not
	// certain may go on with an unfinished list that began with the same ones.
	Client, Workspace string
}

// CurrentKey returns the key under which the conversation's current list is kept.
func (c Conversation) CurrentKey() string {
	if c.Name != "" {
		return todo.NameKey(c.Name)
	}
	return c.Key
}

// Own returns a conversation as these lists have it: with the id of its chat in place of the
// key that its caller has, which may be of any size and says nothing of who of a team calls, and
// a workspace as [todo.Folder] of at most [todo.MaxWorkspace] bytes (BAD-INPUT 82).
func (l Lists) Own(c Conversation) Conversation {
	if c.Key = l.own(c.Key, c.Shared); c.Mirrors && c.Key != "" {
		c.Key = todo.MirrorID(c.Key)
	}
	c.Parent, c.Takes = l.own(c.Parent, false), l.own(c.Takes, false)
	if c.Workspace = todo.Folder(c.Workspace); len(c.Workspace) > todo.MaxWorkspace {
		c.Workspace = strings.ToValidUTF8(c.Workspace[:todo.MaxWorkspace], "") // half a rune at the end
	}
	return c
}

// own returns the id of a chat by its key; a name's key, and none, stay.
func (l Lists) own(key string, isSeveral bool) string {
	if key == "" || strings.HasPrefix(key, todo.NameKey("")) {
		return key
	}
	return todo.ChatID(l.principal, l.subject, key, isSeveral)
}

// Key is whose cursors: a conversation's of a principal, or a name's.
type Key struct{ Principal, Conversation string }

// Cursor is what a conversation knows of one list. Of its cursors the one that
// became current last says which list it holds.
type Cursor struct {
	Key
	// List is the id of the list.
	List string
	// Seen is the newest revision that the conversation's agent was shown; 0 for
	// none.
	Seen int64
	// Process is the id of the process that serves the conversation, see
	// [Board.Process]; [Detached] for one that no process serves for longer than a
	// call, and empty for a name.
	Process string
	// Until is when the conversation counts as gone unless it calls again; zero is
	// as long as Process is alive.
	Until time.Time
	// Current is true for the list that the conversation holds. In a cursor to be
	// stored it makes it so; false changes nothing of that.
	Current bool
	// Moved orders the cursors of a conversation by when they became current, from
	// 1; 0 for a list that its agent was only shown. Set by the store.
	Moved int64
	// At is when the cursor was used last, UTC, give or take five minutes. Set by the store.
	At time.Time
}

// Detached stands for the process of a conversation that is [Conversation.Detached].
const Detached = "-"

// SetCursor returns a conversation's cursors after storing another one at a time, the
// one that became current last first, and the cursor as stored. Stores share it. Of a
// list that has a cursor already, Seen does not go back, and Process and Until stay
// when c has no Process.
func SetCursor(all []Cursor, c Cursor, at time.Time) (after []Cursor, stored Cursor) {
	var old Cursor
	last := c.Moved
	after = make([]Cursor, 0, len(all)+1)
	for _, o := range all {
		last = max(last, o.Moved)
		if o.List == c.List {
			old = o
			continue
		}
		o.Current = o.Current && !c.Current
		after = append(after, o)
	}
	stored = c
	at = at.Round(0).UTC() // without the monotonic clock, which stands while the machine sleeps
	stored.At, stored.Seen = at, max(c.Seen, old.Seen)
	if since := at.Sub(old.At); 0 <= since && since < cursorTick {
		stored.At = old.At
	}
	if c.Process == "" {
		stored.Process, stored.Until = old.Process, old.Until
	}
	switch {
	case !c.Current:
		stored.Moved, stored.Current = old.Moved, old.Current
	case old.Current:
		stored.Moved = old.Moved
	default:
		stored.Moved = last + 1
	}
	after = append(after, stored)
	slices.SortStableFunc(after, func(a, b Cursor) int { return cmp.Compare(b.Moved, a.Moved) })
	return after, stored
}

// Current returns the id of the list that a conversation with these cursors holds; empty
// for none.
func Current(cursors []Cursor) string {
	if len(cursors) == 0 || !cursors[0].Current {
		return ""
	}
	return cursors[0].List
}

// CursorAge is how long after its last use a store may delete a cursor, unless its
// key is a name's or [todo.PersonKey].
const CursorAge = 60 * 24 * time.Hour

// cursorTick is how exact the time of the last use of a cursor is: stores have an index of
// it, which they then need not write with each call.
const cursorTick = 5 * time.Minute
