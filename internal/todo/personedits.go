package todo

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// This file has what a person did to a list, which its agents are told and do not
// undo by habit (docs/spec/variants.md, "A person's edits").

// MaxRepeats is how often an agent that was told of a person's wording, or order, is
// told again when it sends what the person replaced. After that its wish counts.
const MaxRepeats = 3

// PersonEdit is what a person made of an item's text, or of the order of a list's items, which is
// written as their ids with commas. The zero value is nothing.
type PersonEdit struct {
	// Text is the person's wording, or order. If the item, or list, has another one, an
	// agent has overridden it.
	Text     string `json:"text,omitempty"`
	Replaced string `json:"replaced,omitempty"` // the wordings, or orders, that people replaced, one a line
	Repeats  int    `json:"repeats,omitempty"`  // how often an agent sent one of these nevertheless
	Revision int64  `json:"revision,omitempty"` // the one of the person's last change
}

const (
	// maxGone is how many items that are gone a list remembers.
	maxGone = 8
	// MaxReplaced is how many replaced wordings an item remembers, and a list orders.
	MaxReplaced = 8
)

// wordings returns what people replaced, the last one first.
func (e PersonEdit) wordings() []string {
	if e.Replaced == "" {
		return nil
	}
	return strings.Split(e.Replaced, "\n")
}

// has reports whether a text is one that people replaced.
func (e PersonEdit) has(text string) bool {
	folded := Fold(text)
	return slices.ContainsFunc(e.wordings(), func(w string) bool { return Fold(w) == folded })
}

// replacing returns the edit after a person put a text in the place of others, as part of
// a revision. It remembers [MaxReplaced] of what was replaced: the last ones, and the first,
// which an agent wrote.
func (e PersonEdit) replacing(to string, revision int64, others ...string) PersonEdit {
	var replaced []string
	for _, w := range append(others, e.wordings()...) {
		if w != "" && w != to && !slices.Contains(replaced, w) {
			replaced = append(replaced, w)
		}
	}
	if n := len(replaced); n > MaxReplaced {
		replaced = append(replaced[:MaxReplaced-1], replaced[n-1])
	}
	return PersonEdit{Text: to, Replaced: strings.Join(replaced, "\n"), Revision: revision}
}

// stays reports whether what a person made stays, although an agent sent another one. If
// that is none that people replaced, the edit is forgotten.
func (e *PersonEdit) stays(isOverridden, isReplaced bool) bool {
	if !isReplaced && !isOverridden {
		*e = PersonEdit{}
	}
	return isReplaced && !isOverridden && e.Repeats < MaxRepeats
}

// Overridden reports whether an agent has put its own wording in the place of the
// person's, or the item back on the list that the person took from it.
func (i Item) Overridden() bool {
	return i.PersonEdit.Text != "" && i.PersonEdit.Text != i.Text || i.Deleted
}

// LeftOut returns the items that people added and an agent took from the list.
func (s Snapshot) LeftOut() []Item {
	return slices.DeleteFunc(slices.Clone(s.Gone), func(i Item) bool { return !i.Added })
}

// OrderOverridden reports whether an agent has put its own order in the place of the
// person's.
func (s Snapshot) OrderOverridden() bool {
	return s.Order.Text != "" && !InSameOrder(itemsOf(s.Order.Text), s.Items)
}

func idsOf(items []Item) string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	return strings.Join(ids, ",")
}

func itemsOf(ids string) (items []Item) {
	for id := range strings.SplitSeq(ids, ",") {
		items = append(items, Item{ID: id})
	}
	return items
}

// InSameOrder reports whether the items that two lists have in common stand in the
// same order in both.
func InSameOrder(a, b []Item) bool { return len(movedItems(a, b)) == 0 }

// movedItems returns the ids of the items of two lists that have to move for those in both
// to stand in the same order: the fewer of the items that stand before an earlier one, and
// of those that stand behind a later one.
func movedItems(a, b []Item) map[string]bool {
	n := min(len(a), len(b))
	if slices.EqualFunc(a[:n], b[:n], func(x, y Item) bool { return x.ID == y.ID }) {
		return nil // as almost always
	}
	place, last, first := placesOf(a), -1, len(a)
	up, down := make(map[string]bool), make(map[string]bool)
	for _, item := range b {
		if at, common := place[item.ID]; common && at < last {
			up[item.ID] = true
		} else if common {
			last = at
		}
	}
	for _, item := range slices.Backward(b) {
		if at, common := place[item.ID]; common && at > first {
			down[item.ID] = true
		} else if common {
			first = at
		}
	}
	if len(up) < len(down) {
		return up
	}
	return down
}

