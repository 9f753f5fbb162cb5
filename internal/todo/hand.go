package todo

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file has what a person did to a list, which its agents are told and do not
// undo by habit (docs/spec/variants.md, "A person's hand").

// PersonsHand is the hand of people, see [Item.BegunBy].
const PersonsHand = "person"

// handOf returns the hand of a conversation.
func handOf(conversation string) string {
	if conversation == "" {
		return ""
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(conversation))
	return strconv.FormatUint(sum.Sum64(), 36)
}

// MaxRepeats is how often an agent that was told of a person's wording, or order, is
// told again when it sends what the person replaced. After that its wish counts.
const MaxRepeats = 3

// Hand is what a person made of an item's text. The zero value is nothing.
type Hand struct {
	// Text is the person's wording. If the item has another one, an agent has
	// overridden it.
	Text string `json:"text,omitempty"`
	// Replaced are the wordings that people replaced, one a line.
	Replaced string `json:"replaced,omitempty"`
	// Repeats is how often an agent sent a replaced wording nevertheless.
	Repeats int `json:"repeats,omitempty"`
	// Revision is the one of the person's last change of the text.
	Revision int64 `json:"revision,omitempty"`
}

// maxReplaced is how many replaced wordings an item remembers.
const maxReplaced = 8

// wordings returns the wordings that people replaced, the last one first.
func (h Hand) wordings() []string {
	if h.Replaced == "" {
		return nil
	}
	return strings.Split(h.Replaced, "\n")
}

// has reports whether a text is one that people replaced.
func (h Hand) has(text string) bool {
	folded := Fold(text)
	return slices.ContainsFunc(h.wordings(), func(w string) bool { return Fold(w) == folded })
}

// Overridden reports whether an agent has put its own wording in the place of the
// person's.
func (i Item) Overridden() bool { return i.Hand.Text != "" && i.Hand.Text != i.Text }

// reworded returns the hand after a person gave an item another text, as part of a
// revision.
func (h Hand) reworded(from Item, to string, revision int64) Hand {
	replaced := []string{from.Text}
	if from.Active != "" && from.Active != from.Text {
		replaced = append(replaced, from.Active)
	}
	for _, w := range h.wordings() {
		if !slices.Contains(replaced, w) && len(replaced) < maxReplaced {
			replaced = append(replaced, w)
		}
	}
	replaced = slices.DeleteFunc(replaced, func(w string) bool { return w == to })
	return Hand{Text: to, Replaced: strings.Join(replaced, "\n"), Revision: revision}
}

// Order is what a person made of the order of a list's items. The zero value is
// nothing.
type Order struct {
	// Person is the order that the person made, as ids with commas, and Was are those
	// that people changed, the last one first, with semicolons between them. Was is
	// empty when an agent has overridden the person's.
	Was    string `json:"was,omitempty"`
	Person string `json:"person,omitempty"`
	// Repeats is how often an agent sent an order that the person changed.
	Repeats int `json:"repeats,omitempty"`
	// Revision is the one of the person's last change of the order.
	Revision int64 `json:"revision,omitempty"`
}

// MaxOrders is how many orders that people changed a list remembers: the last ones, and
// the first, which its agent made.
const MaxOrders = 3

// has reports whether items stand in an order that people changed, which is another one
// than the list has now.
func (o Order) has(items, now []Item) bool {
	return slices.ContainsFunc(strings.Split(o.Was, ";"), func(ids string) bool {
		was := itemsOf(ids)
		return InSameOrder(was, items) && !InSameOrder(was, now)
	})
}

// reordered returns the order after a person put the items from one order into another,
// as part of a revision.
func (o Order) reordered(from, to []Item, revision int64) Order {
	was := []string{idsOf(from)}
	for _, earlier := range strings.Split(o.Was, ";") {
		if earlier != "" && earlier != was[0] && !InSameOrder(itemsOf(earlier), to) {
			was = append(was, earlier)
		}
	}
	if n := len(was); n > MaxOrders {
		was = append(was[:MaxOrders-1], was[n-1])
	}
	return Order{Was: strings.Join(was, ";"), Person: idsOf(to), Revision: revision}
}

// Fits reports whether items stand in the person's order.
func (o Order) Fits(items []Item) bool { return InSameOrder(itemsOf(o.Person), items) }

