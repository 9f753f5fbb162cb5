package board

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// Conversation is who calls, as far as it can be told: one agent in one chat, or
// several that cannot be told apart. A conversation holds at most one list at a
// time, see [Cursor].
type Conversation struct {
	// Key identifies the conversation within its principal, with its kind as a
	// prefix ("session:…", "process:…"). Empty is nobody: a person or a command
	// that names its list.
	Key string
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

// bounded returns the conversation with its workspace as [todo.Folder] and of at most [todo.MaxWorkspace]
// bytes and a key of at most maxKey: both may be of any size as callers send them,
// and both are stored with every list and cursor (BAD-INPUT 82). Of a longer key it has
// a digest: two that differ stay different.
func (c Conversation) bounded() Conversation {
	c.Key = boundedKey(c.Key)
	if c.Workspace = todo.Folder(c.Workspace); len(c.Workspace) > todo.MaxWorkspace {
		c.Workspace = strings.ToValidUTF8(c.Workspace[:todo.MaxWorkspace], "") // half a rune at the end
	}
	return c
}

// boundedKey returns a key of at most maxKey bytes; of a longer one its digest.
func boundedKey(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	digest := "digest:" + hex.EncodeToString(sum[:])
	if todo.IsSharedKey(key) {
		digest = todo.SharedKey(digest)
	}
	return digest
}

// Own returns a conversation as these lists have it: bounded, and of one member of a team
// with a key that no other member's has. A chat's id can be read by all who see its lists,
// and says nothing of who calls. A key that has it already stays.
func (l Lists) Own(c Conversation) Conversation {
	c = c.bounded()
	ending := "/user:" + boundedKey(url.PathEscape(l.subject)) // no slash: another subject has another ending
	if l.subject != "" && c.Key != "" && !strings.HasPrefix(c.Key, todo.NameKey("")) && !strings.HasSuffix(c.Key, ending) {
		c.Key += ending
	}
	return c
}

// isOwn reports whether a key is of a conversation of these lists' member.
func (l Lists) isOwn(key string) bool { return l.Own(Conversation{Key: key}).Key == key }

// maxKey is the size in bytes above which a key of a conversation is replaced: a cursor
// has it several times on the disk.
const maxKey = 512

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

// HostCall is what a host's hook said about one tool call before it arrived: the exact
// answer to who is calling. Of another kind it is what hooks said of something else.
type HostCall struct {
	HostCallKey
	// Session is the host's id of the chat, and Agent its id of the sub-agent in
	// it; Agent is empty for the main agent.
	Session, Agent string
	// Folder is the path of the folder that the chat works in.
	Folder string
}

// HostCallKey says what a [HostCall] is about.
type HostCallKey struct {
	// Principal is whose lists it is about, and Subject who said so, see [Identity]: what
	// one member of a team says is used for that member's chats alone.
	Principal, Subject string
	Kind               HostCallKind
	// ID tells those of a kind apart: the id that the host gave the call, as in its _meta;
	// of another kind a chat, a folder or a list.
	ID string
}

// HostCallKind is what a [HostCall] is about. No client names one, so that nothing which a
// client sends is taken for another kind (BAD-INPUT 150).
type HostCallKind string

// The kinds of what is noted.
const (
	CallKind        HostCallKind = "call"         // who makes a call
	ChatTopicKind   HostCallKind = "topic"        // what a chat is about
	FolderTopicKind HostCallKind = "folder topic" // what the next chat in a folder is about
	ClearedKind     HostCallKind = "cleared"      // which chat in a folder was cleared
	ForgottenKind   HostCallKind = "forgotten"    // that a chat's context was shortened
	claimKind       HostCallKind = "claim"        // see [Lists.Claim]
	probeKind       HostCallKind = "probe"        // see [Lists.TryWrite]
)

const (
	// HostCallAge is how long a store keeps a [HostCall].
	HostCallAge = time.Hour
	// MaxHostCalls is how many of a kind a store keeps of one subject of a principal: the
	// newest. Each takes at most some 6 kB.
	MaxHostCalls = 1000
)

// hostCallKey returns the key of what is noted in these lists.
func (l Lists) hostCallKey(kind HostCallKind, id string) HostCallKey {
	return HostCallKey{l.principal, l.subject, kind, boundedKey(id)}
}

// NoteHostCall stores what a host's hook said: of the key, its kind and id count.
func (l Lists) NoteHostCall(ctx context.Context, c HostCall) error {
	c.HostCallKey = l.hostCallKey(c.Kind, c.ID)
	return l.update(ctx, string(c.Kind)+":"+c.ID, func(tx Tx) error {
		return tx.NoteHostCall(ctx, c, l.board.now())
	})
}

// TryWrite finds out whether the store can be written, by a write that no list shows. It
// is one row of the store, which each try replaces.
func (l Lists) TryWrite(ctx context.Context) error {
	return l.NoteHostCall(ctx, HostCall{HostCallKey: HostCallKey{Kind: probeKind}})
}

// HostCall returns what a host's hook said; the zero HostCall when it said nothing.
func (l Lists) HostCall(ctx context.Context, kind HostCallKind, id string) (HostCall, error) {
	return l.board.store.HostCall(ctx, l.hostCallKey(kind, id))
}

// Claim has one process do what all processes on the store would do, as telling a person of
// something about a list. It returns zero when the caller is to do it, and else when it was
// claimed, if that was within a time, of at most [HostCallAge]. Who claims it and ends has
// it undone.
func (l Lists) Claim(ctx context.Context, list todo.List, what string, within time.Duration) (earlier time.Time, err error) {
	call := HostCall{HostCallKey: l.hostCallKey(claimKind, list.ID+" "+what)}
	if l.all {
		call.Principal = list.Principal
	}
	err = l.update(ctx, call.ID, func(tx Tx) error {
		noted, err := tx.HostCall(ctx, call.HostCallKey)
		if err != nil {
			return err
		}
		now := l.board.now()
		if earlier, err = time.Parse(time.RFC3339Nano, noted.Session); err == nil && now.Sub(earlier) < within {
			return nil
		}
		earlier, call.Session = time.Time{}, now.UTC().Format(time.RFC3339Nano)
		return tx.NoteHostCall(ctx, call, now)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("claim: %w", err)
	}
	return earlier, nil
}
