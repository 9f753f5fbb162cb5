package todo

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// This file protects people's edits from agents that repeat old states (docs/spec/variants.md, "A person's edits").

// MaxRepeats is how often an agent is told that it sent a state that a person replaced. After that, the state counts.
const MaxRepeats = 3

// PersonEdit is a person's edit of an item's text, or of the items' order, which is written as ids with commas.
type PersonEdit struct {
	Text     string `json:"text,omitempty"`     // the person's version; overridden if the item or list has another
	Replaced string `json:"replaced,omitempty"` // the wordings, or orders, that people replaced, one per line
	Repeats  int    `json:"repeats,omitempty"`  // how often an agent sent a replaced wording or order again
	Revision int64  `json:"revision,omitempty"` // the revision of the person's last change
}

const (
	maxGone     = 8 // items in Snapshot.Gone
	MaxReplaced = 8 // replaced wordings of an item, or orders of a list
)

// wordings returns the replaced wordings or orders, the last replaced first.
func (e PersonEdit) wordings() []string {
	if e.Replaced == "" {
		return nil
	}
	return strings.Split(e.Replaced, "\n")
}

// has reports whether people replaced a text, compared by [Fold].
func (e PersonEdit) has(text string) bool {
	folded := Fold(text)
	return slices.ContainsFunc(e.wordings(), func(w string) bool { return Fold(w) == folded })
}

// replacing returns the edit for a revision in which a person replaced other texts by a new one. It keeps at most
// [MaxReplaced] replaced texts: the latest ones, and the very first, which an agent wrote.
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

// stays reports whether a person's wording or order stays although an agent sent another one. It stays if people once
// replaced the agent's version (isReplaced), no agent has overridden the person's version (isOverridden), and the
// repeats are fewer than [MaxRepeats]. If neither flag is set, the agent's version is new, and stays clears the edit.
func (e *PersonEdit) stays(isOverridden, isReplaced bool) bool {
	if !isReplaced && !isOverridden {
		*e = PersonEdit{}
	}
	return isReplaced && !isOverridden && e.Repeats < MaxRepeats
}

// Overridden reports whether an agent replaced the person's wording, or put back an item that the person deleted.
func (i Item) Overridden() bool {
	return i.PersonEdit.Text != "" && i.PersonEdit.Text != i.Text || i.Deleted
}

// LeftOut returns the items that people added and an agent removed.
func (s Snapshot) LeftOut() []Item {
	return slices.DeleteFunc(slices.Clone(s.Gone), func(i Item) bool { return !i.Added })
}

// OrderOverridden reports whether an agent replaced the person's order.
func (s Snapshot) OrderOverridden() bool {
	return s.Order.Text != "" && !InSameOrder(itemsOf(s.Order.Text), s.Items)
}

func idsOf(items []Item) string {
	return strings.Join(each(items, func(i Item) string { return i.ID }), ",")
}

func itemsOf(ids string) (items []Item) {
	for id := range strings.SplitSeq(ids, ",") {
		items = append(items, Item{ID: id})
	}
	return items
}

// InSameOrder reports whether the items that two lists share are in the same order in both.
func InSameOrder(a, b []Item) bool { return len(movedItems(a, b)) == 0 }

