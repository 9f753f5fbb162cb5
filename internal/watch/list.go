package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// subPrefix begins the row ids of sub-agents' lists. Item ids are numbers.
const subPrefix = "sub "

// listRows returns the rows of a list: its items, then its sub-agents' lists.
func (m *model) listRows(s todo.Snapshot, width int, focused bool) (rows []row) {
	cursor := func(selected bool) string {
		switch {
		case selected && focused:
			return paint(accent, "▌")
		case selected && s.Open(): // on the board, keys act on the current item
			return paint(dim, "▌")
		}
		return " "
	}
	for _, item := range slices.Concat(s.Items, s.Later) {
		rows = append(rows, row{item.ID, func(selected bool) []string {
			return m.itemLines(s, item, width, cursor(selected), selected && focused)
		}})
	}
	for i, sub := range m.group(s).Subs {
		var above []string
		if i == 0 && len(rows) > 0 {
			above = []string{""}
		}
		rows = append(rows, row{subPrefix + sub.List.ID, func(selected bool) []string {
			return append(above, cursor(selected)+m.subLine(sub, width-1))
		}})
	}
	return rows
}

// Cells before an item's text, and the least at its right.
const rowIndent, noteWidth = 3, 10

// itemLines draws an item behind a cursor, with its whole text or at most maxWrapped lines of that.
func (m *model) itemLines(s todo.Snapshot, item todo.Item, width int, cursor string, whole bool) (lines []string) {
	edits := m.standings[s.List.ID].Edits
	look, limit := itemLooks[item.Status], maxWrapped
	if whole {
		limit = todo.MaxText
	}
	note := m.itemNote(s, item, edits.Of(item.ID))
	inside := max(width-rowIndent-max(noteWidth, render.Cells(note)+2), min(width-rowIndent-1, leastTitle))
	note = cut(note, width-rowIndent-inside-1)
	for i, line := range wrap(paint(look.text, render.Safe(item.Title())), inside, limit) {
		if i == 0 {
			lines = append(lines, spread(cursor+look.sign+" "+line, note, width-1))
		} else {
			lines = append(lines, cursor+"  "+line)
		}
	}
	yours := edits.Overridden[item.ID]
	if yours != "" {
		yours = "yours: " + render.Safe(yours)
	}
	for _, below := range []string{paint(warn, render.Safe(item.Reason)), paint(dim, render.Beside(s, item)), paint(dim, render.Safe(item.Details)), paint(dim, yours)} {
		if below != "" {
			lines = append(lines, cursor+"    "+cut(below, width-6))
		}
	}
	return lines
}

// itemNote returns the text at the right of an item: the fate of a person's edit, or how long the item took. A time
// takes precedence over an edit that was seen.
func (m *model) itemNote(s todo.Snapshot, i todo.Item, fate account.Fate) string {
	switch {
	case slices.ContainsFunc(s.Later, func(l todo.Item) bool { return l.ID == i.ID }):
		return paint(accent, "after this turn")
	case fate == account.Overridden:
		return paint(warn, string(fate))
	case fate == account.Waits:
		return paint(accent, string(fate))
	case i.Status == todo.InProgress && !i.Started.IsZero() && !m.standing(s).State.Rests():
		return tookUntil(i.Started, m.now)
	case i.Status.Settled() && !i.Started.IsZero() && i.Ended.After(i.Started):
		return paint(dim, render.Took(i.Ended.Sub(i.Started)))
	}
	return paint(dim, string(fate))
}

func tookUntil(started, now time.Time) string {
	took := now.Sub(started)
	if took > account.LongAfter {
		return paint(warn, render.Took(took))
	}
	return paint(dim, render.Took(took))
}

// look is the sign of a status and the role of its text.
type look struct {
	sign string
	text role
}

var itemLooks = map[todo.Status]look{
	todo.Pending:    {paint(dim, "○"), plainText},
	todo.InProgress: {paint(accent, "◐"), bold},
	todo.Completed:  {paint(done, "✓"), dim},
	todo.Failed:     {paint(bad, "✗"), plainText},
	todo.Blocked:    {paint(warn, "‖"), plainText},
	todo.Cancelled:  {paint(dim, "–"), struck},
}

// subLine draws a sub-agent's list in one line: name, current item, progress.
func (m *model) subLine(s todo.Snapshot, width int) string {
	doing, look := "", accent
	if s.Open() {
		doing = render.Safe(focusItem(s).Title())
	}
	if m.standing(s).State.Rests() {
		look = dim
	}
	name := "↳ " + render.Cut(listName(s), max(width/3, 8))
	left := max(width-render.Cells(name)-2-noteWidth, 0)
	return spread(paint(look, name)+"  "+cut(paint(plainText, doing), left), paint(dim, progress(s)), width-1)
}

// focusItem returns the current item, else the next one, else the first; zero for an empty list.
func focusItem(s todo.Snapshot) (item todo.Item) {
	if current, ok := s.Current(); ok {
		return current
	}
	if next, ok := s.Next(""); ok || len(s.Items) == 0 {
		return next
	}
	return s.Items[0]
}

// listLines draws a list. focused is true if the keys act on it.
func (m *model) listLines(width, height int, focused bool) []string {
	s, ok := m.shown()
	if !ok {
		return message(width, "This list is gone.", "Esc goes back.")
	}
	head := m.listHead(s, width)
	rows := m.listRows(s, width, focused)
	if len(rows) == 0 {
		return append(head, paint(dim, render.Cut("  No items.", width)))
	}
	height -= len(head)
	p := &m.list
	if !focused {
		selected := near(focusItem(s).ID, height/3)
		p = &selected
	}
	return append(head, p.lines(rows, height)...)
}

// listHead draws three lines above the items: whether edits wait, and the list's state, project and agent; progress;
// and what the agent asks or overrode.
func (m *model) listHead(s todo.Snapshot, width int) []string {
	p, count := s.Progress(), progress(s)
	if p.Failed > 0 {
		count += fmt.Sprintf(" · %d failed", p.Failed)
	}
	bar := ""
	if space := width - 3 - render.Cells(count); space >= 4 {
		filled := space * p.Done / max(p.Total, 1)
		bar = paint(done, strings.Repeat("━", filled)) + paint(dim, strings.Repeat("─", space-filled))
	}
	group, edits, said := m.group(s), m.standings[s.List.ID].Edits, ""
	who := render.Standing(group, "", m.now, m.lists[s.ReplacedBy])
	if len(edits.Unseen) > 0 || edits.Title == account.Waits {
		who = "your changes wait to be seen · " + who
	}
	if _, asks, ok := group.Asks(); ok {
		said = "asks: " + render.Safe(asks)
	} else if edits.Order == account.Overridden {
		said = "Your order is overridden."
	} else if out := render.LeftOut(s); out != "" {
		said = "Overridden, you added: " + out
	}
	bar += " " + paint(dim, count)
	return []string{cut(paint(dim, " "+who), width-1), " " + bar, " " + cut(paint(warn, said), width-2)}
}
