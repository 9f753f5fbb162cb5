package panel

import (
	"cmp"
	"fmt"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
	"todo-mcp/server/sse"
)

// update is what changed of one list, for the pages that show it. It is drawn
// when the first of them is sent it.
type update struct {
	name   string // of its event: list for boards, page for the list's own page
	id     string
	panel  *Panel
	gone   bool // the list was deleted
	person bool // a person wrote; for boards
	family account.Family
	// page is what the list's own page shows, before what it showed.
	page, before *listPage
}

// change is the data of an event.
type change struct {
	ID  string `json:"id"`
	Seq int64  `json:"seq"`
	// Pieces are drawn parts of a page, by element id: all that show the list on boards,
	// and what changed of the list's own page.
	Pieces map[string]string `json:"pieces"`
	// What is said of it: by screen readers, and in notifications.
	Say    string     `json:"say"`
	Title  string     `json:"title"`
	State  todo.State `json:"state"`
	Reason string     `json:"reason,omitempty"` // for what the agent waits
	Failed int        `json:"failed"`
	At     int64      `json:"at"`               // when it changed, in ms
	Person bool       `json:"person,omitempty"` // a person changed it
	// Archived is true when it was put away, Gone when it was deleted.
	Archived bool `json:"archived,omitempty"`
	Gone     bool `json:"gone,omitempty"`
	// Place says where the list stands on the board: while it is the same, nothing
	// moves.
	Place string `json:"place"`
	// From and To are versions of the list's own page, and Order the ids of all its
	// items.
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	Revision int64    `json:"revision"`
	Order    []string `json:"order,omitzero"`
}

// events draws the update.
func (u *update) events() []sse.Event {
	c := change{ID: u.id, Gone: u.gone, Person: u.person || u.gone, Pieces: make(map[string]string)}
	switch {
	case u.gone:
	case u.name == "page":
		u.drawPage(&c)
	default:
		u.drawBoard(&c)
	}
	return []sse.Event{{ID: u.family.Seq(), Name: u.name, Data: c}}
}

// describe says how a list stands.
func (c *change) describe(f *account.Family, now time.Time) {
	c.Seq, c.Revision, c.Place, c.Say = f.Seq(), f.Main.Revision, placeOf(f, now), spoken(f, now)
	c.Title, c.State, c.Failed = titleOf(f.Main), f.State(), f.Progress().Failed
	c.At, c.Archived = f.Updated().UnixMilli(), f.Main.Archived
}

// drawBoard draws the parts of boards.
func (u *update) drawBoard(c *change) {
	f, d := &u.family, drawing{u.panel.config.Now()}
	c.describe(f, d.now)
	if _, item, ok := f.Waits(); ok {
		awaited := cutItem(itemOf(item, time.Time{}, true))
		c.Reason = cmp.Or(awaited.Reason, awaited.Title)
	}
	c.Pieces = map[string]string{"card-" + u.id: drawn(d.card(f)), "row-" + u.id: drawn(d.row(f, "", "")),
		"now-" + u.id: drawn(d.nowRow(f))}
}

// drawPage draws the parts of the list's own page.
func (u *update) drawPage(c *change) {
	page := u.page
	c.describe(&page.Family, page.now)
	c.From, c.To, c.Order = u.before.version, page.version, []string{}
	c.Pieces = map[string]string{"head": drawn(page.heading()), "side": drawn(page.side()), "subs": drawn(page.subs()),
		"fold": drawn(page.fold())}
	before := make(map[string]itemView)
	for _, i := range u.before.items {
		before[i.ID] = i
	}
	for _, i := range page.items {
		c.Order = append(c.Order, i.ID)
		if before[i.ID] != i {
			c.Pieces["i-"+i.ID] = drawn(page.item(i))
		}
	}
}

// spoken returns what screen readers say when a list changes.
func spoken(f *account.Family, now time.Time) string {
	progress, present := f.Progress(), nowOf(f, now)
	text := fmt.Sprintf("%s: %d of %d done", titleOf(f.Main), progress.Done, progress.Total)
	switch {
	case f.State() == todo.Waiting:
		text += ", waiting for you"
	case present != nil:
		text += ", now " + present.Title
	case f.State() == todo.LeftOpen:
		text += ", left open"
	}
	return text
}
