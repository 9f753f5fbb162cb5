package render

import (
	"cmp"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// ListDocument is a list in core statuses, as JSON for programs: the list resource, `show --format json`, the HTTP API.
type ListDocument struct {
	List         string          `json:"list,omitempty"` // id; omitted while there is no list
	Title        string          `json:"title,omitempty"`
	Name         string          `json:"name,omitempty"`   // the name that the user gave the list
	Parent       string          `json:"parent,omitempty"` // id of the main list, if this is a sub-agent's
	Agent        string          `json:"agent,omitempty"`
	Workspace    string          `json:"workspace,omitempty"`
	Branch       string          `json:"branch,omitempty"` // of the workspace when the list began
	Revision     int64           `json:"revision"`
	Updated      time.Time       `json:"updated,omitzero"`      // RFC 3339, UTC
	Worked       time.Time       `json:"worked,omitzero"`       // agent's last write, if a person wrote this revision
	Client       string          `json:"client,omitempty"`      // the client whose agent works on the list
	Writer       string          `json:"writer,omitempty"`      // the client that wrote this revision, if not Client
	Variant      string          `json:"variant,omitempty"`     // the tool that wrote this revision
	User         string          `json:"user,omitempty"`        // the user who was signed in
	Person       bool            `json:"person,omitempty"`      // a person wrote this revision
	Archived     bool            `json:"archived,omitempty"`    // put away: front ends do not show it by default
	Lapsed       bool            `json:"lapsed,omitempty"`      // archived because nobody changed it for two weeks
	ReplacedBy   string          `json:"replaced_by,omitempty"` // id of the list that replaced this one
	Deleted      bool            `json:"deleted,omitempty"`     // by a person: front ends remove it
	Mirrored     bool            `json:"mirrored,omitempty"`    // it copies a host's own list, see [todo.List]
	Seq          int64           `json:"seq,omitempty"`         // an event stream can resume after this number
	AllCompleted bool            `json:"all_completed"`         // docs/spec/variants.md P5; ignored when read
	Explanation  string          `json:"explanation,omitempty"` // the agent's reason for this revision
	Order        todo.PersonEdit `json:"order,omitzero"`        // a person's edit of the order
	Gone         []todo.Item     `json:"gone,omitempty"`        // items that people removed, or that people added and agents removed
	Items        []ItemDocument  `json:"items"`
	Later        []todo.Item     `json:"later,omitempty"` // items that wait for the end of the agent's turn
}

// ItemDocument is an item of a [ListDocument]. Times are RFC 3339, UTC, and omitted if zero. Only exports say who began
// or holds an item, and whether a person set its status.
type ItemDocument struct {
	todo.Item
	WaitsFor []string `json:"waits_for,omitempty"` // ids of the items to do first, settled ones too
	Has      string   `json:"has,omitempty"`       // the agent that works on it, if several work on the list
}

// Document returns a snapshot as a document without server-only fields. Updated and Worked are cut to whole seconds.
func Document(s todo.Snapshot) ListDocument {
	d := ListDocument{
		List: s.List.ID, Title: s.Title(), Name: s.List.Name, Parent: s.List.Parent, Agent: s.List.Agent, Workspace: s.List.Workspace, Branch: s.List.Branch,
		Revision: s.Revision, Updated: s.Updated.UTC().Truncate(time.Second), Client: account.Client(s), Variant: s.Writer.Variant, User: s.Writer.User, Person: s.Writer.Person,
		Archived: s.Archived, Lapsed: s.Lapsed, ReplacedBy: s.ReplacedBy, Deleted: s.Deleted, Mirrored: s.List.Mirrored, Seq: s.Seq,
		AllCompleted: s.AllCompleted(), Explanation: s.Explanation, Order: s.Order, Items: []ItemDocument{}, Later: s.Later,
	}
	if s.Writer.Client != d.Client {
		d.Writer = s.Writer.Client
	}
	if s.Writer.Person {
		d.Worked = s.Worked.UTC().Truncate(time.Second)
	}
	for _, i := range s.Items {
		d.Items = append(d.Items, ItemDocument{shown(i), i.Waits(), Has(s, i)})
	}
	for _, i := range s.Gone {
		d.Gone = append(d.Gone, shown(i))
	}
	return d
}

// shown returns an item without the fields that only the server needs.
func shown(i todo.Item) todo.Item {
	i.BegunBy, i.Holder, i.ByPerson, i.Said = "", "", false, false
	return i
}

// Snapshot reverses [Document]. Omitted fields are zero, but Worked is set to Updated, Owner to Has, and Items to [].
func (d ListDocument) Snapshot() todo.Snapshot {
	s := todo.Snapshot{
		List:     todo.List{ID: d.List, Name: d.Name, Parent: d.Parent, Agent: d.Agent, Workspace: d.Workspace, Branch: d.Branch, Mirrored: d.Mirrored, Client: d.Client},
		Revision: d.Revision, Updated: d.Updated, Worked: cmp.Or(d.Worked, d.Updated), Writer: todo.Writer{Client: cmp.Or(d.Writer, d.Client), Variant: d.Variant, User: d.User, Person: d.Person},
		Archived: d.Archived, Lapsed: d.Lapsed, ReplacedBy: d.ReplacedBy, Deleted: d.Deleted, Seq: d.Seq, Explanation: d.Explanation, Order: d.Order, Gone: d.Gone, Later: d.Later, Items: []todo.Item{},
	}
	for _, i := range d.Items {
		i.Item.WaitsFor, i.Item.Owner = strings.Join(i.WaitsFor, ","), cmp.Or(i.Owner, i.Has)
		s.Items = append(s.Items, i.Item)
	}
	if s.Title() != d.Title {
		s.GivenTitle = d.Title
	}
	if s.IsChat() {
		s.Stood = d.Seq
	}
	return s
}