func placesOf(items []Item) map[string]int {
	place := make(map[string]int, len(items))
	for i, item := range items {
		place[item.ID] = i
	}
	return place
}

// placesOf returns the indexes of items by the ids that callers of the view give them.
func (v View) placesOf(items []Item) map[string]int {
	places := placesOf(items)
	for i, item := range items {
		if v.Keys && item.Key != "" {
			places[item.Key] = i
		}
	}
	return places
}

// inOrderOf returns items in the order of another list; an item that is not on that one
// follows the item that it followed, or stays at the end.
func inOrderOf(other, items []Item) []Item {
	place, rank, last := placesOf(other), make(map[string]int, len(items)), -1
	for _, item := range items {
		if at, common := place[item.ID]; common {
			last = at
		}
		rank[item.ID] = last
	}
	for _, item := range slices.Backward(items) {
		if _, common := place[item.ID]; common {
			break
		}
		rank[item.ID] = len(other)
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b Item) int { return rank[a.ID] - rank[b.ID] })
}

// MaxTold is how many runes of a person's text an agent is told; of a longer one both
// ends.
const MaxTold = 500

// cutMark stands for what [Told] leaves out.
const cutMark = " … "

// Told returns a text as an agent is told it: whole, or with its middle left out. An
// agent that writes the told text means the item that has the whole one.
func Told(text string) string {
	if utf8.RuneCountInString(text) <= MaxTold {
		return text
	}
	runes := []rune(text)
	half := (MaxTold - len([]rune(cutMark))) / 2
	return strings.TrimSpace(string(runes[:half])) + cutMark + strings.TrimSpace(string(runes[len(runes)-half:]))
}

// maxExcerpt is how many runes of a text name an item.
const maxExcerpt = 40

// Excerpt returns the beginning of a text, to name an item by.
func Excerpt(text string) string {
	if utf8.RuneCountInString(text) <= maxExcerpt {
		return text
	}
	return Cut(text, maxExcerpt) + "…"
}

// shortened returns the forms in which agents were shown a text that is too long to
// show; none for others. An agent that writes one of them means the whole text.
func shortened(text string) []string {
	return slices.DeleteFunc([]string{Excerpt(text), Told(text)}, func(form string) bool { return form == text })
}

// applyEdits records in a person's draft what the person did to texts and order, and in an
// agent's draft keeps what was blocked unseen, and a person's wordings and order from the
// agent's habit. saw is the revision that the writer was shown. It returns the wordings
// and the order that were kept.
// isWhole is true for a write of the whole list.
func (d *Draft) applyEdits(saw Snapshot, isWhole bool) (kept []Difference) {
	if d.author == PersonChat {
		d.recordEdits()
		return nil
	}
	if isWhole && slices.ContainsFunc(d.Before.Items, func(i Item) bool { return i.Added }) {
		kept = d.keepAdded(saw)
	}
	if isWhole && len(d.next.Gone) > 0 {
		kept = append(kept, d.keepDeleted()...)
	}
	stored, seen := Near(d.Before.Items), Near(saw.Items)
	for i := range d.next.Items {
		item := &d.next.Items[i]
		before, _ := stored(i, item.ID)
		shown, _ := seen(i, item.ID)
		if before.Status == Blocked && shown.Status != Blocked && !item.Status.Settled() {
			item.takeStatus(before) // what was blocked unseen is not begun
		}
		if before.PersonEdit.Text != "" {
			kept = append(kept, d.keepText(item, before, shown)...)
		}
	}
	if d.Before.Order.Text != "" && !InSameOrder(d.Before.Items, d.next.Items) {
		kept = append(kept, d.keepOrder(saw)...)
	}
	return kept
}

// keepText keeps the wording that a person gave an item, unless the agent has one of
// its own, or insists. before is the item as it is stored, and shown as the writer was
// shown it.
func (d *Draft) keepText(item *Item, before, shown Item) []Difference {
	if item.Text == before.Text {
		if item.Active != before.Active && before.PersonEdit.has(item.Active) {
			item.Active = before.Active // it described what the person replaced
		}
		return nil
	}
	if !item.PersonEdit.stays(before.Overridden(), before.PersonEdit.has(item.Text)) {
		return nil
	}
	sent := *item
	item.Text, item.Active = before.Text, before.Active
	if shown.Text != before.Text {
		return nil // it has not been told yet
	}
	item.PersonEdit.Repeats++
	return []Difference{{Kind: Changed, Before: sent, After: *item}}
}

