package todo

import "fmt"

// This file has how several agents share the items of one list.

// Next stands for the id of an item in [Draft.Take]: the first one that is ready.
const Next = "next"

// TakenError refuses to take an item that another agent has.
type TakenError struct{ Item Item }

func (e *TakenError) Error() string {
	return fmt.Sprintf("item %s is taken by %q", e.Item.ID, e.Item.Owner)
}

// Take gives an item to an owner, or puts it in progress, or both, unless another agent has
// it: one that is named otherwise as its owner, or put it in progress, and is present.
// It returns the item's id, which with [Next] is the first one that is pending, waits for
// nothing and is nobody's else, or that an agent left behind in progress; empty when there
// is none. The error is a [*TakenError].
func (d *Draft) Take(id, owner string, begins bool) (string, error) {
	waiting := OpenWaits(d.next.Items)
	for n := range d.next.Items {
		item := &d.next.Items[n]
		switch {
		case id == Next:
			left := item.Status == InProgress && item.BegunBy != d.hand
			if !left && item.Status != Pending || len(waiting(*item)) > 0 || d.isTaken(*item, owner, true) {
				continue
			}
		case item.ID != id:
			continue
		case d.isTaken(*item, owner, begins):
			return "", &TakenError{*item}
		}
		if owner != "" || begins {
			item.Holder = d.hand
		}
		if owner != "" {
			item.Owner = owner
		}
		if begins && item.Status == InProgress {
			item.BegunBy = d.hand // who began it has left
		} else if begins {
			item.setStatus(InProgress, d.hand, d.now)
		}
		return item.ID, nil
	}
	return "", nil
}

// isTaken reports whether another agent has an item that this one would be the owner of, or
// would put in progress.
func (d *Draft) isTaken(i Item, owner string, begins bool) bool {
	isThere := func(hand string) bool { return hand != "" && hand != d.hand && d.present != nil && d.present(hand) }
	if i.Status == InProgress && isThere(i.BegunBy) {
		return owner != "" || begins
	}
	return i.Owner != "" && i.Owner != owner && isThere(i.Holder) && (owner != "" || begins)
}
