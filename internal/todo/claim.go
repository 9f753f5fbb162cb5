package todo

import (
	"cmp"
	"fmt"
	"slices"
)

// This file lets several agents share the items of one list.

// Next is an id for [Draft.Take] that stands for the first item that is ready.
const Next = "next"

// Worker is an agent that works on a list with others.
type Worker struct {
	Chat   string `json:"chat"` // the id of its chat
	Client string `json:"client,omitempty"`
	Agent  string `json:"agent,omitempty"` // a sub-agent's name
}

const maxWorkers = 100 // per list

// workers returns Workers for a revision by w. An agent that is new to the list replaces agents that are not present.
func (d *Draft) workers(w Writer) []Worker {
	of, all := d.Before.List, d.Before.Workers
	isKnown := func(o Worker) bool { return o.Chat == d.author }
	if w.Person || d.author == "" || len(all) == 0 && d.author == of.Conversation || d.Before.Revision == 0 || slices.ContainsFunc(all, isKnown) {
		return all
	}
	if len(all) == 0 {
		all = []Worker{{of.Conversation, of.Client, of.Agent}}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(o Worker) bool { return !d.isOthers(o.Chat) })
	if len(all) < maxWorkers {
		all = append(all, Worker{d.author, w.Client, w.Agent})
	}
	return all
}

// Has returns the agent that works on an item in progress: a zero Worker if that agent is not known or is the list's
// only one. number counts the agents with the same client and name, from 1; it is 0 if no other agent has both.
func (s Snapshot) Has(i Item) (w Worker, number int) {
	at := slices.IndexFunc(s.Workers, func(w Worker) bool { return w.Chat == i.BegunBy })
	if at < 0 || i.Status != InProgress || len(s.Workers) < 2 {
		return Worker{}, 0
	}
	w = s.Workers[at]
	same := 0
	for n, o := range s.Workers {
		if o.Client == w.Client && o.Agent == w.Agent {
			if same++; n <= at {
				number = same
			}
		}
	}
	if same == 1 {
		number = 0
	}
	return w, number
}

// newItem returns a pending item. It sets [Item.Holder] if the author is an agent that did not begin the (named) list.
func (d *Draft) newItem(id, text string) Item {
	item, l := Item{ID: id, Text: text, Status: Pending, Created: d.now}, d.Before.List
	isNew := d.Before.Revision == 0 && l.Conversation == "" // a list that the author never saw has revision 0, too
	if l.Name != "" && !isNew && d.author != PersonChat && d.author != l.Conversation {
		item.Holder = d.author
	}
	return item
}

// TakenError refuses to take, settle or remove an item that another agent owns or has in progress.
type TakenError struct {
	Item Item
	By   string // the item's owner, else the other agent's name or client; empty if not known
}

func (e *TakenError) Error() string { return fmt.Sprintf("item %s is taken by %q", e.Item.ID, e.By) }

func (d *Draft) taken(i Item) error {
	w, _ := d.Before.Has(i)
	return &TakenError{i, cmp.Or(i.Owner, w.Agent, w.Client)}
}

// Take gives an item an owner, unless owner is empty, and puts it in progress if begins is true. In both cases it
// returns a [*TakenError] if another present agent owns the item by another name or has it in progress. With [Next] it
// takes the first item that waits for no open item, that no other present agent owns or works on, and that is pending
// or was left in progress by another agent. Take returns the item's id; empty if there is no such item.
func (d *Draft) Take(id, owner string, begins bool) (string, error) {
	waiting := OpenWaits(d.next.Items)
	for n := range d.next.Items {
		item := &d.next.Items[n]
		switch {
		case id == Next:
			left := item.Status == InProgress && item.BegunBy != d.author
			if !left && item.Status != Pending || len(waiting(*item)) > 0 || d.isTaken(*item, owner, true) {
				continue
			}
		case item.ID != id:
			continue
		case d.isTaken(*item, owner, begins):
			return "", d.taken(*item)
		}
		if owner != "" || begins {
			item.Holder = d.author
		}
		if owner != "" {
			item.Owner = owner
		}
		if begins && item.Status == InProgress {
			item.BegunBy = d.author // the agent that began it is not present
		} else if begins {
			item.setStatus(InProgress, d.author, d.now)
		}
		return item.ID, nil
	}
	return "", nil
}

// isTaken reports whether the author may not own or begin an item because another present agent owns it or began it.
func (d *Draft) isTaken(i Item, owner string, begins bool) bool {
	isBegun := i.Status == InProgress && d.isOthers(i.BegunBy)
	isOwned := i.Owner != "" && i.Owner != owner && d.isOthers(i.Holder)
	return (owner != "" || begins) && (isBegun || isOwned)
}

// isOthers reports whether an author is an agent other than the draft's author, and is present.
func (d *Draft) isOthers(author string) bool {
	return author != "" && author != d.author && d.present != nil && d.present(author)
}

// keepOthers protects, on a named list, the items of other present agents. It refuses a write that settles or removes
// an item that such an agent has in progress, with a [*TakenError]. In a whole-list write the item instead keeps its
// status, and keepOthers returns it if the write sent it as settled. A whole-list write neither removes nor reopens
// items that these agents hold or began.
func (d *Draft) keepOthers(isWhole bool) (held []Item, err error) {
	if d.Before.List.Name == "" || d.Before.List.Mirrored || d.author == "" || d.author == PersonChat {
		return nil, nil
	}
	isTheirs := func(i Item) bool {
		return d.isOthers(cmp.Or(i.Holder, d.Before.List.Conversation)) || d.isOthers(i.BegunBy)
	}
	next := placesOf(d.next.Items)
	for _, was := range d.Before.Items {
		at, stays := next[was.ID]
		if stays && was.Status == d.next.Items[at].Status {
			continue
		}
		ends := !stays || d.next.Items[at].Status.Settled()
		switch has := was.Status == InProgress && d.isOthers(was.BegunBy); {
		case ends && has && !isWhole:
			return nil, d.taken(was)
		case ends && has && stays:
			held = append(held, was)
			d.next.Items[at].takeStatus(was)
		case !ends && isWhole && was.Status.Settled() && isTheirs(was):
			d.next.Items[at].takeStatus(was)
		}
	}
	if isWhole {
		d.next.Items = WithMissing(d.next.Items, d.Before.Items, isTheirs)
	}
	return held, nil
}
