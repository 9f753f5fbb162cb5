package todo

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Change edits the items of a list through a [Draft]. It must be a pure
// function of the draft: it may run several times, on several revisions. It
// returns an [*InputError] to refuse the write.
type Change func(*Draft) error

// Draft is the working copy a [Change] edits.
type Draft struct {
	before  Snapshot
	items   []Item
	lastID  int
	now     time.Time
	hand    string // whose hand edits
	earlier []Item // see Earlier
	order   Order
	notes   []string
	// What the change set besides items; nil for what it did not.
	title      *string
	suggested  string // see Suggest
	archived   *bool
	replacedBy string // with archived
	deleted    bool
}

// NewDraft returns a draft of the revision after before, which is not modified.
// now is the time of the change.
func NewDraft(before Snapshot, now time.Time) *Draft {
	return &Draft{before: before, items: slices.Clone(before.Items), lastID: before.LastID, order: before.Order,
		deleted: before.Deleted, now: now.UTC()}
}

// rebase turns a draft of an earlier revision into one of newest: it merges the
// edits with what others changed since; see merge3.
func (d *Draft) rebase(newest Snapshot) {
	base := d.before
	d.before, d.lastID, d.order, d.deleted = newest, newest.LastID, newest.Order, newest.Deleted
	d.items = merge3(base.Items, newest.Items, d.items, func() string {
		d.lastID++
		return strconv.Itoa(d.lastID)
	})
}

// keepBlocks blocks the items again that others blocked since the writer saw the
// list, unless the writer settled them: what was blocked unseen is not begun.
func (d *Draft) keepBlocks(saw Snapshot) {
	for i, item := range d.items {
		stored, ok := d.before.Item(item.ID)
		seen, _ := saw.Item(item.ID)
		if ok && stored.Status == Blocked && seen.Status != Blocked && !item.Status.Settled() {
			d.items[i].takeStatus(stored)
		}
	}
}

// Before returns the snapshot the draft began with.
func (d *Draft) Before() Snapshot { return d.before }

// Items returns the items as edited so far; the caller must not change them.
func (d *Draft) Items() []Item { return d.items }

// Changed reports whether the items or their order differ from before, times
// aside, or whether the list got another title or was put away or brought back.
func (d *Draft) Changed() bool {
	b := d.before
	return d.order != b.Order || d.title != nil && *d.title != b.GivenTitle ||
		b.GivenTitle == "" && d.suggested != "" || d.archived != nil && *d.archived != b.Archived || d.deleted != b.Deleted ||
		!slices.EqualFunc(b.Items, d.items, Item.equal)
}

// Rename gives the list a title; see [Snapshot.GivenTitle].
func (d *Draft) Rename(title string) { d.title = &title }

// Earlier returns the items of the list that the conversation held until now, where the
// draft is of the next one.
func (d *Draft) Earlier() []Item { return d.earlier }

// Suggest gives the list a title unless it was given one, also by others meanwhile.
func (d *Draft) Suggest(title string) { d.suggested = title }

// Hand returns whose hand edits: the conversation's whose agent makes the call,
// [PersonsHand], or empty for none.
func (d *Draft) Hand() string { return d.hand }

// Archive puts the list away, or brings it back; see [Snapshot.Archived].
func (d *Draft) Archive(away bool) { d.archived = &away }

// keepReplaced keeps a list put away that its conversation left for another, although
// an item of it changes.
func (d *Draft) keepReplaced() {
	if d.before.ReplacedBy != "" {
		d.Archive(true)
		d.replacedBy = d.before.ReplacedBy
	}
}

// Delete deletes the list, or brings it back; see [Snapshot.Deleted].
func (d *Draft) Delete(away bool) { d.deleted = away }

// Note adds a sentence to the write's [Report]: what the change did beyond what
// the caller sent.
func (d *Draft) Note(sentence string) { d.notes = append(d.notes, sentence) }

// Item returns the item with an id as edited so far.
func (d *Draft) Item(id string) (Item, bool) {
	return itemNear(d.items, 0, id)
}

// Append adds a pending item at the end for each text, with ids that continue
// from the last one, and returns these items.
func (d *Draft) Append(texts ...string) []Item {
	from := len(d.items)
	for _, text := range texts {
		d.items = append(d.items, d.newItem(Line{Text: text}, Pending))
	}
	return slices.Clone(d.items[from:])
}

// edit changes the item with an id. It returns false when no item has the id.
func (d *Draft) edit(id string, change func(*Item)) bool {
	i := indexOf(d.items, id)
	if i >= 0 {
		change(&d.items[i])
	}
	return i >= 0
}

// SetStatus sets one item's status and the times that follow from it. It
// returns false when no item has the id.
func (d *Draft) SetStatus(id string, status Status) bool {
	return d.edit(id, func(i *Item) { i.setStatus(status, d.hand, d.now) })
}

// Replace replaces the list with lines, which are written through view. A line
// that matches a stored item keeps its id, its times and whatever the view
// cannot express. Items that the view leaves out stay where they were. No lines
// at all empty the list, unless the view already showed it empty.
func (d *Draft) Replace(view View, lines []Line) {
	isHidden := func(i Item) bool { return view.Words[i.Status] == "" }
	if len(lines) == 0 && slices.ContainsFunc(d.items, func(i Item) bool { return !isHidden(i) }) {
		d.items = nil
		return
	}
	next := make([]Item, len(lines))
	for i, stored := range match(view, d.items, lines) {
		next[i] = d.applyLine(view, stored, lines[i])
	}
	if slices.ContainsFunc(d.items, isHidden) {
		next = d.keepHidden(isHidden, next)
	}
	d.items = next
}