// keepAdded puts back what a person added and an agent leaves out that was shown it: then that
// is its habit. What is settled may go.
func (d *Draft) keepAdded(saw Snapshot) (kept []Difference) {
	shown := Near(saw.Items)
	d.next.Items = withMissing(d.next.Items, d.Before.Items, func(i Item) bool {
		_, isShown := shown(0, i.ID)
		if !i.Added || i.Status.Settled() || !isShown {
			return false
		}
		if i.PersonEdit.Repeats >= MaxRepeats {
			d.gone(i, false)
			return false
		}
		i.PersonEdit.Repeats++
		kept = append(kept, Difference{Kind: Added, After: i})
		return true
	})
	for _, k := range kept {
		d.next.Items[indexOf(d.next.Items, k.After.ID)] = k.After
	}
	return kept
}

// keepDeleted leaves out what a person deleted and an agent sends as a new item. One that it
// insists on stays, as overridden.
func (d *Draft) keepDeleted() (kept []Difference) {
	gone, items, known := slices.Clone(d.next.Gone), make([]Item, 0, len(d.next.Items)), Near(d.Before.Items)
	for n, item := range d.next.Items {
		at := -1
		if _, isOld := known(n, item.ID); !isOld {
			at = slices.IndexFunc(gone, func(g Item) bool { return g.Deleted && g.isNamed(item.Text) })
		}
		switch {
		case at < 0:
		case gone[at].PersonEdit.Repeats < MaxRepeats:
			gone[at].PersonEdit.Repeats++
			kept = append(kept, Difference{Kind: Removed, Before: gone[at]})
			continue
		default:
			item.Deleted, item.PersonEdit.Revision = true, gone[at].PersonEdit.Revision
			gone = slices.Delete(gone, at, at+1)
		}
		items = append(items, item)
	}
	d.next.Gone, d.next.Items = gone, items
	return kept
}

// gone remembers an item that is on the list no more: a person took it from there, or an
// agent, which a person had added.
func (d *Draft) gone(item Item, byPerson bool) {
	item.Added, item.Deleted, item.PersonEdit.Repeats = !byPerson, byPerson, 0
	d.next.Gone = append(slices.Clone(d.next.Gone[max(0, len(d.next.Gone)-maxGone+1):]), item)
}

// recordEdits records which items a person added and deleted, and what became of texts and order.
func (d *Draft) recordEdits() {
	was, is := Near(d.Before.Items), Near(d.next.Items)
	for n := range d.next.Items {
		item := &d.next.Items[n]
		if before, known := was(n, item.ID); known && before.Text != item.Text {
			item.PersonEdit = before.PersonEdit.replacing(item.Text, d.Before.Revision+1, before.Text, before.Active)
		} else if !known {
			item.Added, item.Deleted, item.PersonEdit.Repeats, item.PersonEdit.Revision = true, false, 0, d.Before.Revision+1
			d.next.Gone = slices.DeleteFunc(slices.Clone(d.next.Gone), func(g Item) bool { return g.ID == item.ID || Fold(g.Text) == Fold(item.Text) })
		}
	}
	for n, item := range d.Before.Items {
		if _, stays := is(n, item.ID); !stays {
			item.PersonEdit.Revision = d.Before.Revision + 1
			d.gone(item, true)
		}
	}
	if !InSameOrder(d.Before.Items, d.next.Items) {
		person, was := idsOf(d.next.Items), idsOf(d.Before.Items)
		d.next.Order = d.Before.Order.replacing(person, d.Before.Revision+1, was)
	}
}

// keepOrder puts the items back into the order that a person made, if the agent sent
// one that people changed.
func (d *Draft) keepOrder(saw Snapshot) []Difference {
	order := &d.next.Order
	isReplaced := slices.ContainsFunc(order.wordings(), func(ids string) bool {
		was := itemsOf(ids)
		return InSameOrder(was, d.next.Items) && !InSameOrder(was, d.Before.Items)
	})
	if !order.stays(d.Before.OrderOverridden(), isReplaced) {
		return nil
	}
	d.next.Items = inOrderOf(d.Before.Items, d.next.Items)
	if !InSameOrder(saw.Items, d.Before.Items) {
		return nil // it has not been told yet
	}
	order.Repeats++
	return []Difference{{Kind: Moved}}
}
