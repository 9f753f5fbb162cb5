package todo

import "slices"

// Report is the answer to a write, apart from the list itself. Stores keep it with a write that may be repeated.
type Report struct {
	Dropped []Item `json:"dropped,omitempty"` // items that were open and are no longer on the list
	// Reopened are the items that were completed and that a whole-list write opened again.
	Reopened []Item `json:"reopened,omitempty"`
	// Unseen are changes by others since the writing agent last saw the list. Titled is the title that the
	// list was given since then, and Ordered has the texts of all items if their order changed.
	Unseen  []Difference `json:"unseen,omitempty"`
	Titled  string       `json:"titled,omitempty"`
	Ordered []string     `json:"ordered,omitempty"`
	By      Others       `json:"by,omitempty"` // who made the changes in Unseen and Titled
	// Kept are people's edits that stay although the agent sent the old state again. In a [Changed] difference, Before
	// has the text that the agent sent. [Moved] stands for the order of all items, which is in Ordered.
	Kept []Difference `json:"kept,omitempty"`
	Held []Item       `json:"held,omitempty"` // other agents' items in progress that the write tried to settle
	// Elsewhere is the id of the earlier list of the conversation whose item the call changed; else empty.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Continues is the list's title if the conversation goes on with a list of an earlier chat; else empty.
	Continues string   `json:"continues,omitempty"`
	PutAway   PutAway  `json:"put_away,omitzero"` // the list that the write put away
	Notes     []string `json:"notes,omitempty"`   // sentences that the change added, see [Draft.Note]
}

// OthersDid reports whether others changed something since the agent last saw the list.
func (r Report) OthersDid() bool { return len(r.Unseen)+len(r.Ordered) > 0 || r.Titled != "" }

// PutAway is a list that was put away because its conversation began another plan.
type PutAway struct {
	Title string `json:"title,omitempty"`
	Open  []Item `json:"open,omitempty"`
}

// Others says who, besides the agent that writes a list, changed it.
type Others string

// Who may have changed a list.
const (
	People          Others = "people"
	Agents          Others = "agents"
	PeopleAndAgents Others = "people and agents"
)

// PutAway returns the report of a list that is put away.
func (s Snapshot) PutAway() PutAway { return PutAway{Title: s.Title(), Open: open(s.Items)} }

func open(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Status.Settled() })
}

// Tell adds to the writing agent's report the changes by others from base to newest. It leaves out changes that the
// agent's lines already contain and, in the answer to a write of a named list, other agents' progress on items missing
// from the write. isKnown is false if the agent was never shown the list.
func (r *Report) Tell(base, newest Snapshot, sent *Sent, isKnown, isWrite bool) {
	changed, isShared := Diff(base, newest), isWrite && newest.List.Name != ""
	if len(changed) > 0 && (!isKnown || isShared) {
		own := make(map[string]bool)
		for _, item := range sent.match(newest.Items) {
			if item != nil {
				own[item.ID] = true
			}
		}
		changed = slices.DeleteFunc(changed, func(d Difference) bool {
			if own[d.After.ID] {
				return !isKnown && d.Kind == Added
			}
			return isShared && d.Kind == Changed && d.Before.Text == d.After.Text && !d.After.ByPerson
		})
	}
	if len(changed) > 0 && len(sent.Lines) > 0 {
		changed = slices.DeleteFunc(changed, sent.saysItself(base))
	}
	r.Unseen = append(r.Unseen, changed...)
	if !InSameOrder(base.Items, newest.Items) {
		r.Ordered = append(r.Ordered, texts(newest.Items)...)
	}
	isTitled := newest.GivenTitle != base.GivenTitle && base.Revision > 0
	if isTitled {
		r.Titled = newest.GivenTitle
	}
	switch { // newest.Other is the last revision by the other kind of writer, people or agents
	case len(changed) == 0 && !isTitled:
	case newest.Other > base.Revision:
		r.By = PeopleAndAgents
	case newest.Writer.Person:
		r.By = People
	default:
		r.By = Agents
	}
}

func texts(items []Item) []string { return each(items, func(i Item) string { return i.Text }) }

// each calls its function parameter for each value, and returns the resulting texts.
func each[T any](values []T, of func(T) string) []string {
	out := make([]string, len(values))
	for n, v := range values {
		out[n] = of(v)
	}
	return out
}
