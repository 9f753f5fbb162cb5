package todo

import (
	"slices"
	"time"
)

// Scope says whose lists are meant: a principal and a conversation.
type Scope struct {
	// Principal is who is authenticated; empty is the server's own.
	Principal string `json:"principal,omitempty"`
	// Conversation names what the writer is part of, with its kind in front
	// ("name:release", "session:…", "dir:…"). Never empty.
	Conversation string `json:"conversation"`
	// Exclusive scopes carry one conversation and so hold one list; others may
	// carry several, each with a list of its own.
	Exclusive bool `json:"exclusive,omitempty"`
}

// Key identifies the scope in a store. Two scopes with the same principal and
// conversation are the same scope.
func (s Scope) Key() string { return s.Principal + "\x1f" + s.Conversation }

// List is what snapshots are of. It is fixed when the list begins.
type List struct {
	// ID is random, 128 bits or more, lower-case letters and digits.
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	// Name is what the user called the list; empty when nobody did.
	Name string `json:"name,omitempty"`
	// Parent is the id of the main list when this one is a sub-agent's.
	Parent string `json:"parent,omitempty"`
	// Agent names the sub-agent; empty for a main list.
	Agent string `json:"agent,omitempty"`
	// Workspace is the folder the writer worked in, for people to tell lists
	// apart; empty when unknown.
	Workspace string `json:"workspace,omitempty"`
	// First is the text of the first item that was open when the list began: its
	// title until somebody names it.
	First   string    `json:"first,omitempty"`
	Created time.Time `json:"created"`
}

// Writer says who made a revision.
type Writer struct {
	Client  string `json:"client,omitempty"`  // as the MCP client names itself
	Variant string `json:"variant,omitempty"` // the tool's name
	Agent   string `json:"agent,omitempty"`   // the sub-agent, if one
	// Person says that a person wrote, whom the list's agent cannot have seen.
	Person bool `json:"person,omitempty"`
	// Process is the process that wrote, see [Board.Process]: it tells its own
	// writes from those of others on the same store.
	Process string `json:"process,omitempty"`
}

// Operation makes a repeated write harmless: a store that has seen ID answers
// with what it stored then, if Digest is equal, and with [ErrOperationReused]
// if it is not. The zero Operation is never compared.
type Operation struct {
	ID     string `json:"id,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// repeatable reports whether the caller may send the operation again.
func (o Operation) repeatable() bool { return o.Digest != "" }

// Snapshot is the whole of a list at one revision. It is immutable: whoever
// holds one may read it for ever and must not change its items.
type Snapshot struct {
	List List `json:"list"`
	// Revision counts 1, 2, 3 … without gaps. 0 is a list nobody wrote yet.
	Revision int64  `json:"revision"`
	Items    []Item `json:"items"`
	// LastID is the highest item number ever given in the list.
	LastID  int       `json:"last_id"`
	Updated time.Time `json:"updated"`
	Writer  Writer    `json:"writer,omitzero"`
	// Operation is the write that made this revision.
	Operation Operation `json:"operation,omitzero"`
	// Report is what the answer to that write said beyond the list, so that a
	// repeat gets the same; zero when the caller cannot repeat it.
	Report Report `json:"report,omitzero"`
	// Seq orders all snapshots of one store by commit: a later save has a
	// larger Seq, whatever its list. Set by the store; not dense.
	Seq int64 `json:"-"`
}

// Item returns the item with an id.
func (s Snapshot) Item(id string) (Item, bool) {
	if i := s.index(id); i >= 0 {
		return s.Items[i], true
	}
	return Item{}, false
}

func (s Snapshot) index(id string) int {
	return slices.IndexFunc(s.Items, func(i Item) bool { return i.ID == id })
}

// sameItems reports whether two item lists say the same, times aside.
func sameItems(a, b []Item) bool {
	return slices.EqualFunc(a, b, Item.same)
}