// movedItems returns the ids of the items that must move in b, so that the items that a and b share are in a's order.
// It returns the smaller of two sets: items that are too late in b (behind an item that they precede in a), or items
// that are too early in b (before an item that they follow in a).
func movedItems(a, b []Item) map[string]bool {
	n := min(len(a), len(b))
	if slices.EqualFunc(a[:n], b[:n], func(x, y Item) bool { return x.ID == y.ID }) {
		return nil // the fast path
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

// placesOf returns the indexes of items by id and, in a view with keys, also by the key that a caller gave the item.
func (v View) placesOf(items []Item) map[string]int {
	places := placesOf(items)
	for i, item := range items {
		if v.Keys && item.Key != "" {
			places[item.Key] = i
		}
	}
	return places
}

// inOrderOf puts items in the order of the list other. An item not in other stays behind its predecessor or at the end.
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

const (
	maxTold    = 500   // runes of a text that [Told] returns
	cutMark    = " … " // stands for the part that [Told] leaves out
	maxExcerpt = 40    // runes that [Excerpt] keeps
)

// Told returns the form of a text for agents: of a long text, both ends. An agent may send this form as the text.
func Told(text string) string {
	if utf8.RuneCountInString(text) <= maxTold {
		return text
	}
	runes := []rune(text)
	half := (maxTold - len([]rune(cutMark))) / 2
	return strings.TrimSpace(string(runes[:half])) + cutMark + strings.TrimSpace(string(runes[len(runes)-half:]))
}

// Excerpt returns the beginning of a text, to name an item by.
func Excerpt(text string) string {
	if utf8.RuneCountInString(text) <= maxExcerpt {
		return text
	}
	return Cut(text, maxExcerpt) + "…"
}

// shortened returns the short forms that agents may write for a long text; none if the text is short.
func shortened(text string) []string {
	return slices.DeleteFunc([]string{Excerpt(text), Told(text)}, func(form string) bool { return form == text })
}

// applyEdits records a person's edits of items and order in the person's draft. In an agent's draft it restores them,
// and returns the edits to report to the agent; an item blocked since the agent saw it stays blocked unless the draft
// settles it. saw is the revision that the writer was shown, and isWhole is true for a whole-list write.
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
			item.takeStatus(before)
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

// keepText keeps a person's wording of an item, unless the agent sends a new wording, or repeats an old one too often.
// before is the item as stored, and shown is the item as the writer was shown it.
func (d *Draft) keepText(item *Item, before, shown Item) []Difference {
	if item.Text == before.Text {
		if item.Active != before.Active && before.PersonEdit.has(item.Active) {
			item.Active = before.Active // the agent's active text describes the text that the person replaced
		}
		return nil
	}
	if !item.PersonEdit.stays(before.Overridden(), before.PersonEdit.has(item.Text)) {
		return nil
	}
	sent := *item
	item.Text, item.Active = before.Text, before.Active
	if shown.Text != before.Text {
		return nil // the agent does not know of the edit yet
	}
	item.PersonEdit.Repeats++
	return []Difference{{Kind: Changed, Before: sent, After: *item}}
}

// keepAdded puts back open items that a person added and the agent saw but left out, each at most [MaxRepeats] times.
func (d *Draft) keepAdded(saw Snapshot) (kept []Difference) {
	shown := Near(saw.Items)
	d.next.Items = WithMissing(d.next.Items, d.Before.Items, func(i Item) bool {
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

// keepDeleted removes and returns items that an agent sends again after a person deleted them. After [MaxRepeats]
// removals such an item stays.
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

// gone adds to Gone an item that a person deleted, or one that a person added and an agent removed.
func (d *Draft) gone(item Item, byPerson bool) {
	item.Added, item.Deleted, item.PersonEdit.Repeats = !byPerson, byPerson, 0
	d.next.Gone = append(slices.Clone(d.next.Gone[max(0, len(d.next.Gone)-maxGone+1):]), item)
}

// recordEdits records what a person's draft adds, deletes, rewords and reorders.
func (d *Draft) recordEdits() {
	was, is := Near(d.Before.Items), Near(d.next.Items)
	for n := range d.next.Items {
		item := &d.next.Items[n]
		if before, known := was(n, item.ID); known && before.Text != item.Text {
			item.PersonEdit = before.PersonEdit.replacing(item.Text, d.Before.Revision+1, before.Text, before.Active)
		} else if !known {
			item.Added, item.Deleted, item.PersonEdit.Repeats, item.PersonEdit.Revision = true, false, 0, d.Before.Revision+1
			isSame := func(g Item) bool { return g.ID == item.ID || Fold(g.Text) == Fold(item.Text) }
			d.next.Gone = slices.DeleteFunc(slices.Clone(d.next.Gone), isSame)
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

// keepOrder restores the order that a person made, if the agent sent an order that people replaced.
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
		return nil // the agent does not know of the edit yet
	}
	order.Repeats++
	return []Difference{{Kind: Moved}}
}
