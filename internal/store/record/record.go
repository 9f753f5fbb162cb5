// Package record encodes and decodes snapshots as JSON. Every backend on disk
// stores this format, so that lists can move between backends without loss.
//
// The body of a revision holds its items, or says how they differ from base items
// that several revisions of a list share ([Items]): so what a small change of a
// large list adds to a store follows the change and not the list.
//
// Decoding returns what was encoded, except [todo.Snapshot.Seq], which belongs
// to one store and is not part of the format. Later versions must be able to
// decode what earlier ones stored: fields are added, never renamed.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"todo-mcp/internal/todo"
)

// body is a snapshot without its list, which is the same in every revision. It
// has either Items or Parts.
type body struct {
	Revision   int64          `json:"revision"`
	Items      []todo.Item    `json:"items,omitzero"`
	Parts      []part         `json:"parts,omitzero"`
	LastID     int            `json:"last_id"`
	Updated    time.Time      `json:"updated"`
	Worked     time.Time      `json:"worked,omitzero"` // Updated, where an agent wrote
	Title      string         `json:"title,omitempty"`
	First      string         `json:"first,omitempty"`
	FirstID    string         `json:"first_id,omitempty"`
	Order      todo.Order     `json:"order,omitzero"`
	Archived   bool           `json:"archived,omitempty"`
	ReplacedBy string         `json:"replaced_by,omitempty"`
	Deleted    bool           `json:"deleted,omitempty"`
	Writer     todo.Writer    `json:"writer,omitzero"`
	Operation  todo.Operation `json:"operation,omitzero"`
	Report     todo.Report    `json:"report,omitzero"`
}

func bodyOf(s todo.Snapshot) body {
	b := body{Revision: s.Revision, LastID: s.LastID, Updated: s.Updated, Title: s.GivenTitle, First: s.First, FirstID: s.FirstID,
		Order: s.Order, Archived: s.Archived, ReplacedBy: s.ReplacedBy, Deleted: s.Deleted, Writer: s.Writer, Operation: s.Operation, Report: s.Report}
	if s.Writer.Person || !s.Worked.Equal(s.Updated) {
		b.Worked = s.Worked
	}
	return b
}

// Body encodes everything of a snapshot except its List and Seq. Nil Items are
// encoded as an empty array.
func Body(s todo.Snapshot) ([]byte, error) {
	b := bodyOf(s)
	if b.Items = s.Items; b.Items == nil {
		b.Items = []todo.Item{}
	}
	return encode(b, "revision")
}

// Difference encodes the same as [Body], with the items as they differ from base.
// Only [Snapshot] with the same base can decode it.
func Difference(s todo.Snapshot, base []todo.Item) ([]byte, error) {
	b := bodyOf(s)
	b.Parts = difference(s.Items, base)
	return encode(b, "revision")
}

// Items encodes base items.
func Items(items []todo.Item) ([]byte, error) { return encode(items, "items") }

// BaseItems decodes what [Items] returned. An error wraps [todo.ErrCorrupt].
func BaseItems(data []byte) (items []todo.Item, err error) {
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, fmt.Errorf("base items: %w: %w", todo.ErrCorrupt, err)
	}
	return items, nil
}

// List encodes the part of a snapshot that is the same in all revisions of a
// list.
func List(l todo.List) ([]byte, error) { return encode(l, "list") }

func encode(v any, what string) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	return data, nil
}

// Snapshot decodes what [Body] or [Difference] and [List] returned into one
// snapshot and sets its Seq. base is that of the difference, which may be nil for
// a body. An error wraps [todo.ErrCorrupt].
func Snapshot(bodyData, listData []byte, base []todo.Item, seq int64) (todo.Snapshot, error) {
	var b body
	var l todo.List
	err := errors.Join(json.Unmarshal(bodyData, &b), json.Unmarshal(listData, &l))
	if err == nil && b.Parts != nil {
		b.Items, err = assemble(b.Parts, base)
	}
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("record %d: %w: %w", seq, todo.ErrCorrupt, err)
	}
	if !b.Writer.Person && b.Worked.IsZero() { // it is the same, or an earlier version wrote it
		b.Worked = b.Updated
	}
	return todo.Snapshot{List: l, Revision: b.Revision, Items: b.Items, LastID: b.LastID,
		Updated: b.Updated, Worked: b.Worked, GivenTitle: b.Title, First: b.First, FirstID: b.FirstID, Order: b.Order,
		Archived: b.Archived, ReplacedBy: b.ReplacedBy, Deleted: b.Deleted, Writer: b.Writer, Operation: b.Operation, Report: b.Report, Seq: seq}, nil
}

// part is one or more items of a list: N items of the base from index From on; or
// an Item, which if Like is set has the text of the base's item at index Like-1,
// and its active text if that is empty.
type part struct {
	From int        `json:"from,omitempty"`
	N    int        `json:"n,omitempty"`
	Like int        `json:"like,omitempty"`
	Item *todo.Item `json:"item,omitempty"`
}

// difference returns items as parts.
func difference(items, base []todo.Item) []part {
	index := make(map[string]int, len(base)) // by id
	for i, item := range base {
		index[item.ID] = i
	}
	parts := make([]part, 0, 8)
	for _, item := range items {
		i, known := index[item.ID]
		if !known {
			parts = append(parts, part{Item: &item})
			continue
		}
		if old := base[i]; !equal(item, old) {
			parts = append(parts, changed(item, old, i))
			continue
		}
		if last := len(parts) - 1; last >= 0 && parts[last].N > 0 && parts[last].From+parts[last].N == i {
			parts[last].N++
		} else {
			parts = append(parts, part{From: i, N: 1})
		}
	}
	return parts
}

// changed returns the part of an item that differs from old, the base's item at
// index i.
func changed(item, old todo.Item, i int) part {
	if item.Text != old.Text || item.Active == "" && old.Active != "" {
		return part{Item: &item}
	}
	item.Text = ""
	if item.Active == old.Active {
		item.Active = ""
	}
	return part{Like: i + 1, Item: &item}
}

func equal(a, b todo.Item) bool {
	sameTimes := a.Created.Equal(b.Created) && a.Started.Equal(b.Started) && a.Ended.Equal(b.Ended)
	a.Created, a.Started, a.Ended = b.Created, b.Started, b.Ended
	return sameTimes && a == b
}

// assemble is the inverse of difference.
func assemble(parts []part, base []todo.Item) ([]todo.Item, error) {
	items := make([]todo.Item, 0, len(base))
	for n, p := range parts {
		switch {
		case p.Item == nil && p.N > 0 && p.From >= 0 && p.From <= len(base)-p.N:
			items = append(items, base[p.From:p.From+p.N]...)
		case p.Item != nil && p.Like == 0:
			items = append(items, *p.Item)
		case p.Item != nil && p.Like > 0 && p.Like <= len(base):
			item := *p.Item
			item.Text = base[p.Like-1].Text
			if item.Active == "" {
				item.Active = base[p.Like-1].Active
			}
			items = append(items, item)
		default:
			return nil, fmt.Errorf("part %d does not fit %d base items", n+1, len(base))
		}
	}
	return slices.Clip(items), nil
}
