package todo

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Change edits the items of a list through a [Draft]. It must be a pure function of the draft: it may run
// several times, on several revisions. It returns an [*InputError] to refuse the write.
type Change func(*Draft) error

// Draft is the working copy a [Change] edits.
type Draft struct {
	Before   Snapshot // the revision that the draft began with, or was later merged into
	next     Snapshot // the revision that the draft becomes
	now      time.Time
	author   string // see [Step.Author]
	notes    []string
	archives bool                     // the change itself sets whether the list is archived
	present  func(author string) bool // see [Step.Present]
}

// NewDraft returns a draft, made at the time now, of a snapshot's next revision. It does not modify the snapshot.
func NewDraft(before Snapshot, now time.Time) *Draft {
	d, _ := Step{At: now, Change: func(*Draft) error { return nil }}.Draft(before, before)
	return d
}

// rebase merges a draft of an earlier revision into the revision newest, by merge3.
func (d *Draft) rebase(newest Snapshot) {
	base, mine := d.Before, d.next
	d.Before, d.next = newest, newest
	take(&d.next.GivenTitle, base.GivenTitle, mine.GivenTitle)
	take(&d.next.Archived, base.Archived, mine.Archived)
	take(&d.next.ReplacedBy, base.ReplacedBy, mine.ReplacedBy)
	take(&d.next.Deleted, base.Deleted, mine.Deleted)
	d.next.Explanation = mine.Explanation
	d.next.Items = merge3(base.Items, newest.Items, mine.Items, d.nextID)
	if len(base.Later)+len(newest.Later)+len(mine.Later) > 0 {
		d.next.Later = merge3(base.Later, newest.Later, mine.Later, d.laterID)
	}
}

func (d *Draft) nextID() string {
	d.next.LastID++
	return strconv.Itoa(d.next.LastID)
}

// Items returns the items as edited so far; the caller must not change them.
func (d *Draft) Items() []Item { return d.next.Items }

// Changed reports whether the draft differs from Before in anything but times and ReplacedBy.
func (d *Draft) Changed() bool {
	b, n := d.Before, d.next
	explains := n.Explanation != "" && n.Explanation != b.Explanation
	return explains || n.Order != b.Order || !slices.Equal(n.Gone, b.Gone) || n.GivenTitle != b.GivenTitle || n.Archived != b.Archived ||
		n.Deleted != b.Deleted || !slices.Equal(n.Later, b.Later) || !slices.EqualFunc(b.Items, n.Items, Item.equal)
}

// Begun returns the items that the change puts in progress. running also has the author's items still in progress.
func (d *Draft) Begun() (begun, running []Item) {
	find := Near(d.Before.Items)
	for n, item := range d.next.Items {
		before, _ := find(n, item.ID)
		begins := item.Status == InProgress && before.Status != InProgress
		if begins {
			begun = append(begun, item)
		}
		if begins || item.Status == InProgress && item.BegunBy == d.author {
			running = append(running, item)
		}
	}
	return begun, running
}

// Archive archives the list if away is true, else brings it back. replacedBy is the id of its successor; or empty.
func (d *Draft) Archive(away bool, replacedBy string) {
	d.next.Archived, d.next.ReplacedBy, d.archives = away, replacedBy, true
}

// StayLeft keeps the list archived although its items change, but only if another list replaced it.
func (d *Draft) StayLeft() { d.archives = d.Before.ReplacedBy != "" }

// BringsBack reports whether the change explicitly sets the list to not archived.
func (d *Draft) BringsBack() bool { return d.archives && !d.next.Archived }

// Explain sets [Snapshot.Explanation].
func (d *Draft) Explain(text string) { d.next.Explanation = text }

// Note adds a sentence to the Notes of the write's [Report].
func (d *Draft) Note(sentence string) { d.notes = append(d.notes, sentence) }

// Item returns the item with an id as edited so far.
func (d *Draft) Item(id string) (Item, bool) { return d.next.Item(id) }