// Overridden reports whether an agent has put its own order in the place of the
// person's.
func (o Order) Overridden() bool { return o.Was == "" && o.Person != "" }

// idsOf returns the ids of items, in order, with commas.
func idsOf(items []Item) string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	return strings.Join(ids, ",")
}

// itemsOf returns items that have the ids and nothing else.
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

// placesOf returns the indexes of items by id.
func placesOf(items []Item) map[string]int {
	place := make(map[string]int, len(items))
	for i, item := range items {
		place[item.ID] = i
	}
	return place
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
func shortened(text string) (forms []string) {
	if short := Excerpt(text); short != text {
		forms = append(forms, short)
	}
	if told := Told(text); told != text {
		forms = append(forms, told)
	}
	return forms
}

// applyHand records in a person's draft what the person did to texts and order, and
// in an agent's draft keeps a person's wordings and order from the agent's habit. saw
// is the revision that the writer was shown. It returns what was kept.
func (d *Draft) applyHand(saw Snapshot) (kept []Difference) {
	if d.hand == PersonsHand {
		d.recordHand()
		return nil
	}
	stored, seen := Near(d.before.Items), Near(saw.Items)
	for i := range d.next.Items {
		item := &d.next.Items[i]
		if before, known := stored(i, item.ID); known && before.Hand.Text != "" {
			shown, _ := seen(i, item.ID)
			kept = append(kept, d.keepText(item, before, shown)...)
		}
	}
	if d.before.Order.Was != "" && !InSameOrder(d.before.Items, d.next.Items) {
		kept = append(kept, d.keepOrder(saw)...)
	}
	return kept
}

// keepText keeps the wording that a person gave an item, unless the agent has one of
// its own, or insists. before is the item as it is stored, and shown as the writer was
// shown it.
func (d *Draft) keepText(item *Item, before, shown Item) (kept []Difference) {
	switch {
	case item.Text == before.Text:
		if item.Active != before.Active && before.Hand.has(item.Active) {
			item.Active = before.Active // it described what the person replaced
		}
	case before.Overridden():
	case !before.Hand.has(item.Text):
		item.Hand = Hand{} // a wording that is neither the old nor the person's
	case before.Hand.Repeats < MaxRepeats: // else the agent's wish; Hand.Text has the person's words
		sent := *item
		item.Text, item.Active = before.Text, before.Active
		if shown.Text == before.Text {
			item.Hand.Repeats++ // it had been told
			kept = []Difference{{Kind: Changed, Before: sent, After: *item}}
		}
	}
	return kept
}

// recordHand notes which texts and which order a person changed.
func (d *Draft) recordHand() {
	find := Near(d.before.Items)
	for i, item := range d.next.Items {
		if before, known := find(i, item.ID); known && before.Text != item.Text {
			d.next.Items[i].Hand = before.Hand.reworded(before, item.Text, d.before.Revision+1)
		}
	}
	if !InSameOrder(d.before.Items, d.next.Items) {
		d.next.Order = d.before.Order.reordered(d.before.Items, d.next.Items, d.before.Revision+1)
	}
}

// BringBack gives an item the person's text again that an agent has overridden, or
// with an empty id the items the person's order. What is not overridden stays. It
// returns false when no item has the id.
func (d *Draft) BringBack(id string) bool {
	if id == "" {
		if d.next.Order.Overridden() {
			d.next.Items = inOrderOf(itemsOf(d.next.Order.Person), d.next.Items)
		}
		return true
	}
	item, ok := d.Item(id)
	if ok && item.Overridden() {
		d.SetText(id, item.Hand.Text)
	}
	return ok
}

// keepOrder puts the items back into the order that a person made, if the agent sent
// one that people changed.
func (d *Draft) keepOrder(saw Snapshot) []Difference {
	order := d.before.Order
	if !order.has(d.next.Items, d.before.Items) {
		d.next.Order = Order{} // another order, which the agent wants
		return nil
	}
	if order.Repeats >= MaxRepeats {
		d.next.Order.Was = ""
		return nil
	}
	d.next.Items = inOrderOf(d.before.Items, d.next.Items)
	if !InSameOrder(saw.Items, d.before.Items) {
		return nil // it has not been told yet
	}
	d.next.Order.Repeats++
	return []Difference{{Kind: Moved}}
}
