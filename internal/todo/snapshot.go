package todo

import (
	"slices"
	"time"
)

// List has the fields that all snapshots of a list share. Only Parent changes after the first revision.
type List struct {
	ID           string `json:"id"`                     // random, 128 bits or more, lower-case letters and digits
	Principal    string `json:"principal,omitempty"`    // whose list it is; empty for the server itself
	Conversation string `json:"conversation,omitempty"` // the id of the chat that began it; or empty
	Client       string `json:"client,omitempty"`       // the client that began it, as it names itself
	Name         string `json:"name,omitempty"`         // the name that the user gave it; empty for none
	// ParentConversation is the id of the main agent's chat if this is a sub-agent's list.
	ParentConversation string `json:"parent_conversation,omitempty"`
	// Parent is the id of the main list if this is a sub-agent's. If there is a ParentConversation, stores set Parent
	// at each read to the current list of that conversation; empty for none.
	Parent    string `json:"parent,omitempty"`
	Agent     string `json:"agent,omitempty"`     // the sub-agent's name; empty for a main list
	Workspace string `json:"workspace,omitempty"` // the path of the folder the writer worked in; empty if unknown
	Branch    string `json:"branch,omitempty"`    // the [Chat.Branch] when the list began
	// Mirrored is true for a copy of a list that the agent keeps in its host's own todo tool. Only a write that may
	// begin such a list changes its items, see [ErrMirrored].
	Mirrored bool `json:"mirrored,omitempty"`
	// Previous is the id of the conversation's previous list; empty for none, or if another chat may have held it.
	Previous string `json:"previous,omitempty"`
	Chat     string `json:"chat,omitempty"` // the host's own id of the chat that began the list; empty if not known
	// Topic is what the list is about, in one line of at most [MaxTitle] runes, see [List.Begins].
	Topic   string    `json:"topic,omitempty"`
	Created time.Time `json:"created"`
}

// Writer is who made a revision.
type Writer struct {
	Client  string `json:"client,omitempty"`  // as the MCP client names itself
	Variant string `json:"variant,omitempty"` // the tool's name
	Agent   string `json:"agent,omitempty"`   // the sub-agent's name; empty for a main agent
	User    string `json:"user,omitempty"`    // the user who was signed in; empty without sign-in
	Person  bool   `json:"person,omitempty"`  // a person wrote, so the list's agent has not seen the revision
	Process string `json:"process,omitempty"` // the id of the process that wrote
}

// Operation identifies a write, so that repeating it is harmless. If a snapshot with the operation's ID is stored, that
// snapshot is the result of the repeat; a repeat with another Digest is refused.
type Operation struct {
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Snapshot is a complete list at one revision. It is immutable. Stores keep its JSON.
type Snapshot struct {
	List     List   `json:"list,omitzero"`
	Revision int64  `json:"revision"` // 1, 2, 3 … without gaps; 0 is a list that is not saved yet
	Items    []Item `json:"items"`
	// Rest counts the items that [Snapshot.Excerpt] leaves out; nil for none.
	Rest    Counts    `json:"rest,omitempty"`
	LastID  int       `json:"last_id"` // the highest item id, as a number, ever used in the list
	Updated time.Time `json:"updated"`
	Worked  time.Time `json:"worked,omitzero"` // when an agent last wrote; zero for never, or not known
	// Workers are the agents that work on the list, in the order in which they came; empty if there is only one.
	Workers    []Worker `json:"workers,omitempty"`
	GivenTitle string   `json:"title,omitempty"` // the title that a person, host or agent gave; empty for none
	// Explanation is the agent's reason for its revision, in one line of at most [MaxText] runes; or empty.
	Explanation string     `json:"explanation,omitempty"`
	Order       PersonEdit `json:"order,omitzero"` // a person's edit of the order of the items
	// Gone are the last [maxGone] items that a person deleted, or that a person added and an agent removed.
	Gone []Item `json:"gone,omitempty"`
	// Later are items that a person added for the end of the agent's turn. Until then no agent sees or changes them.
	// Their ids are not numbers.
	Later []Item `json:"later,omitempty"`
	// Archived is true if front ends do not show the list by default. A change of items makes it false.
	Archived bool `json:"archived,omitempty"`
	// Lapsed is true if Archived is by age alone: nobody changed the open list for [LapseAfter]. It is never stored.
	Lapsed     bool   `json:"-"`
	ReplacedBy string `json:"replaced_by,omitempty"` // the id of the list that replaced this one; or empty
	// Deleted is true after a person deleted the list. Most queries leave it out, and after a day the store removes it.
	Deleted bool   `json:"deleted,omitempty"`
	Writer  Writer `json:"writer,omitzero"`
	// Other is the newest earlier revision by the other kind of writer; the two kinds are people, and all other
	// writers. It is 0 for none.
	Other     int64     `json:"other,omitempty"`
	Operation Operation `json:"operation,omitzero"` // the write that made this revision
	// Report is the report of that write, for the answer to a repeat; zero if it cannot be repeated.
	Report Report `json:"report,omitzero"`
	// Seq orders all snapshots and chats of a store by commit; set by the store, not dense.
	Seq int64 `json:"-"`
	// Stood is the Seq of the list's chat, if watchers get the snapshot because the chat changed; else 0.
	Stood int64 `json:"-"`
	// Call is the id of a call that changed nothing, if followers get the snapshot only because that call was made;
	// else empty.
	Call string `json:"-"`
}

// Leaves reports whether a snapshot deletes or archives its list. A full store accepts such a snapshot, to gain room.
func (s Snapshot) Leaves(before Snapshot) bool { return s.Deleted || s.Archived && !before.Archived }

// Follows reports whether s may be saved after a revision: as the next one or, after revision 0, as any later one.
func (s Snapshot) Follows(before Snapshot) bool {
	return s.Revision == before.Revision+1 || before.Revision == 0 && s.Revision > 0
}

// IsNewer reports whether s has a later revision of its list, or the same revision and a later state of its chat.
func (s Snapshot) IsNewer(than Snapshot) bool {
	return s.Revision > than.Revision || s.Revision == than.Revision && s.Stood > than.Stood
}

// Written returns the newest revision up to this one that no person wrote; 0 when there is none.
func (s Snapshot) Written() int64 {
	if s.Writer.Person {
		return s.Other
	}
	return s.Revision
}

// Item returns the item with an id.
func (s Snapshot) Item(id string) (Item, bool) {
	if i := indexOf(s.Items, id); i >= 0 {
		return s.Items[i], true
	}
	return Item{}, false
}

// Near returns a function that finds an item by its id; it first looks at index n.
func Near(items []Item) func(n int, id string) (Item, bool) {
	var places map[string]int
	return func(n int, id string) (Item, bool) {
		if n < len(items) && items[n].ID == id {
			return items[n], true
		}
		if places == nil {
			places = placesOf(items)
		}
		at, ok := places[id]
		if !ok {
			return Item{}, false
		}
		return items[at], true
	}
}

func indexOf(items []Item, id string) int {
	return slices.IndexFunc(items, func(i Item) bool { return i.ID == id })
}