// Append adds a pending item at the end for each text, with the next ids, and returns these items.
func (d *Draft) Append(texts ...string) []Item {
	from := len(d.next.Items)
	for _, text := range texts {
		d.next.Items = append(d.next.Items, d.newItem(d.nextID(), text))
	}
	return slices.Clone(d.next.Items[from:])
}

// SetStatus sets the status of the item with an id, if there is one, and the fields that depend on the status.
func (d *Draft) SetStatus(id string, status Status) {
	_ = d.Edit(Edit{Do: EditStatus, Item: id, Status: status})
}

// Replace replaces the items by lines, whose statuses are in the words of view. A line that matches a stored item keeps
// the item's id, times, and fields that the view cannot express. Items that the view does not show stay in place.
// Without lines the list becomes empty, unless the view shows none of its items. Replace returns the ids in WaitsFor
// that no item has.
func (d *Draft) Replace(view View, lines []Line) (unknown []string) {
	isHidden := func(i Item) bool { return view.Words[i.Status] == "" }
	if len(lines) == 0 && slices.ContainsFunc(d.next.Items, func(i Item) bool { return !isHidden(i) }) {
		d.next.Items = nil
		return nil
	}
	next := make([]Item, len(lines))
	for i, stored := range match(view, d.next.Items, lines) {
		next[i] = d.applyLine(view, stored, lines[i])
	}
	placed := next
	if slices.ContainsFunc(d.next.Items, isHidden) {
		next = WithMissing(next, d.next.Items, isHidden)
	}
	d.next.Items = next
	if !view.Keys && !slices.ContainsFunc(lines, func(l Line) bool { return l.WaitsFor != nil }) {
		return nil
	}
	return d.link(view, lines, placed)
}

// Names reports whether every line names an item by its id.
func (d *Draft) Names(view View, lines []Line) bool {
	places := view.placesOf(d.next.Items)
	return !slices.ContainsFunc(lines, func(l Line) bool { _, known := places[l.ID]; return !known })
}

// Restore replaces the items by those of an earlier revision, or of another list, ids included. Items added afterwards
// still get unused ids. For an item that Restore puts in progress, BegunBy is the draft's author.
func (d *Draft) Restore(items []Item) {
	before := Near(d.next.Items)
	d.next.Items = slices.Clone(items)
	for i, item := range d.next.Items {
		d.next.LastID = max(d.next.LastID, ItemNumber(item.ID))
		now, stays := before(i, item.ID)
		switch {
		case stays && item.Status == now.Status:
			d.next.Items[i].BegunBy, d.next.Items[i].ByPerson = now.BegunBy, now.ByPerson
		case item.Status == InProgress:
			d.next.Items[i].BegunBy = d.author
		}
		if stays {
			d.next.Items[i].PersonEdit, d.next.Items[i].Added, d.next.Items[i].Deleted = now.PersonEdit, now.Added, now.Deleted
		}
	}
}

// Undo reverts the changes from revision old to revision seen: items, title, Archived and Later. If old and seen are
// the same revision, Undo only restores the items. The merge that follows keeps changes made after seen.
func (d *Draft) Undo(old, seen Snapshot) {
	d.Restore(old.Items)
	if old.GivenTitle != seen.GivenTitle {
		d.next.GivenTitle = old.GivenTitle
	}
	if !slices.Equal(old.Later, seen.Later) {
		d.next.Later = slices.Clone(old.Later)
	}
	if old.Archived != seen.Archived {
		d.Archive(old.Archived, "")
	}
}

