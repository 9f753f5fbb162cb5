package todo

import (
	"errors"
	"fmt"
	"slices"
)

// EditKind is what a person does to a list.
type EditKind string

// The kinds of an [Edit]. Those from EditRename on are of the list itself.
const (
	EditStatus    EditKind = "status"    // give an item a Status
	EditBlock     EditKind = "block"     // block an item; Text is why, or empty
	EditText      EditKind = "text"      // give an item another Text
	EditAdd       EditKind = "add"       // add an item at the end, with a Text; with After see [Snapshot.Later]
	EditNow       EditKind = "now"       // put on the list what waits for the end of the turn: an item, or without one all
	EditRemove    EditKind = "remove"    // remove an item
	EditMove      EditKind = "move"      // move an item to an index
	EditFinish    EditKind = "finish"    // complete all items that are open
	EditBack      EditKind = "back"      // bring back the person's text of an item that an agent overrode, or without one the order
	EditItems     EditKind = "items"     // make the list what Lines say
	EditRestore   EditKind = "restore"   // make the list what it was in Revision
	EditUndo      EditKind = "undo"      // take back what was changed from revision From to Seen
	EditRename    EditKind = "rename"    // give the list a title, the Text, or take it away
	EditArchive   EditKind = "archive"   // put the list away, see Snapshot.Archived
	EditUnarchive EditKind = "unarchive" // bring it back
	EditDelete    EditKind = "delete"    // delete the list, and the lists of its sub-agents
	EditUndelete  EditKind = "undelete"  // bring it back
)

// Edit is one thing that a person does to a list. All front ends make the same
// edits; as JSON, one is the body of the panel's POST /lists/{id}/edit. Of the
// fields after Do a kind uses those that it needs.
type Edit struct {
	Do     EditKind `json:"do"`
	Item   string   `json:"id,omitempty"` // the item's id
	Status Status   `json:"status,omitempty"`
	// Text is the item's text, why it is blocked, or the list's title. It is stored
	// as [CleanText] makes it.
	Text string `json:"text,omitempty"`
	To   int    `json:"to,omitempty"` // an index, from 0; outside the list it means the nearer end
	// Lines are all items, in core statuses. Each stays the item with its id, or the
	// one that has its text. No lines, but not nil, clear the list.
	Lines []Line `json:"lines,omitzero"`
	// After is true for an item that waits for the end of the agent's turn, and Later are the
	// texts of all that do, as Lines; nil leaves them. Where no turn runs, or no hook says so,
	// the item is added at once.
	After    bool     `json:"after,omitempty"`
	Later    []string `json:"later,omitzero"`
	Revision int64    `json:"revision,omitempty"`
	// Seen is the revision that the person saw: what was written since is merged with
	// an edit of items. 0 is the newest.
	Seen int64 `json:"seen,omitempty"`
	From int64 `json:"from,omitempty"`
	// Operation identifies the edit, so that one who does not know whether it arrived
	// may send it again; empty if it is sent once. To delete once more changes nothing
	// either way.
	Operation string `json:"op,omitempty"`
}

// ofItem reports whether an edit of this kind needs an item. [EditBack] may have one.
func (k EditKind) ofItem() bool {
	return slices.Contains([]EditKind{EditStatus, EditBlock, EditText, EditRemove, EditMove}, k)
}

// AtOnce returns the edit as it is where nothing can wait for the end of a turn.
func (e Edit) AtOnce() Edit {
	e.After = false
	for _, text := range e.Later {
		e.Lines = append(slices.Clip(e.Lines), Line{Text: text, Status: string(Pending)})
	}
	if e.Later != nil {
		e.Later = []string{}
	}
	return e
}

// ErrItemGone is the error of an edit of an item that is not on the list which the
// person saw.
var ErrItemGone = errors.New("the item is not on the list any more")

// OfItems reports whether the edit is of the items, which is what the list's agent
// is told of, rather than of the list itself.
func (e Edit) OfItems() bool {
	return !slices.Contains([]EditKind{EditRename, EditArchive, EditUnarchive, EditDelete, EditUndelete}, e.Do)
}

// Clean returns the edit with its text as it is stored, or an [*InputError] that says what
// would be right, unless some list can be edited so.
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
	item := Item{Text: "-", Status: Pending} // with what the edit says of it
	switch e.Do {
	case EditStatus:
		item.Status = e.Status
	case EditBlock:
		item.Status, item.Reason = Blocked, e.Text
	case EditText, EditAdd:
		item.Text = e.Text
	case EditItems:
		return e.checkLines()
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

func (e Edit) checkLines() error {
	all := e.AtOnce().Lines
	if e.Lines == nil || len(all) > MaxItems {
		return fmt.Errorf("lines must be an array of at most %d items", MaxItems)
	}
	for n, l := range all {
		if err := (Item{Text: l.Text, Active: l.Active, Status: Status(l.Status)}).Check(); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return nil
}

// Edit makes an edit that needs no other revision or list; those that do are for the
// board. It returns [ErrItemGone] when no item has the id of one that needs it.
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

// bringBack gives the item at an index the person's text again that an agent has
// overridden, or takes it away again as the person did; one that is gone comes back. Without
// an item the items get the person's order. What is not overridden stays.
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
