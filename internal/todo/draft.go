package todo

import (
	"slices"
	"strconv"
	"time"
)

// Change makes the next items of a list from the current ones, through a
// [Draft]. It must be a pure function of the draft: after a conflict it runs
// again on a newer one. It returns an [InputError] to refuse.
type Change func(*Draft) error

// Draft is the working copy a [Change] edits.
type Draft struct {
	before Snapshot
	items  []Item
	lastID int
	now    time.Time
	seen   *Snapshot // what the writer last saw, when that is not before
	notes  []string
}

// NewDraft begins a draft on a snapshot, which stays as it is. now is when the
// change happens.
func NewDraft(before Snapshot, now time.Time) *Draft {
	return &Draft{before: before, items: slices.Clone(before.Items), lastID: before.LastID, now: now.UTC()}
}

// SeenAt says that the writer knows an earlier snapshot of the list: a [Draft.Replace]
// is then merged with what others changed since, see merge3.
func (d *Draft) SeenAt(s Snapshot) {
	if s.Revision != d.before.Revision {
		d.seen = &s
	}
}

// Before is the snapshot the draft began with.
func (d *Draft) Before() Snapshot { return d.before }

// Items are the items as edited so far; the caller must not change them.
func (d *Draft) Items() []Item { return d.items }

// Changed reports whether the items say anything else than before.
func (d *Draft) Changed() bool { return !sameItems(d.before.Items, d.items) }

// Note leaves a sentence for the answer to the write: what the change did beyond
// what was asked, or where.
func (d *Draft) Note(sentence string) { d.notes = append(d.notes, sentence) }

// dropped returns the items that were open before and are not there any more.
func (d *Draft) dropped() (items []Item) {
	for _, item := range d.before.Items {
		if _, stays := d.Item(item.ID); !stays && !item.Status.Settled() {
			items = append(items, item)
		}
	}
	return items
}

// Item returns the item with an id as edited so far.
func (d *Draft) Item(id string) (Item, bool) {
	return Snapshot{Items: d.items}.Item(id)
}

// Append adds a pending item at the end for each text, numbered on from the
// last id, and returns them.
func (d *Draft) Append(texts ...string) []Item {
	from := len(d.items)
	for _, text := range texts {
		d.items = append(d.items, d.newItem(Line{Text: text}, Pending))
	}
	return slices.Clone(d.items[from:])
}

// SetStatus moves one item. It reports false when the id is not in the list.
func (d *Draft) SetStatus(id string, status Status) bool {
	i := Snapshot{Items: d.items}.index(id)
	if i < 0 {
		return false
	}
	d.items[i].setStatus(status, d.now)
	return true
}

// Replace makes the list what lines say, as seen through view. Lines that match
// a stored item keep its identity and whatever the view cannot express; items
// the view leaves out stay where they were; an empty write empties the list,
// unless the view already showed it empty.
func (d *Draft) Replace(view View, lines []Line) {
	if d.seen != nil {
		asked := NewDraft(*d.seen, d.now)
		asked.Replace(view, lines)
		d.rebase(*d.seen, asked.items)
		return
	}
	shown := view.Lines(d.items)
	if len(lines) == 0 && len(shown) > 0 {
		d.items = nil
		return
	}
	matched := match(view, d.items, lines)
	next := make([]Item, 0, len(lines))
	kept := make(map[string]int, len(lines)) // id → index in next
	for i, line := range lines {
		item := d.merge(view, matched[i], line)
		kept[item.ID] = i
		next = append(next, item)
	}
	d.items = d.keepHidden(view, next, kept)
}

// Patch changes only the items that lines name by id and leaves the others. It
// reports false, changing nothing, when any id is missing or unknown.
func (d *Draft) Patch(view View, lines []Line) bool {
	at := make([]int, len(lines))
	for i, line := range lines {
		at[i] = Snapshot{Items: d.items}.index(line.ID)
		if line.ID == "" || at[i] < 0 {
			return false
		}
	}
	for i, line := range lines {
		d.items[at[i]] = d.merge(view, &d.items[at[i]], line)
	}
	return true
}

