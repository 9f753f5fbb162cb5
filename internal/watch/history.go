package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// history is what is shown of a list's history.
type history struct {
	list      string
	revisions []revision // as kept, oldest first; nil until they were read
	revision  int64      // the revision shown; 0 is the newest
	problem   string     // why the history is missing; empty if it is not
}

// revision is a revision of a list with what it changed.
type revision struct {
	todo.Snapshot
	before  todo.Snapshot // zero for the oldest that is kept
	changes []todo.Difference
}

// add adds a revision after the last one.
func (h *history) add(s todo.Snapshot) {
	r := revision{Snapshot: s}
	if n := len(h.revisions); n > 0 {
		r.before = h.revisions[n-1].Snapshot
	}
	r.changes = todo.Diff(r.before, s)
	h.revisions = append(h.revisions, r)
}

// extend adds the newest revision. It reports whether some between are missing, so that
// the history is to be read again.
func (h *history) extend(live todo.Snapshot) (gap bool) {
	if len(h.revisions) == 0 || live.Revision == 0 {
		return false
	}
	switch live.Revision - h.revisions[len(h.revisions)-1].Revision {
	case 0:
	case 1:
		h.add(live)
	default:
		return true
	}
	return false
}

// setHistory stores the history that an effect asked for. It ignores the history
// of a list that is no longer open.
func (m *model) setHistory(list string, revisions []todo.Snapshot, err error) {
	h := m.history
	if h == nil || h.list != list {
		return
	}
	h.revisions, h.problem = nil, ""
	if err != nil || len(revisions) == 0 {
		h.problem = "The history cannot be read."
		return
	}
	for _, r := range revisions {
		h.add(r)
	}
	if h.revision != 0 {
		h.revision = min(max(h.revision, revisions[0].Revision), revisions[len(revisions)-1].Revision)
	}
	h.extend(m.lists[list]) // not read again: the source may be behind, and would return the same
}

// index returns the index of the revision shown; -1 if there is none.
func (h *history) index() int {
	if h.revision == 0 {
		return len(h.revisions) - 1
	}
	return slices.IndexFunc(h.revisions, func(r revision) bool { return r.Revision == h.revision })
}

// shown returns the revision shown; nil if there is none.
func (h *history) shown() *revision {
	if i := h.index(); i >= 0 {
		return &h.revisions[i]
	}
	return nil
}

// step shows the revision delta after the one shown. The newest one is shown as
// what it is: the list goes on.
func (h *history) step(delta int) {
	if len(h.revisions) == 0 {
		return
	}
	last := len(h.revisions) - 1
	i := min(max(h.index()+delta, 0), last)
	if h.revision = h.revisions[i].Revision; i == last {
		h.revision = 0
	}
}

// revisionOf returns the revision of an opened list that is shown.
func (m *model) revisionOf(live todo.Snapshot) todo.Snapshot {
	if m.history != nil {
		if r := m.history.shown(); r != nil {
			return r.Snapshot
		}
	}
	return live
}

// itemRows returns the items of a revision, each with what the revision changed in words,
// and the removed ones where they were.
func (r *revision) itemRows() (rows []itemRow) {
	changes := map[string]todo.Difference{}
	if r.before.Revision > 0 { // else there is nothing to compare with
		for _, d := range r.changes {
			changes[cmp.Or(d.After.ID, d.Before.ID)] = d
		}
	}
	row := func(item todo.Item, words string) itemRow {
		return itemRow{Item: item, note: styled{accent, words}, below: []styled{{warn, render.Safe(item.Reason)}}}
	}
	for _, item := range r.Items {
		d := changes[item.ID]
		shown := row(item, render.ChangeWords(d))
		if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
			shown.below = append(shown.below, styled{struck, render.Safe(d.Before.Text)})
		}
		rows = append(rows, shown)
	}
	for i, item := range r.before.Items {
		if changes[item.ID].Kind == todo.Removed {
			gone := row(item, string(todo.Removed))
			gone.removed = true
			rows = slices.Insert(rows, min(i, len(rows)), gone)
		}
	}
	return rows
}

// historyHead draws the timeline of a list and when and by whom the revision
// shown was written.
func (m *model) historyHead(live todo.Snapshot, width int) []string {
	h, r := m.history, m.history.shown()
	line := func(r role, text string) string { return " " + paint(r, render.Cut(text, width-2)) }
	switch {
	case h.problem != "":
		return []string{line(bad, h.problem), ""}
	case r == nil:
		return []string{line(dim, "Reading the history…"), ""}
	}
	agent := m.agentName(r.Snapshot)
	if r.Writer.Client != "" {
		agent = render.AgentOf(r.Writer.Client).Name
	}
	lines := []string{" " + h.timeline(width-2), line(bold, join(" · ", width-2,
		fmt.Sprintf("revision %d of %d", r.Revision, max(live.Revision, r.Revision)),
		r.Updated.In(m.now.Location()).Format("Mon 2 Jan 15:04:05"), render.Writer(r.Writer, agent, "you")))}
	if h.index() == 0 && r.Revision > 1 {
		lines = append(lines, line(dim, "Earlier revisions are not kept."))
	}
	fate := m.fateOf(r)
	return append(lines, line(fate.role, fate.text))
}

// fateOf says what became of a revision, if a person made it, or what of a person's an
// agent overrode with it.
func (m *model) fateOf(r *revision) styled {
	if !account.Told(r.before, r.Snapshot) {
		return styled{warn, render.AgainstHand(r.before, r.Snapshot)}
	}
	fate := m.standings[r.List.ID].OfRevision(r.Revision)
	look := map[account.Fate]role{account.Waits: accent, account.Seen: dim, account.Overridden: warn}[fate]
	return styled{look, string(fate)}
}

// timeline draws a tick for each revision, or for several where there are more
// than fit; higher ones changed more.
func (h *history) timeline(width int) string {
	n := len(h.revisions)
	ticks := min(n, width)
	var b strings.Builder
	for t := range ticks {
		changes, person, selected := 0, false, false
		for i := t * n / ticks; i < (t+1)*n/ticks; i++ {
			changes = max(changes, len(h.revisions[i].changes))
			person = person || h.revisions[i].Writer.Person
			selected = selected || i == h.index()
		}
		b.WriteString(tick(changes, person, selected))
	}
	return b.String()
}

// tick draws one tick. The selected one has a shape of its own.
func tick(changes int, person, selected bool) string {
	sign := []string{"▁", "▁", "▂", "▄", "▄", "▆", "▆", "▆", "▆", "█"}[min(changes, 9)]
	switch {
	case selected:
		return paint(bold, "┃")
	case person:
		return paint(accent, sign)
	}
	return paint(dim, sign)
}