// keepHidden inserts into next the hidden items that no line matched, each after the
// item that it followed before.
func (d *Draft) keepHidden(isHidden func(Item) bool, next []Item) []Item {
	at := 0
	for _, item := range d.items {
		if i := indexOf(next, item.ID); i >= 0 {
			at = i + 1
		} else if isHidden(item) {
			next = slices.Insert(next, at, item)
			at++
		}
	}
	return next
}

// Patch applies lines to the items they name by id and leaves the others as
// they are. It returns false and changes nothing when any id is missing or
// unknown.
func (d *Draft) Patch(view View, lines []Line) bool {
	if slices.ContainsFunc(lines, func(l Line) bool { return indexOf(d.items, l.ID) < 0 }) {
		return false
	}
	for _, line := range lines {
		d.edit(line.ID, func(i *Item) { *i = d.applyLine(view, i, line) })
	}
	return true
}

// Block sets one item's status to [Blocked] and its reason, which may be empty.
// It returns false when no item has the id.
func (d *Draft) Block(id, reason string) bool {
	return d.edit(id, func(i *Item) {
		i.setStatus(Blocked, d.hand, d.now)
		i.Reason = reason
	})
}

// SetText sets one item's text, and clears its active text if the new text
// folds differently. It returns false when no item has the id.
func (d *Draft) SetText(id, text string) bool {
	return d.edit(id, func(i *Item) {
		if Fold(i.Text) != Fold(text) {
			i.Active = "" // it described the old text
		}
		i.Text = text
	})
}

// SetDetails sets one item's priority and due date; nil leaves one as it is, and
// an empty text removes it. It returns false when no item has the id.
func (d *Draft) SetDetails(id string, priority, dueDate *string) bool {
	return d.edit(id, func(i *Item) {
		if priority != nil {
			i.Priority = *priority
		}
		if dueDate != nil {
			i.DueDate = *dueDate
		}
	})
}

// Remove removes one item from the list. It returns false when no item has the
// id.
func (d *Draft) Remove(id string) bool {
	before := len(d.items)
	d.items = slices.DeleteFunc(d.items, func(i Item) bool { return i.ID == id })
	return len(d.items) < before
}

// Move moves one item to an index, from 0; an index outside the list means its
// nearer end. It returns false when no item has the id.
func (d *Draft) Move(id string, to int) bool {
	item, ok := d.Item(id)
	if ok {
		d.Remove(id)
		d.items = slices.Insert(d.items, min(max(to, 0), len(d.items)), item)
	}
	return ok
}

// Restore replaces the items with the ones of an earlier revision, or of another list,
// ids included. Ids that were used are still not used again. Items that it puts in
// progress are begun by the hand that restores.
func (d *Draft) Restore(items []Item) {
	before := Snapshot{Items: d.items}
	d.items = slices.Clone(items)
	for i, item := range d.items {
		d.lastID = max(d.lastID, itemNumber(item.ID))
		now, stays := before.Item(item.ID)
		switch {
		case stays && item.Status == now.Status:
			d.items[i].BegunBy, d.items[i].ByPerson = now.BegunBy, now.ByPerson
		case item.Status == InProgress:
			d.items[i].BegunBy = d.hand
		}
		if stays {
			d.items[i].Hand = now.Hand
		}
	}
}

// applyLine returns the stored item with a line applied, or a new item when
// stored is nil. A field that the line has just as the view shows it stays as
// stored (projection equality); only a real difference changes it.
func (d *Draft) applyLine(view View, stored *Item, line Line) Item {
	if stored == nil {
		status, _ := view.Core(line.Status)
		return d.newItem(line, status)
	}
	item := *stored
	shown, _ := view.Show(item)
	if line.Text != shown.Text && line.Text != item.Text && !slices.Contains(shortened(item.Text), line.Text) {
		if !view.Active && Fold(line.Text) != Fold(item.Text) {
			item.Active = "" // it described the old text
		}
		item.Text = line.Text
	}
	if view.Active && line.Active != shown.Active {
		item.Active = line.Active
	}
	if line.Status != shown.Status {
		status, _ := view.Core(line.Status)
		item.setStatus(status, d.hand, d.now)
	}
	return item
}

func (d *Draft) newItem(line Line, status Status) Item {
	d.lastID++
	item := Item{ID: strconv.Itoa(d.lastID), Text: line.Text, Active: line.Active, Status: Pending, Created: d.now}
	item.setStatus(status, d.hand, d.now)
	return item
}

// snapshot returns the next revision, ready to be saved.
func (d *Draft) snapshot(w Writer, op Operation) Snapshot {
	next := d.before
	next.Revision++
	next.Items, next.LastID, next.Order = d.items, d.lastID, d.order
	if next.Items == nil {
		next.Items = []Item{}
	}
	next.Updated = d.now
	if !w.Person {
		next.Worked = d.now
	}
	next.Writer, next.Operation, next.Report, next.Seq = w, op, Report{}, 0
	if d.title != nil {
		next.GivenTitle = *d.title
	}
	next.GivenTitle = cmp.Or(next.GivenTitle, d.suggested)
	next.Deleted = d.deleted
	switch {
	case d.archived != nil:
		next.Archived, next.ReplacedBy = *d.archived, d.replacedBy
	case next.Archived && !slices.EqualFunc(d.before.Items, d.items, Item.same):
		next.Archived, next.ReplacedBy = false, "" // a change of items brings it back
	}
	return next.Entitled()
}
