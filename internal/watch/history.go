package watch

import (
	"fmt"
	"slices"
	"strings"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// history is what is shown of a list's history.
type history struct {
	list      string
	revisions []todo.Snapshot // as kept, oldest first; nil until they were read
	changes   []int           // how many changes each revision made
	revision  int64           // the revision shown; 0 is the newest
	problem   string          // why the history is missing; empty if it is not
}

// extend adds the newest revision. If some between are missing, it returns the
// id of the list whose history is to be read again.
func (h *history) extend(live todo.Snapshot) (readAgain string) {
	if len(h.revisions) == 0 || live.Revision == 0 {
		return ""
	}
	switch last := h.revisions[len(h.revisions)-1]; live.Revision {
	case last.Revision:
	case last.Revision + 1:
		h.revisions = append(h.revisions, live)
		h.changes = append(h.changes, len(todo.Diff(last, live)))
	default:
		return h.list
	}
	return ""
}

// setHistory stores the history that an effect asked for. It ignores the history
// of a list that is no longer open.
func (m *model) setHistory(list string, revisions []todo.Snapshot, err error) effect {
	h := m.history
	if h == nil || h.list != list {
		return effect{}
	}
	if err != nil || len(revisions) == 0 {
		h.problem, h.revisions = "The history cannot be read.", nil
		return effect{}
	}
	h.problem, h.revisions, h.changes = "", revisions, make([]int, len(revisions))
	for i, r := range revisions {
		before := todo.Snapshot{}
		if i > 0 {
			before = revisions[i-1]
		}
		h.changes[i] = len(todo.Diff(before, r))
	}
	if h.revision != 0 {
		h.revision = min(max(h.revision, revisions[0].Revision), revisions[len(revisions)-1].Revision)
	}
	h.extend(m.lists[list]) // not read again: the source may be behind, and would return the same
	return effect{}
}

// index returns the index of the revision shown; -1 if there is none.
func (h *history) index() int {
	if h.revision == 0 {
		return len(h.revisions) - 1
	}
	return slices.IndexFunc(h.revisions, func(s todo.Snapshot) bool { return s.Revision == h.revision })
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

// snapshots returns the revision shown and the one before it, which is zero for
// the oldest revision that is kept.
func (h *history) snapshots() (before, s todo.Snapshot, ok bool) {
	i := h.index()
	if i < 0 {
		return before, s, false
	}
	if i > 0 {
		before = h.revisions[i-1]
	}
	return before, h.revisions[i], true
}

// before returns the revision before the one shown.
func (h *history) before() todo.Snapshot {
	before, _, _ := h.snapshots()
	return before
}

// revisionOf returns the revision of an opened list that is shown.
func (m *model) revisionOf(live todo.Snapshot) todo.Snapshot {
	if m.history != nil {
		if _, s, ok := m.history.snapshots(); ok {
			return s
		}
	}
	return live
}

// rows returns the rows of a revision: its items, each with what the revision
// changed in words, and the removed ones where they were.
func (h *history) rows(s todo.Snapshot) (rows []listRow) {
	before, _, _ := h.snapshots()
	whole := before.Revision == 0 // nothing to compare with
	diff := map[string]todo.Difference{}
	if !whole {
		for _, d := range todo.Diff(before, s) {
			diff[d.After.ID] = d
			if d.Kind == todo.Removed {
				diff[d.Before.ID] = d
			}
		}
	}
	for _, item := range s.Items {
		row := listRow{id: item.ID, item: item, words: render.ChangeWords(diff[item.ID])}
		if d := diff[item.ID]; d.Kind == todo.Changed && d.Before.Text != d.After.Text {
			row.old = d.Before.Text
		}
		rows = append(rows, row)
	}
	for i, item := range before.Items {
		if diff[item.ID].Kind == todo.Removed {
			at := min(i, len(rows))
			rows = slices.Insert(rows, at, listRow{id: item.ID, item: item, words: "removed", removed: true})
		}
	}
	return rows
}

// historyHead draws the timeline of a list and when and by whom the revision
// shown was written.
func (m *model) historyHead(live, shown todo.Snapshot, width int) []string {
	h := m.history
	switch {
	case h.problem != "":
		return []string{" " + paint(bad, render.Cut(h.problem, width-2)), ""}
	case len(h.revisions) == 0:
		return []string{" " + paint(dim, render.Cut("Reading the history…", width-2)), ""}
	}
	agent := m.agentName(shown)
	if shown.Writer.Client != "" {
		agent = render.AgentOf(shown.Writer.Client).Name
	}
	who := render.Writer(shown.Writer, agent, "you")
	newest := max(live.Revision, shown.Revision)
	line := join(width-2, fmt.Sprintf("revision %d of %d", shown.Revision, newest),
		shown.Updated.In(m.now.Location()).Format("Mon 2 Jan 15:04:05"), who)
	lines := []string{" " + m.timeline(width-2), " " + paint(bold, line)}
	if h.index() == 0 && shown.Revision > 1 {
		lines = append(lines, " "+paint(dim, render.Cut("Earlier revisions are not kept.", width-2)))
	}
	return append(lines, m.fateLine(h.before(), shown, width))
}

// timeline draws a tick for each revision, or for several where there are more
// than fit; higher ones changed more.
func (m *model) timeline(width int) string {
	h := m.history
	n := len(h.revisions)
	if width < 1 || n == 0 {
		return ""
	}
	ticks := min(n, width)
	var b strings.Builder
	for t := range ticks {
		from, to := t*n/ticks, (t+1)*n/ticks
		changes, person, selected := 0, false, false
		for i := from; i < to; i++ {
			changes = max(changes, h.changes[i])
			person = person || h.revisions[i].Writer.Person
			selected = selected || i == h.index()
		}
		b.WriteString(m.tick(changes, person, selected))
	}
	return b.String()
}

// tick draws one tick. The selected one has a shape of its own.
func (m *model) tick(changes int, person, selected bool) string {
	sign := "▁"
	for _, height := range []struct {
		from int
		sign string
	}{{2, "▂"}, {3, "▄"}, {5, "▆"}, {9, "█"}} {
		if changes >= height.from {
			sign = height.sign
		}
	}
	switch {
	case selected:
		return paint(bold, "┃")
	case person:
		return paint(accent, sign)
	}
	return paint(dim, sign)
}
