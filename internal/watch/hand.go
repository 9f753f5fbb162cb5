package watch

import (
	"fmt"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// hand is what a person did to an item, as far as it is said at the item.
type hand struct {
	fate   account.Fate
	person string // the person's text of an item that is overridden
}

// handOn returns what a person did to an item of a list.
func (m *model) handOn(s todo.Snapshot, item todo.Item) hand {
	h := m.standings[s.List.ID].Hand
	return hand{h.Of(item.ID), h.Overridden[item.ID]}
}

// bringsBack says below an overridden item which key brings back what the person wrote.
func (h hand) bringsBack(width int) string {
	return render.Cut("B brings back: "+render.Safe(h.person), width)
}

// waiting says how many changes of people wait to be seen, of items and of the title.
func (m *model) waiting(s todo.Snapshot) string {
	h := m.standings[s.List.ID].Hand
	n := len(h.Unseen)
	if h.Title == account.Waits {
		n++
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "1 change waits to be seen"
	}
	return fmt.Sprintf("%d changes wait to be seen", n)
}

// orderLine says above the items that an agent overrode their order.
func (m *model) orderLine(s todo.Snapshot, width int) string {
	if m.standings[s.List.ID].Hand.Order != account.Overridden {
		return ""
	}
	return " " + paint(warn, render.Cut("Your order is overridden. B brings it back.", width-2))
}

// bringBack brings back what an agent overrode: the person's text of the item under
// the cursor, else the person's order.
func (m *model) bringBack() effect {
	s, item, _ := m.cursorItem()
	h := m.standings[s.List.ID].Hand
	switch {
	case h.Of(item.ID) == account.Overridden:
	case h.Order == account.Overridden:
		item.ID = ""
	default:
		m.say(dim, "Nothing of yours is overridden here.")
		return effect{}
	}
	return m.send(edit{Edit: todo.Edit{Do: todo.EditBack, Seen: s.Revision, Item: item.ID}, list: s.List.ID})
}

// fateLine says below the time of a revision what became of it, if a person made it, or
// what of a person's an agent overrode with it; before is the revision before it.
func (m *model) fateLine(before, s todo.Snapshot, width int) string {
	look, text := warn, render.AgainstHand(before, s)
	if account.Told(before, s) {
		fate := m.standings[s.List.ID].OfRevision(s.Revision)
		text, look = string(fate), map[account.Fate]role{account.Waits: accent, account.Seen: dim, account.Overridden: warn}[fate]
	}
	if text == "" {
		return ""
	}
	return " " + paint(look, render.Cut(text, width-2))
}
