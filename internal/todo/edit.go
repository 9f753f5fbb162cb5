package todo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// EditKind is the kind of an [Edit].
type EditKind string

// The kinds of edits. From EditRename on, they are edits of the list itself.
const (
	EditStatus    EditKind = "status"    // give an item a Status
	EditBlock     EditKind = "block"     // block an item; Text is why, or empty
	EditText      EditKind = "text"      // give an item another Text
	EditAdd       EditKind = "add"       // add an item with a Text at the end of the list, or of Later if After is set
	EditNow       EditKind = "now"       // move an item, or all if none is given, from [Snapshot.Later] to the list
	EditRemove    EditKind = "remove"    // remove an item
	EditMove      EditKind = "move"      // move an item to the index To
	EditFinish    EditKind = "finish"    // complete all items that are open
	EditBack      EditKind = "back"      // bring back a person's overridden edit of an item or, without id, the order
	EditItems     EditKind = "items"     // replace the items by Lines
	EditRestore   EditKind = "restore"   // replace the items by those of Revision
	EditUndo      EditKind = "undo"      // revert the changes from revision From to Seen
	EditRename    EditKind = "rename"    // give the list the Text as title; empty removes it
	EditArchive   EditKind = "archive"   // archive the list, see [Snapshot.Archived]
	EditUnarchive EditKind = "unarchive" // bring back an archived list
	EditDelete    EditKind = "delete"    // delete the list, and the lists of its sub-agents
	EditUndelete  EditKind = "undelete"  // bring back a deleted list
)

// Edit is one thing that a person does to a list. All front ends make the same edits; in JSON, an Edit is the body of
// the panel's POST /lists/{id}/edit. The kind in Do decides which of the other fields are used.
type Edit struct {
	Do     EditKind `json:"do"`
	Item   string   `json:"id,omitempty"` // the item's id
	Status Status   `json:"status,omitempty"`
	Text   string   `json:"text,omitempty"` // the item's text, why it is blocked, or the list's title
	To     int      `json:"to,omitempty"`   // the new index, from 0; outside the list it means the nearer end
	// Lines are all items, in core statuses. A line keeps the item with its id or text. [], not nil, clears the list.
	Lines []Line `json:"lines,omitzero"`
	// After puts the added item into [Snapshot.Later]. Later, unless nil, replaces the texts of all items in
	// Snapshot.Later. If no turn is known to be under way, After and Later add their items to the list at once.
	After    bool     `json:"after,omitempty"`
	Later    []string `json:"later,omitzero"`
	Revision int64    `json:"revision,omitempty"`
	// Seen is the revision that the person saw, the base for merging edits of items; 0 means the newest.
	Seen int64 `json:"seen,omitempty"`
	From int64 `json:"from,omitempty"`
	// Operation identifies an edit that may be sent again; else it is empty.
	Operation string `json:"op,omitempty"`
}

// ofItem reports whether an edit of this kind needs an item.
func (k EditKind) ofItem() bool {
	return slices.Contains([]EditKind{EditStatus, EditBlock, EditText, EditRemove, EditMove}, k)
}

// AtOnce returns the edit changed to add items to the list now, not at the end of a turn.
func (e Edit) AtOnce() Edit {
	e.After = false
	for _, text := range e.Later {
		e.Lines = append(slices.Clip(e.Lines), Line{Text: text, Status: string(Pending)})
	}
	e.Later = e.Later[:0:0] // nil stays nil
	return e
}

// ErrItemGone refuses an edit of an item that is not on the list.
var ErrItemGone = errors.New("the item is not on the list any more")

// OfItems reports whether the edit is of the items, not of the list itself.
func (e Edit) OfItems() bool {
	return !slices.Contains([]EditKind{EditRename, EditArchive, EditUnarchive, EditDelete, EditUndelete}, e.Do)
}

// Clean returns the edit with a clean Text ([CleanText], [CleanTitle]), or an [*InputError] if the edit is not valid.
func (e Edit) Clean() (Edit, error) {
	clean := CleanText
	if e.Do == EditRename {
		clean = CleanTitle
	}
	text, err := clean(e.Text)
	if e.Text = text; err == nil {
		err = e.check()
	}
	if err != nil {
		return e, &InputError{Problems: []Problem{{Message: err.Error()}}}
	}
	return e, nil
}

func (e Edit) check() error {
	item := Item{Text: "-", Status: Pending} // a valid item, which gets the values of the edit to check them
	switch e.Do {
	case EditStatus:
		item.Status = e.Status
	case EditBlock:
		item.Status, item.Reason = Blocked, e.Text
	case EditText, EditAdd:
		item.Text = e.Text
	case EditItems:
		all := e.AtOnce().Lines
		if e.Lines == nil || len(all) > MaxItems {
			return fmt.Errorf("lines must be an array of at most %d items", MaxItems)
		}
		for n, l := range all {
			if err := (Item{Text: l.Text, Active: l.Active, Status: Status(l.Status)}).Check(); err != nil {
				return fmt.Errorf("line %d: %w", n+1, err)
			}
		}
	case EditRestore:
		if e.Revision < 1 {
			return errors.New("restore needs the revision that comes back")
		}
	case EditUndo:
		if e.From < 1 || e.Seen <= e.From {
			return errors.New("undo needs the revisions from and seen")
		}
	case EditRemove, EditMove, EditFinish, EditBack, EditNow, EditRename, EditArchive, EditUnarchive, EditDelete, EditUndelete:
	default:
		return errors.New("do must be status, block, text, add, now, remove, move, finish, back, items, restore, undo, " +
			"rename, archive, unarchive, delete or undelete")
	}
	if e.Item == "" && e.Do.ofItem() {
		return errors.New("id must be that of an item")
	}
	return item.Check()
}

