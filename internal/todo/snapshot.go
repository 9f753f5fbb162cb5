package todo

import (
	"slices"
	"time"
)

// List is what all snapshots of a list have in common. It does not change after
// the list's first revision, except Parent.
type List struct {
	ID string `json:"id"` // random, 128 bits or more, lower-case letters and digits
	// Principal is the authenticated user or client whose list it is; empty is
	// the server itself.
	Principal string `json:"principal,omitempty"`
	// Conversation is the key of the conversation that began the list; empty when
	// it began otherwise, as by an import. Which chats hold the list is
	// said by what they have seen.
	Conversation string `json:"conversation,omitempty"`
	Client       string `json:"client,omitempty"` // the client that began the list, as it names itself
	Name         string `json:"name,omitempty"`   // the name that the user gave the list; empty for none
	// ParentConversation is the key of the main agent's conversation when this
	// list is a sub-agent's.
	ParentConversation string `json:"parent_conversation,omitempty"`
	// Parent is the id of the main list when this one is a sub-agent's. With a
	// ParentConversation the store sets it to the list that this conversation
	// holds at the time of the read; empty while it holds none.
	Parent string `json:"parent,omitempty"`
	// Agent names the sub-agent; empty for a main list.
	Agent string `json:"agent,omitempty"`
	// Workspace is the path of the folder the writer worked in, which helps
	// people to distinguish lists; empty when unknown.
	Workspace string `json:"workspace,omitempty"`
	Branch    string `json:"branch,omitempty"` // the [Chat.Branch] as the list began
	// Mirrored is true when the list is a copy of one that the agent keeps in a todo
	// tool of its host's own. Only a write that would begin such a list changes its
	// items, see [ErrMirrored].
	Mirrored bool `json:"mirrored,omitempty"`
	// Previous is the id of the list that the conversation held before it began this
	// one; empty when it held none, or when it is not certain that it is the same chat.
	Previous string `json:"previous,omitempty"`
	Chat     string `json:"chat,omitempty"` // the host's own id of the chat that began the list, as far as known
	// Topic is what the list is about, in one line of at most [MaxTitle] runes: what the chat
	// was about as it began, else the item that was its first one then and how many more there
	// were; empty for one that began without items.
	Topic   string    `json:"topic,omitempty"`
	Created time.Time `json:"created"`
}

// Writer is who made a revision.
type Writer struct {
	Client  string `json:"client,omitempty"`  // as the MCP client names itself
	Variant string `json:"variant,omitempty"` // the tool's name
	Agent   string `json:"agent,omitempty"`   // the sub-agent, if one
	User    string `json:"user,omitempty"`    // who was signed in as the client; empty without sign-in
	// Person is true when a person wrote, so that the list's agent has not seen
	// the revision.
	Person bool `json:"person,omitempty"`
	// Process is the id of the process that wrote. By it a
	// process recognises its own writes in a shared store.
	Process string `json:"process,omitempty"`
}

// Operation identifies a write, so that repeating it is harmless: a store that
// already has ID returns the snapshot it stored then if Digest is equal, else an
// error. The zero Operation is never compared.
type Operation struct {
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Snapshot is a complete list at one revision. It is immutable: nobody may
// change it. Its JSON is what stores keep of a revision.
type Snapshot struct {
	List List `json:"list,omitzero"`
	// Revision counts 1, 2, 3 … without gaps. 0 is a list that is not saved
	// yet.
	Revision int64  `json:"revision"`
	Items    []Item `json:"items"`
	// Rest counts the items that an excerpt leaves out, see [Snapshot.Excerpt]; nil where
	// Items has all of them.
	Rest    Counts    `json:"rest,omitempty"`
	LastID  int       `json:"last_id"` // the highest item id, as a number, ever used in the list
	Updated time.Time `json:"updated"`
	// Worked is when an agent, not a person, last wrote; zero when none did, or when
	// it is not known.
	Worked time.Time `json:"worked,omitzero"`
	// Workers are the agents that work on the list together, in the order in which they came;
	// empty while it was one alone.
	Workers []Worker `json:"workers,omitempty"`
	// GivenTitle is the title that a person, a host or an agent gave the list;
	// empty for none. See [Snapshot.Title].
	GivenTitle string `json:"title,omitempty"`
	// Explanation is what the agent that made the revision said of it, in one line of at
	// most [MaxText] runes; empty when it said nothing.
	Explanation string     `json:"explanation,omitempty"`
	Order       PersonEdit `json:"order,omitzero"` // what a person made of the order of the items
	// Gone are items that people took from the list, and that agents took which people had
	// added, the last [MaxGone] of them: Deleted or Added.
	Gone []Item `json:"gone,omitempty"`
	// Later are items that a person added for the end of the agent's turn: until then no agent
	// is shown or told of them, and none can change them. Their ids are no numbers.
	Later []Item `json:"later,omitempty"`
	// Archived is true when the list was put away, so that front ends do not show
	// it by default. A later change of its items brings it back.
	Archived bool `json:"archived,omitempty"`
	// Lapsed is true when Archived is so because the list was left open and nobody changed it for
	// [LapseAfter]. It is never stored.
	Lapsed bool `json:"-"`
	// ReplacedBy is the id of the list that its conversation began instead, which put
	// this one away; empty otherwise.
	ReplacedBy string `json:"replaced_by,omitempty"`
	// Deleted is true when a person deleted the list: then no conversation holds
	// it, nothing finds it, and after a day the store forgets it.
	Deleted bool   `json:"deleted,omitempty"`
	Writer  Writer `json:"writer,omitzero"`
	// Other is the newest revision before this one whose writer was a person if this
	// one's is none, and was none if this one's is a person; 0 when there is none.
	Other     int64     `json:"other,omitempty"`
	Operation Operation `json:"operation,omitzero"` // the write that made this revision
	// Report is what the answer to that write said beyond the list, kept for
	// the answer to a repeat; zero when the caller cannot repeat the write.
	Report Report `json:"report,omitzero"`
	// Seq orders all snapshots of one store by commit: a later save has a
	// larger Seq, whatever its list. Set by the store; not dense.
	Seq int64 `json:"-"`
	// Stood is set in a snapshot that its followers are sent again because its agent does
	// something else: the Seq of that agent's chat. Else it is zero.
	Stood int64 `json:"-"`
}

// Leaves reports whether a snapshot takes its list away, which is possible in a full store,
// too: that is how room is made.
func (s Snapshot) Leaves(before Snapshot) bool {
	return s.Deleted || s.Archived && !before.Archived
}

// Follows reports whether a snapshot may be saved when before is the newest one of its
// list: as the next revision, or as the first one that is known.
func (s Snapshot) Follows(before Snapshot) bool {
	return s.Revision == before.Revision+1 || before.Revision == 0 && s.Revision > 0
}

// IsNewer reports whether a snapshot stands for a list as it was later than another one: at a
// later revision, or, as who follows a list is sent it, as its agent does something else.
func (s Snapshot) IsNewer(than Snapshot) bool {
	return s.Revision > than.Revision || s.Revision == than.Revision && s.Stood > than.Stood
}

// Written returns the newest revision up to this one that no person wrote; 0 when there
// is none.
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

// Near returns a function that finds items by their ids, for who looks for one after the
// other. It looks first at the index n, where the item probably is.
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