// Block says that one item cannot go on, and why; reason may be empty. It
// reports false when the id is not in the list.
func (d *Draft) Block(id, reason string) bool {
	if !d.SetStatus(id, Blocked) {
		return false
	}
	d.items[Snapshot{Items: d.items}.index(id)].Reason = reason
	return true
}

// SetText rewords one item. It reports false when the id is not in the list.
func (d *Draft) SetText(id, text string) bool {
	i := Snapshot{Items: d.items}.index(id)
	if i < 0 {
		return false
	}
	if Fold(d.items[i].Text) != Fold(text) {
		d.items[i].Active = "" // it described the old text
	}
	d.items[i].Text = text
	return true
}

// Remove takes one item off the list. It reports false when the id is not in it.
func (d *Draft) Remove(id string) bool {
	i := Snapshot{Items: d.items}.index(id)
	if i < 0 {
		return false
	}
	d.items = slices.Delete(d.items, i, i+1)
	return true
}

// Move puts one item at a place, from 0; beyond the end is the end. It reports
// false when the id is not in the list.
func (d *Draft) Move(id string, to int) bool {
	i := Snapshot{Items: d.items}.index(id)
	if i < 0 {
		return false
	}
	item := d.items[i]
	d.items = slices.Delete(d.items, i, i+1)
	d.items = slices.Insert(d.items, min(max(to, 0), len(d.items)), item)
	return true
}

// Restore makes the items those of an earlier revision, with their ids. Numbers
// given since are still not given again.
func (d *Draft) Restore(items []Item) { d.items = slices.Clone(items) }

// merge is projection equality for one item: what the line says just as the
// view would have shown it stays as stored; only a real difference changes it.
func (d *Draft) merge(view View, stored *Item, line Line) Item {
	status, _ := view.Core(line.Status)
	if stored == nil {
		return d.newItem(line, status)
	}
	item := *stored
	was, _ := view.Show(item)
	if line.Text != was.Text && line.Text != item.Text {
		if !view.Active && Fold(line.Text) != Fold(item.Text) {
			item.Active = "" // it described the old text
		}
		item.Text = line.Text
	}
	if view.Active && line.Active != was.Active {
		item.Active = line.Active
	}
	if line.Status != was.Status {
		item.setStatus(status, d.now)
	}
	return item
}

func (d *Draft) newItem(line Line, status Status) Item {
	d.lastID++
	item := Item{ID: strconv.Itoa(d.lastID), Text: line.Text, Active: line.Active, Status: Pending, Created: d.now}
	item.setStatus(status, d.now)
	return item
}

// keepHidden puts the items that view leaves out, and that no line brought
// back, behind the item they stood behind.
func (d *Draft) keepHidden(view View, next []Item, kept map[string]int) []Item {
	behind := make(map[int][]Item) // index in next (-1: the front) → hidden items
	at := -1
	for _, item := range d.items {
		if i, ok := kept[item.ID]; ok {
			at = i
		} else if _, shown := view.Words[item.Status]; !shown {
			behind[at] = append(behind[at], item)
		}
	}
	if len(behind) == 0 {
		return next
	}
	out := slices.Clone(behind[-1])
	for i, item := range next {
		out = append(append(out, item), behind[i]...)
	}
	return out
}

// snapshot is the next revision, to be saved.
func (d *Draft) snapshot(w Writer, op Operation) Snapshot {
	next := d.before
	next.Revision++
	next.Items = d.items
	next.LastID = d.lastID
	next.Updated = d.now
	next.Writer = w
	next.Operation = op
	next.Report = Report{}
	next.Seq = 0
	if next.Items == nil {
		next.Items = []Item{}
	}
	return next
}
