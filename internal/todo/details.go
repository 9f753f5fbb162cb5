package todo

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDetail is the maximum length of a priority, due date or owner, in runes.
const MaxDetail = 100

// SetDetails sets one item's priority and due date; nil leaves one as it is, and
// an empty text removes it. It returns false when no item has the id.
func (d *Draft) SetDetails(id string, priority, dueDate *string) bool {
	i := Snapshot{Items: d.items}.index(id)
	if i < 0 {
		return false
	}
	if priority != nil {
		d.items[i].Priority = *priority
	}
	if dueDate != nil {
		d.items[i].DueDate = *dueDate
	}
	return true
}

// CheckDetails returns an error unless the item's priority, due date and owner may be
// stored, each empty or one clean line of at most [MaxDetail] runes, and what it waits
// for are ids. Like [Item.Check] it is for items that no tool has checked.
func (i Item) CheckDetails() error {
	for _, id := range i.Waits() {
		if !IsItemID(id) {
			return errors.New("what an item waits for must be numbers of items")
		}
	}
	for _, text := range []string{i.Priority, i.DueDate, i.Owner} {
		clean, err := CleanText(text)
		switch {
		case err != nil:
			return err
		case !utf8.ValidString(text) || clean != text:
			return errors.New("a priority, due date or owner must be one line, without white space around it")
		case utf8.RuneCountInString(text) > MaxDetail:
			return fmt.Errorf("a priority, due date or owner has more than %d characters", MaxDetail)
		}
	}
	return nil
}
