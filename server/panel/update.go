package panel

import (
	"cmp"
	"fmt"
	"strings"
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
func (c *change) describe(v listView) {
	c.Seq, c.Revision, c.Place, c.Say, c.Title, c.State = v.Seq, v.Revision, v.Place, spoken(v), v.Title, v.State
	c.Failed, c.At, c.Archived = v.Progress.Failed, v.Updated.UnixMilli(), v.Archived
}

// drawBoard draws the parts of boards.
func (u *update) drawBoard(c *change) {
	v := cardOf(u.family, u.panel.config.Now())
	c.describe(v)
	if _, item, ok := u.family.Waits(); ok {
		awaited := cutItem(itemOf(item, time.Time{}, true))
		c.Reason = cmp.Or(awaited.Reason, awaited.Title)
	}
	for name, id := range map[string]string{"card": "card-", "row": "row-", "nowrow": "now-"} {
		c.Pieces[id+v.ID] = u.panel.draw(name, v)
	}
}

// drawPage draws the parts of the list's own page.
func (u *update) drawPage(c *change) {
	c.describe(u.page.listView)
	c.From, c.To, c.Order = u.before.Version, u.page.Version, []string{}
	for _, name := range []string{"head", "side", "subs", "fold"} {
		c.Pieces[name] = u.panel.draw(name, u.page)
	}
	before := make(map[string]itemView)
	for _, i := range u.before.AllItems {
		before[i.ID] = i
	}
	for _, i := range u.page.AllItems {
		c.Order = append(c.Order, i.ID)
		if before[i.ID] != i {
			c.Pieces["i-"+i.ID] = u.panel.draw("item", i)
		}
	}
}

// draw returns a template drawn with a view. The templates are checked by every
// test that opens a page, so a failure is a fault of the program.
func (p *Panel) draw(name string, data any) string {
	var b strings.Builder
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// spoken returns what screen readers say when a list changes.
func spoken(v listView) string {
	text := fmt.Sprintf("%s: %d of %d done", v.Title, v.Progress.Done, v.Progress.Total)
	switch {
	case v.State == todo.Waiting:
		text += ", waiting for you"
	case v.Now != nil:
		text += ", now " + v.Now.Title
	case v.State == todo.LeftOpen:
		text += ", left open"
	}
	return text
}