// Edit makes an edit, except EditRestore and EditUndo. It returns [ErrItemGone] if the edit's item does not exist.
func (d *Draft) Edit(e Edit) error {
	items, at := d.next.Items, indexOf(d.next.Items, e.Item)
	if later := indexOf(d.next.Later, e.Item); later >= 0 && e.Do == EditText {
		d.next.Later[later].Text = e.Text
		return nil
	} else if later >= 0 && e.Do == EditRemove {
		d.next.Later = slices.Delete(d.next.Later, later, later+1)
		return nil
	}
	if at < 0 && (e.Do.ofItem() || e.Do == EditBack && e.Item != "" && indexOf(d.next.Gone, e.Item) < 0) {
		return ErrItemGone
	}
	switch e.Do {
	case EditStatus:
		items[at].setStatus(e.Status, d.author, d.now)
	case EditBlock:
		items[at].setStatus(Blocked, d.author, d.now)
		items[at].Reason = e.Text
	case EditText:
		items[at].setText(e.Text)
	case EditRemove:
		d.next.Items = slices.Delete(items, at, at+1)
	case EditMove:
		item := items[at]
		items = slices.Delete(items, at, at+1)
		d.next.Items = slices.Insert(items, min(max(e.To, 0), len(items)), item)
	case EditFinish:
		for i := range items {
			if !items[i].Status.Settled() {
				items[i].setStatus(Completed, d.author, d.now)
			}
		}
	case EditBack:
		d.bringBack(at, e.Item)
	case EditAdd:
		if e.After {
			d.setLater(append(texts(d.next.Later), e.Text))
		} else {
			d.Append(e.Text)
		}
	case EditNow:
		d.release(e.Item)
	case EditItems:
		if e.Later != nil {
			d.setLater(e.Later)
		}
		view := CoreView()
		view.Active = false
		d.Replace(view, e.Lines)
	case EditRename:
		d.next.GivenTitle = e.Text
	case EditArchive, EditUnarchive:
		d.Archive(e.Do == EditArchive, "")
	case EditDelete, EditUndelete:
		d.next.Deleted = e.Do == EditDelete
	}
	return nil
}

// bringBack restores a person's edit of an item that an agent overrode: the wording of its text, its removal, or its
// addition. at is the item's index on the list, or negative. If neither the list nor Gone has an item with the id,
// bringBack restores the person's order of the items.
func (d *Draft) bringBack(at int, id string) {
	switch gone := indexOf(d.next.Gone, id); {
	case gone >= 0 && at < 0:
		if item := d.next.Gone[gone]; item.Added {
			d.next.Items = append(d.next.Items, item)
		}
	case at >= 0 && d.next.Items[at].Deleted:
		d.next.Items = slices.Delete(d.next.Items, at, at+1)
	case at < 0 && d.next.OrderOverridden():
		d.next.Items = inOrderOf(itemsOf(d.next.Order.Text), d.next.Items)
	case at >= 0 && d.next.Items[at].Overridden():
		d.next.Items[at].setText(d.next.Items[at].PersonEdit.Text)
	}
}

// laterPrefix begins the ids of items in [Snapshot.Later].
const laterPrefix = "later-"

// all returns the items of the list and of Later.
func (s Snapshot) all() []Item {
	if len(s.Later) == 0 {
		return s.Items
	}
	return slices.Concat(s.Items, s.Later)
}

// laterID returns an id, made from the time, that no other item in Later has.
func (d *Draft) laterID() string {
	n := d.now.UnixNano()
	for {
		id := laterPrefix + strconv.FormatInt(n, 36)
		if indexOf(d.next.Later, id) < 0 {
			return id
		}
		n++
	}
}

// setLater sets Later to one item for each text. An item already in Later that has one of these texts is kept.
func (d *Draft) setLater(texts []string) {
	was := d.next.Later
	d.next.Later = nil
	for _, text := range texts {
		item := Item{ID: d.laterID(), Text: text, Status: Pending, Created: d.now}
		if at := slices.IndexFunc(was, func(i Item) bool { return i.Text == text }); at >= 0 {
			item = was[at]
			was = slices.Delete(was, at, at+1)
		}
		d.next.Later = append(d.next.Later, item)
	}
}

// release moves the item with an id from Later to the list, or all items if the id is empty.
func (d *Draft) release(id string) {
	d.next.Later = slices.DeleteFunc(slices.Clone(d.next.Later), func(item Item) bool {
		isReleased := id == "" || item.ID == id
		if isReleased {
			item.ID = d.nextID()
			d.next.Items = append(d.next.Items, item)
		}
		return isReleased
	})
}
