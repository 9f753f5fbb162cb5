// Package todo is the model of todo-mcp: items, lists, snapshots, and the changes that lead from one snapshot to the
// next. It is pure: no function reads a store or waits.
//
// It promises two things. A snapshot is immutable and complete. And a list loses nothing when a caller sends back
// unchanged the items that its variant (a todo tool, such as TodoWrite) showed, whichever variant wrote the list before
// (projection equality, see [View]).
//
// The package imports only the standard library and golang.org/x/text/unicode/norm.
package todo

import (
	"cmp"
	"slices"
	"time"
)

// Status is one of the six core statuses. Variants show them in their own words through a [View].
type Status string

// The core statuses. An item starts as [Pending].
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
	Blocked    Status = "blocked"
)

// Statuses lists the core statuses in the order summaries use.
func Statuses() []Status { return []Status{Completed, InProgress, Pending, Failed, Blocked, Cancelled} }

// HasReason reports whether an item in this status may have a reason.
func (s Status) HasReason() bool { return s == Failed || s == Blocked || s == Cancelled }

// Settled reports whether nothing more is expected of an item in this status.
func (s Status) Settled() bool { return s == Completed || s == Failed || s == Cancelled }

// Item is one step of a plan.
type Item struct {
	ID     string `json:"id"`               // "1", "2", … counted up, never reused in its list
	Key    string `json:"key,omitempty"`    // the id that an agent chose, in tools whose callers choose ids; or empty
	Text   string `json:"text"`             // what to do, in one line of at most [MaxText] runes
	Active string `json:"active,omitempty"` // shown in place of Text while in progress ("Writing tests"); or empty
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // why it is blocked, failed or was cancelled; or empty
	// Priority and DueDate are in the agent's own words, from tools with such fields, such as SetTodoList; empty if not
	// sent. A change of status keeps both.
	Priority string `json:"priority,omitempty"`
	DueDate  string `json:"due_date,omitempty"`
	Details  string `json:"details,omitempty"` // further text, in one line of at most [MaxText] runes; or empty
	// Owner names the agent that does the item; empty for nobody. Holder is the author, see [Step.Author], that last
	// set the owner, took the item by [Draft.Take], or added it to a named list that it did not begin; empty for none.
	Owner    string `json:"owner,omitempty"`
	Holder   string `json:"holder,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"` // ids of items to do first, also settled ones, with commas between
	BegunBy  string `json:"begun_by,omitempty"`  // the author, see [Step.Author], that put it in progress last; or empty
	ByPerson bool   `json:"by_person,omitempty"` // a person set the status
	// Added and Deleted are true if a person added or deleted the item. PersonEdit.Repeats counts tries to undo that.
	Added      bool       `json:"added,omitempty"`
	Deleted    bool       `json:"deleted,omitempty"`
	Said       bool       `json:"said,omitempty"`       // an agent sent the status as a core word, see [View.Unlisted]
	PersonEdit PersonEdit `json:"person_edit,omitzero"` // a person's edit of the text

	// When the item was added, first put in progress, and settled, in UTC; zero if it was not. Reopening clears Ended.
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// ActiveText returns the text to show while the item is in progress.
func (i Item) ActiveText() string { return cmp.Or(i.Active, i.Text) }

// Title returns the text to show: the active text while the item is in progress, else Text.
func (i Item) Title() string {
	if i.Status == InProgress {
		return i.ActiveText()
	}
	return i.Text
}

// equal reports whether two items are equal in all stored fields except times.
func (i Item) equal(o Item) bool {
	i.Created, i.Started, i.Ended = o.Created, o.Started, o.Ended
	return i == o
}

// same reports whether two items are equal in all fields that agents and people see, except times, Key and PersonEdit.
func (i Item) same(o Item) bool {
	i.BegunBy, i.ByPerson, i.Said, i.PersonEdit, i.Holder, i.Key = o.BegunBy, o.ByPerson, o.Said, o.PersonEdit, o.Holder, o.Key
	i.Added, i.Deleted = o.Added, o.Deleted
	return i.equal(o)
}

func (i *Item) takeStatus(o Item) {
	i.Status, i.Reason, i.Started, i.Ended = o.Status, o.Reason, o.Started, o.Ended
	i.BegunBy, i.ByPerson, i.Said = o.BegunBy, o.ByPerson, o.Said
}

// setStatus sets the status, and the fields that depend on it.
func (i *Item) setStatus(s Status, author string, now time.Time) {
	if i.Status == s {
		return
	}
	i.Status = s
	i.Reason, i.ByPerson, i.Said = "", author == PersonChat, false
	if s == InProgress {
		i.BegunBy, i.Started = author, cmp.Or(i.Started, now)
	}
	i.Ended = time.Time{}
	if s.Settled() {
		i.Ended = now
	}
}

// setText sets the text. It removes the active text, unless [Fold] returns the same for the old and the new text.
func (i *Item) setText(text string) {
	if Fold(i.Text) != Fold(text) {
		i.Active = ""
	}
	i.Text = text
}

// Line is an item in a variant's form: in a call, as the caller sent it; in a result, as it is shown to the caller.
type Line struct {
	ID     string `json:"id,omitempty"` // empty when the caller sent none
	Text   string `json:"text"`
	Title  string `json:"-"`      // the text for people in a result: Active if the item is shown in progress, else Text
	Active string `json:"-"`      // empty in variants without active texts, and in a person's edit
	Status string `json:"status"` // in the variant's words
	// Only lines of a write have these fields, never lines of a result. An empty string or nil keeps the item's value.
	// A reason has no effect in a status without reasons. A non-nil empty Owner removes the item's owner. WaitsFor has
	// the ids, as the view shows them, of the items to do first.
	Reason   string   `json:"-"`
	Priority string   `json:"-"`
	DueDate  string   `json:"-"`
	Details  string   `json:"-"`
	Owner    *string  `json:"-"`
	WaitsFor []string `json:"-"`
}

// View says which statuses a variant shows, and in which words; docs/spec/variants.md has the table.
type View struct {
	// Words maps a core status to the variant's word. Items with a status that is missing here are not shown.
	Words    map[Status]string
	Active   bool // the variant has an active text
	Keys     bool // its callers give items ids of their own, see [Item.Key]
	Unlisted bool // callers may also send a core status by its own name, which then replaces the view's word
}

// NewView returns a view with these words. Without a word of its own, failed is shown as in progress, blocked as
// pending, and cancelled not at all. NewView adds the words for failed and blocked to the map.
func NewView(words map[Status]string) View {
	for status, as := range map[Status]Status{Failed: InProgress, Blocked: Pending} {
		words[status] = cmp.Or(words[status], words[as])
	}
	return View{Words: words}
}

// Show returns an item as a line. In a view without active texts, Text is Title. ok is false for a hidden item.
func (v View) Show(item Item) (line Line, ok bool) {
	word, ok := v.Words[item.Status]
	if !ok {
		return Line{}, false
	}
	active := cmp.Or(item.Active, item.Text)
	line = Line{ID: item.ID, Text: item.Text, Title: item.Text, Status: word}
	if v.Unlisted && item.Said {
		line.Status = string(item.Status)
	} else if word == v.Words[InProgress] {
		line.Title = active
	}
	if v.Keys {
		line.ID = cmp.Or(item.Key, item.ID)
	}
	if v.Active {
		line.Active = active
	} else {
		line.Text = line.Title
	}
	return line, true
}

// IDs returns the ids of items as the view shows them.
func (v View) IDs(items []Item) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		if ids[i] = item.ID; v.Keys {
			ids[i] = cmp.Or(item.Key, item.ID)
		}
	}
	return ids
}

// Lines returns the items that the view shows as lines, in order; never nil.
func (v View) Lines(items []Item) []Line {
	lines := make([]Line, 0, len(items))
	for _, item := range items {
		if line, ok := v.Show(item); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// Core returns the core status for one of the view's words. If several statuses share the word, Core returns the one
// whose own name is the word, else the first of them in the order of [Statuses]. For other words it returns false,
// except for the name of a core status if [View.Unlisted] is true.
func (v View) Core(word string) (Status, bool) {
	s := Status(word)
	if v.Words[s] == word {
		return s, word != ""
	}
	for _, status := range Statuses() {
		if w, ok := v.Words[status]; ok && w == word {
			return status, true
		}
	}
	if v.Unlisted && slices.Contains(Statuses(), s) {
		return s, true
	}
	return "", false
}

// Accepts returns the words that the view lists, without repeats: those for pending, in progress and completed, then
// the others in the order of [Statuses].
func (v View) Accepts() []string {
	words := make([]string, 0, len(v.Words))
	for _, s := range append([]Status{Pending, InProgress, Completed}, Statuses()...) {
		if w, ok := v.Words[s]; ok && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
