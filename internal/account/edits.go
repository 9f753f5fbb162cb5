package account

import (
	"cmp"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Fate is what became of a person's change; empty without a change, or without an agent that could see it.
type Fate string

// What becomes of a person's change.
const (
	Waits      Fate = "waits to be seen" // no agent has been told yet
	Seen       Fate = "seen"             // agents know it, and it stands
	Overridden Fate = "overridden"       // an agent insisted on what the person had replaced
)

// Edits is what became of all that people changed in a list, a part of the answer of /api/states.
type Edits struct {
	Unseen []string `json:"unseen,omitempty"` // items, by id, with people's changes that wait to be seen
	// Seen has the ids of the items with a person's text that agents have seen. Overridden has, by item
	// id, the person's text that an agent replaced, or [Deleted].
	Seen       []string          `json:"seen,omitempty"`
	Overridden map[string]string `json:"overridden,omitempty"`
	Order      Fate              `json:"order,omitempty"` // of the person's order of the items
	Title      Fate              `json:"title,omitempty"` // [Waits] while no agent has seen the list's title; or empty
	Saw        int64             `json:"saw,omitempty"`   // the revision that agents last saw; 0 for none
	Lost       []int64           `json:"lost,omitempty"`  // revisions of people whose text or order is overridden
}

// EditsOf returns the edits of a list; saw is what [board.Lists.Saw] returns.
func EditsOf(saw, list todo.Snapshot) Edits {
	e := Edits{Saw: saw.Revision, Overridden: make(map[string]string)}
	for _, d := range todo.Diff(saw, list) {
		e.Unseen = append(e.Unseen, cmp.Or(d.After.ID, d.Before.ID))
	}
	if list.Writer.Person && list.Worked.IsZero() && saw.Revision == list.Revision {
		e.Saw = 0
	}
	find := todo.Near(saw.Items)
	for n, i := range list.Items {
		before, _ := find(n, i.ID)
		switch {
		case i.Overridden():
			if e.Overridden[i.ID] = i.PersonEdit.Text; i.Deleted {
				e.Overridden[i.ID] = Deleted
			}
			e.Lost = append(e.Lost, i.PersonEdit.Revision)
		case i.PersonEdit.Text != "" && before.PersonEdit.Text == i.PersonEdit.Text && e.Saw > 0 && !slices.Contains(e.Unseen, i.ID):
			e.Seen = append(e.Seen, i.ID)
		}
	}
	for _, i := range list.LeftOut() {
		e.Lost = append(e.Lost, i.PersonEdit.Revision)
	}
	if saw.GivenTitle != list.GivenTitle {
		e.Title = Waits
	}
	switch order := list.Order; {
	case order.Text == "":
	case list.OrderOverridden():
		e.Order = Overridden
		e.Lost = append(e.Lost, order.Revision)
	case !todo.InSameOrder(saw.Items, list.Items):
		e.Order = Waits
	case e.Saw > 0:
		e.Order = Seen
	}
	return e
}

// Deleted stands in [Edits.Overridden] for an item that a person deleted and an agent put back.
const Deleted = "deleted"

// Of returns what became of people's changes of an item.
func (e Edits) Of(id string) Fate {
	switch _, overridden := e.Overridden[id]; {
	case overridden:
		return Overridden
	case slices.Contains(e.Unseen, id):
		return Waits
	case slices.Contains(e.Seen, id):
		return Seen
	}
	return ""
}

// OfRevision returns what became of a person's revision of which agents are told, see [Told].
func (e Edits) OfRevision(revision int64) Fate {
	switch {
	case slices.Contains(e.Lost, revision):
		return Overridden
	case e.Saw == 0:
		return ""
	case revision > e.Saw:
		return Waits
	}
	return Seen
}

// Told reports whether agents are told of a revision: a person made it and changed items, their order or the title.
func Told(before, revision todo.Snapshot) bool {
	return revision.Writer.Person && (before.GivenTitle != revision.GivenTitle || len(todo.Diff(before, revision)) > 0)
}

// ListState is how a list stands, an element of the answer of /api/states.
type ListState struct {
	List string `json:"list"`
	todo.Standing
	Group  todo.State `json:"group,omitempty"`  // of a main list with its sub-agents', if it differs
	Client string     `json:"client,omitempty"` // whose agent works on the list
	Edits             // what became of people's changes
}

// ListStates returns how the lists of groups stand, but none of [Group.Away]. saw is [board.Lists.Saw].
func ListStates(groups []Group, saw func(todo.Snapshot) (todo.Snapshot, error)) ([]ListState, error) {
	out := make([]ListState, 0, len(groups))
	for _, f := range groups {
		for n, l := range f.Lists() {
			seen, err := saw(l)
			if err != nil {
				return nil, err
			}
			s := ListState{List: l.List.ID, Standing: f.States[l.List.ID], Client: Client(l), Edits: EditsOf(seen, l)}
			if group := f.State(); n == 0 && group != s.State {
				s.Group = group
			}
			out = append(out, s)
		}
	}
	return out, nil
}