// applyLine returns the stored item with a line applied, or a new item if stored is nil. If a field of the line equals
// the field that the view shows of the item, the item's field does not change (projection equality).
func (d *Draft) applyLine(view View, stored *Item, line Line) Item {
	status, _ := view.Core(line.Status)
	if stored == nil {
		stored = new(d.newItem(d.nextID(), line.Text))
		if stored.Active = line.Active; view.Keys {
			stored.Key = line.ID
		}
	}
	item := *stored
	shown, _ := view.Show(item)
	if view.Keys && line.ID != "" && line.ID != shown.ID {
		item.Key = line.ID
	}
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
		item.setStatus(status, d.author, d.now)
		listed := view.Words[status]
		item.Said = listed != "" && listed != line.Status
	}
	if item.Status.HasReason() {
		item.Reason = cmp.Or(line.Reason, item.Reason)
	}
	item.Priority = cmp.Or(line.Priority, item.Priority)
	item.DueDate = cmp.Or(line.DueDate, item.DueDate)
	item.Details = cmp.Or(line.Details, item.Details)
	if line.Owner != nil && *line.Owner != item.Owner {
		item.Owner, item.Holder = *line.Owner, d.author
	}
	return item
}

// Snapshot returns the next revision, ready to be saved.
func (d *Draft) Snapshot(w Writer, op Operation) Snapshot {
	next := d.next
	next.Revision++
	if next.Items == nil {
		next.Items = []Item{}
	}
	if next.Explanation == d.Before.Explanation {
		next.Explanation = "" // it explained the previous revision
	}
	next.Updated = d.now
	if !w.Person {
		next.Worked = d.now
	}
	if d.Before.Revision > 0 && d.Before.Writer.Person != w.Person {
		next.Other = d.Before.Revision
	}
	next.Writer, next.Operation, next.Report, next.Seq = w, op, Report{}, 0
	next.Workers = d.workers(w)
	if next.Archived && !d.archives && !slices.EqualFunc(d.Before.all(), next.all(), Item.same) {
		next.Archived, next.ReplacedBy = false, "" // a change of items brings it back
	}
	return next
}

// Put applies lines to the items that have their ids. Fields that a line leaves empty stay. A line with a text and an
// unknown id adds an item. In a view with Keys, the item is added at the end. Else the line's id must be an
// [ItemNumber]: it becomes the item's id, and the item goes before items with larger ids. Put returns the ids in
// WaitsFor that no item has.
func (d *Draft) Put(view View, lines ...Line) (unknown []string) {
	placed, places := make([]Item, len(lines)), view.placesOf(d.next.Items)
	for n, line := range lines {
		at, isKnown := places[line.ID]
		if isKnown && view.Keys && line.Text != "" {
			// An agent's key may equal an id of ours. So if any item has a key, a line that names an item without a key
			// must also have its text; else the line is a new item.
			item := d.next.Items[at]
			isKnown = item.Key != "" || item.isNamed(line.Text) ||
				!slices.ContainsFunc(d.next.Items, func(i Item) bool { return i.Key != "" })
		}
		if !isKnown {
			if at = d.insert(view, line); at < 0 {
				continue
			}
			places = view.placesOf(d.next.Items)
		}
		item := &d.next.Items[at]
		shown, _ := view.Show(*item)
		line.Text, line.Active = cmp.Or(line.Text, shown.Text), cmp.Or(line.Active, shown.Active)
		line.Status = cmp.Or(line.Status, shown.Status)
		*item = d.applyLine(view, item, line)
		placed[n] = *item
	}
	return d.link(view, lines, placed)
}

// insert adds a pending item, without its text yet, for a line. It returns the index; -1 if the line cannot be added.
func (d *Draft) insert(view View, line Line) int {
	n := ItemNumber(line.ID)
	if line.Text == "" || n == 0 && !view.Keys {
		return -1
	}
	item := d.newItem(line.ID, "")
	if view.Keys {
		item.ID, item.Key = d.nextID(), line.ID
	} else {
		d.next.LastID = max(d.next.LastID, n)
	}
	at := slices.IndexFunc(d.next.Items, func(o Item) bool { return ItemNumber(o.ID) > n })
	if at < 0 || view.Keys {
		at = len(d.next.Items)
	}
	d.next.Items = slices.Insert(d.next.Items, at, item)
	return at
}

