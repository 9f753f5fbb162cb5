package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Diff describes the changes between two snapshots of a list, one on each line. Changes of items come last:
//
//	title: new title
//	~ text: pending → completed
//	~ old text → new text
//	~ text: moved to 2
//	+ added text
//	- removed text
//
// A "~" line has a [Change]. A "+" line also has the status, unless pending. [PutAway] takes a title from others.
func Diff(before, after todo.Snapshot, others ...todo.Snapshot) (lines []string) {
	lines = Besides(before, after, others...)
	for _, d := range todo.Diff(before, after) {
		switch d.Kind {
		case todo.Added:
			lines = append(lines, "+ "+Safe(d.After.Text)+strings.TrimPrefix(What(d, after), "added"))
		case todo.Removed:
			lines = append(lines, "- "+Safe(d.Before.Text))
		default:
			lines = append(lines, "~ "+Change(d, after))
		}
	}
	return lines
}

// Besides returns those lines of [Diff] that are not about changes of the items on the list.
func Besides(before, after todo.Snapshot, others ...todo.Snapshot) (lines []string) {
	if before.GivenTitle != after.GivenTitle && after.GivenTitle == "" {
		lines = append(lines, "title taken away")
	} else if before.GivenTitle != after.GivenTitle {
		lines = append(lines, "title: "+Safe(after.GivenTitle))
	}
	if after.Explanation != "" && after.Explanation != before.Explanation {
		lines = append(lines, "why: "+Safe(after.Explanation))
	}
	for _, i := range after.Later {
		if !slices.ContainsFunc(before.Later, func(was todo.Item) bool { return was.ID == i.ID && was.Text == i.Text }) {
			lines = append(lines, "after this turn: "+Safe(i.Text))
		}
	}
	switch {
	case !before.Deleted && after.Deleted:
		lines = append(lines, "deleted")
	case !before.Archived && after.Archived:
		lines = append(lines, strings.TrimSuffix("archived, "+PutAway(after, others...), ", "))
	case before.Deleted && !after.Deleted, before.Archived && !after.Archived:
		lines = append(lines, "brought back")
	}
	return lines
}

// Change says which item changed, and how: "text: pending → completed", "old text → new text", "text: added".
func Change(d todo.Difference, s todo.Snapshot) string {
	was, is, what := Safe(d.Before.Text), Safe(d.After.Text), What(d, s)
	switch {
	case what == "reworded":
		return was + " → " + is
	case d.Kind == todo.Changed && was != is:
		return was + " → " + is + ": " + what
	}
	return cmp.Or(is, was) + ": " + what
}

// What says how an item changed, safe to display: "added", "removed", "moved to 2", "pending → completed (why)",
// "reworded". It names only one change: a new text only if status, reason, notes and details stayed. s is the list
// after the change.
func What(d todo.Difference, s todo.Snapshot) string {
	before, after := d.Before, d.After
	switch {
	case d.Kind == todo.Added && after.Status != todo.Pending:
		return "added" + inBrackets(StatusWord(after.Status))
	case d.Kind == todo.Added, d.Kind == todo.Removed:
		return string(d.Kind)
	case d.Kind == todo.Moved:
		return fmt.Sprint("moved to ", 1+slices.IndexFunc(s.Items, func(i todo.Item) bool { return i.ID == after.ID }))
	case before.Status != after.Status:
		return StatusWord(before.Status) + " → " + StatusWord(after.Status) + inBrackets(after.Reason)
	case before.Reason != after.Reason:
		return StatusWord(after.Status) + inBrackets(after.Reason)
	case Beside(s, before) != Beside(s, after):
		return cmp.Or(Beside(s, after), "waits for nothing")
	case before.Details != after.Details:
		return cmp.Or(Safe(after.Details), "no details")
	case before.Text != after.Text:
		return "reworded"
	}
	return "shown as " + Safe(after.ActiveText())
}

// Revision returns a revision's head line for a history, as "revision 2  2026-11-29 17:03:54  Claude Code TodoWrite",
// and a line for each change. before is the previous revision, edits says what became of people's edits (for the head),
// and others are as in [Diff].
func Revision(before, r todo.Snapshot, edits account.Edits, zone *time.Location, others ...todo.Snapshot) (head string, changes []string) {
	by, fate := Writer(r.Writer, Client(cmp.Or(r.Writer.Client, account.Client(r))), "you"), ""
	if r.Writer.Person {
		by += inBrackets(strings.TrimSpace(r.Writer.Client + " " + r.Writer.Variant))
	} else {
		by = strings.TrimSpace(by + " " + Safe(r.Writer.Variant))
	}
	if account.Told(before, r) {
		fate = string(edits.OfRevision(r.Revision))
	}
	parts := []string{fmt.Sprintf("revision %d", r.Revision), r.Updated.In(zone).Format(time.DateTime), by, fate}
	return Joined("  ", parts...), Diff(before, r, others...)
}
