package account

import (
	"cmp"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Fate is what became of a change that a person made to a list. The zero value says
// nothing: nobody changed anything, or the list has no agent who could see it.
type Fate string

// What becomes of a person's change.
const (
	Waits      Fate = "waits to be seen" // no agent has been told yet
	Seen       Fate = "seen"             // agents know it, and it stands
	Overridden Fate = "overridden"       // an agent insisted on what the person had replaced
)

// Hand is what became of what people changed in a list, as it stands now. As JSON it
// is a part of the answer of /api/states.
type Hand struct {
	// Unseen are the ids of the items that people changed, added, moved or removed, and
	// that wait to be seen.
	Unseen []string `json:"unseen,omitempty"`
	// Seen are the ids of the items whose text is a person's that agents have seen, and
	// Overridden has the person's text of those that an agent overrode, by id.
	Seen       []string          `json:"seen,omitempty"`
	Overridden map[string]string `json:"overridden,omitempty"`
	// Order and Title are what became of the person's order of the items, and of the
	// title that a person gave the list; of a title no more is known than that it waits.
	Order Fate `json:"order,omitempty"`
	Title Fate `json:"title,omitempty"`
	// Saw is the revision that agents last saw; 0 when none is known to have seen any.
	Saw int64 `json:"saw,omitempty"`
	// Lost are the revisions of people whose text or order is overridden.
	Lost []int64 `json:"lost,omitempty"`
}

// HandOf returns what became of what people changed in a list. saw is the revision
// that its agents last saw, see [board.Lists.Saw].
func HandOf(saw, list todo.Snapshot) Hand {
	h := Hand{Saw: saw.Revision}
	for _, d := range todo.Diff(saw, list) {
		h.Unseen = append(h.Unseen, cmp.Or(d.After.ID, d.Before.ID))
	}
	if list.Writer.Person && list.Worked.IsZero() && saw.Revision == list.Revision {
		h.Saw = 0
	}
	find := todo.Near(saw.Items)
	for n, i := range list.Items {
		before, _ := find(n, i.ID)
		switch {
		case i.Overridden():
			if h.Overridden == nil {
				h.Overridden = make(map[string]string)
			}
			if h.Overridden[i.ID] = i.Hand.Text; i.Deleted {
				h.Overridden[i.ID] = Deleted
			}
			h.Lost = append(h.Lost, i.Hand.Revision)
		case i.Hand.Text != "" && before.Hand.Text == i.Hand.Text && h.Saw > 0 && !slices.Contains(h.Unseen, i.ID):
			h.Seen = append(h.Seen, i.ID)
		}
	}
	for _, i := range list.LeftOut() {
		h.Lost = append(h.Lost, i.Hand.Revision)
	}
	if saw.GivenTitle != list.GivenTitle {
		h.Title = Waits
	}
	switch order := list.Order; {
	case order.Text == "":
	case list.OrderOverridden():
		h.Order = Overridden
		h.Lost = append(h.Lost, order.Revision)
	case !todo.InSameOrder(saw.Items, list.Items):
		h.Order = Waits
	case h.Saw > 0:
		h.Order = Seen
	}
	return h
}

// Deleted stands for a person's text of an item that the person deleted.
const Deleted = "deleted"

// Of returns what became of what people did to an item: that its text is overridden,
// that something waits, or that its text was seen.
func (h Hand) Of(id string) Fate {
	_, overridden := h.Overridden[id]
	switch {
	case overridden:
		return Overridden
	case slices.Contains(h.Unseen, id):
		return Waits
	case slices.Contains(h.Seen, id):
		return Seen
	}
	return ""
}

// OfRevision returns what became of a revision that a person made and that [Told] says
// agents are told of. It is overridden as long as a text or the order that it made is.
func (h Hand) OfRevision(revision int64) Fate {
	switch {
	case slices.Contains(h.Lost, revision):
		return Overridden
	case h.Saw == 0:
		return ""
	case revision > h.Saw:
		return Waits
	}
	return Seen
}

// Told reports whether agents are told of what a person's revision changed. before is
// the revision before it.
func Told(before, revision todo.Snapshot) bool {
	return revision.Writer.Person && (before.GivenTitle != revision.GivenTitle || len(todo.Diff(before, revision)) > 0)
}

// Overrode returns what of a person's an agent overrode with a revision: items, with
// the person's text in Hand, and whether it did so with the order.
func Overrode(before, revision todo.Snapshot) (items []todo.Item, order bool) {
	for _, i := range revision.Items {
		if !i.Overridden() {
			continue
		}
		if was, ok := before.Item(i.ID); ok && !was.Overridden() {
			items = append(items, i)
		}
	}
	for _, i := range revision.LeftOut() {
		if _, was := before.Item(i.ID); was {
			items = append(items, i)
		}
	}
	// A store may keep what a person made of the order with the newest revision alone.
	before.Order = revision.Order
	return items, revision.OrderOverridden() && len(before.Items) > 0 && !before.OrderOverridden()
}

// Repeated reports whether an agent sent again with a revision what a person had
// replaced, after it was told.
func Repeated(before, revision todo.Snapshot) bool {
	if revision.Order.Repeats > before.Order.Repeats {
		return true
	}
	find := todo.Near(append(slices.Clone(before.Items), before.Gone...))
	return slices.ContainsFunc(append(slices.Clone(revision.Items), revision.Gone...), func(i todo.Item) bool {
		was, _ := find(0, i.ID)
		return i.Hand.Repeats > was.Hand.Repeats
	})
}