// ItemNumber returns an item's id as a number; 0 if the id is not a number from 1 to [MaxID].
func ItemNumber(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > MaxID || strconv.Itoa(n) != id {
		return 0
	}
	return n
}

// Step is one write: it takes a list to its next revision.
type Step struct {
	Change  Change
	Sent    *Sent
	Author  string // the writer: [PersonChat], or the id of a chat; empty if not known
	At      time.Time
	Present func(author string) bool // reports whether an author's chat is here; nil if no chat is
	Title   string                   // see [board.Write.Title]
	Mirrors bool                     // the write may change the items of a list that is [List.Mirrored]
}

// Draft applies the change to the shown revision, and merges the result into newest; or returns the change's error.
func (s Step) Draft(shown, newest Snapshot) (*Draft, error) {
	d := &Draft{Before: shown, next: shown, now: s.At.UTC(), author: s.Author, present: s.Present}
	d.next.Items, d.next.Later = slices.Clone(shown.Items), slices.Clone(shown.Later)
	if err := s.Change(d); err != nil {
		return nil, err
	}
	if shown.Revision != newest.Revision {
		d.rebase(newest)
	}
	return d, nil
}

// Changes reports whether the change fails, or would alter the items of newest, their order, texts or statuses.
func (s Step) Changes(shown, newest Snapshot) bool {
	d, err := s.Draft(shown, newest)
	if err != nil {
		return true
	}
	d.applyEdits(shown, len(s.Sent.Lines) > 0)
	return !slices.EqualFunc(newest.Items, d.next.Items, func(a, b Item) bool {
		return a.ID == b.ID && a.Text == b.Text && a.Status == b.Status
	})
}

// Settle completes and checks a draft, and fills the report for the writer. It protects people's edits and other
// agents' items from the draft. saw is the revision that the writer was shown. It returns [ErrMirrored], [ErrCycle], a
// [*TakenError], or an [*InputError] for a list that grows beyond [CheckSize].
func (s Step) Settle(d *Draft, saw Snapshot, report *Report) error {
	report.Kept = d.applyEdits(saw, len(s.Sent.Lines) > 0)
	var err error
	if report.Held, err = d.keepOthers(s.Sent.Lines != nil); err != nil {
		return err
	}
	var cycle error
	if slices.ContainsFunc(d.next.Items, func(i Item) bool { return i.Key != "" || i.WaitsFor != "" }) {
		d.tidy()
		cycle = checkWaits(d.next.Items)
	}
	if d.next.GivenTitle == "" && s.Title != "" {
		d.next.GivenTitle, _ = CleanTitle(s.Title)
	}
	if slices.ContainsFunc(report.Kept, func(k Difference) bool { return k.Kind == Moved }) {
		report.Ordered = texts(d.next.Items)
	}
	if d.Before.List.Mirrored && !s.Mirrors && !slices.EqualFunc(d.Before.all(), d.next.all(), Item.same) {
		return ErrMirrored
	}
	if cycle != nil && !d.Before.List.Mirrored && !s.Mirrors {
		return cycle
	}
	// Variants check sizes before a merge; a merged list may be larger. A list that does not grow is never refused.
	was, now := d.Before.all(), d.next.all()
	if len(now) > len(was) || Size(now) > Size(was) {
		if err := CheckSize(now); err != nil {
			return &InputError{Problems: []Problem{{Message: err.Error()}}, Err: err}
		}
	}
	report.Notes = d.notes
	find := Near(d.next.Items)
	for n, item := range d.Before.Items {
		switch now, stays := find(n, item.ID); {
		case !stays && !item.Status.Settled():
			report.Dropped = append(report.Dropped, item)
		case stays && item.Status == Completed && !now.Status.Settled() && s.Sent.Lines != nil && s.Author != PersonChat:
			report.Reopened = append(report.Reopened, now)
		}
	}
	return nil
}
