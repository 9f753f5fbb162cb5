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

// Diff describes what changed between two snapshots of a list, a line for each change, those of [Besides] first:
//
//	title: new title
//	~ text: pending → completed
//	~ old text → new text
//	~ text: moved to 2
//	+ added text
//	- removed text
//
// An added item that is not pending has its status in brackets.
func Diff(before, after todo.Snapshot, others ...todo.Snapshot) []string {
	lines := Besides(before, after, others...)
	for _, d := range todo.Diff(before, after) {
		lines = append(lines, diffLine(d, after))
	}
	return lines
}

// Besides describes what changed in a list besides its items. others may have the list that replaced it.
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

func diffLine(d todo.Difference, after todo.Snapshot) string {
	switch d.Kind {
	case todo.Added:
		if d.After.Status != todo.Pending {
			return fmt.Sprintf("+ %s (%s)", Safe(d.After.Text), StatusWord(d.After.Status))
		}
		return "+ " + Safe(d.After.Text)
	case todo.Removed:
		return "- " + Safe(d.Before.Text)
	case todo.Moved:
		index := slices.IndexFunc(after.Items, func(i todo.Item) bool { return i.ID == d.After.ID })
		return fmt.Sprintf("~ %s: moved to %d", Safe(d.After.Text), index+1)
	}
	return "~ " + changeLine(after, d.Before, d.After)
}

func changeLine(s todo.Snapshot, before, after todo.Item) string {
	line, what := Safe(after.Text), ""
	if before.Text != after.Text {
		line = Safe(before.Text) + " → " + line
	}
	switch {
	case before.Status != after.Status:
		what = StatusWord(before.Status) + " → " + StatusWord(after.Status) + inBrackets(after.Reason)
	case before.Reason != after.Reason:
		what = StatusWord(after.Status) + inBrackets(after.Reason)
	case Beside(s, before) != Beside(s, after):
		what = cmp.Or(Beside(s, after), "waits for nothing")
	case before.Details != after.Details:
		what = cmp.Or(Safe(after.Details), "no details")
	case before.Text == after.Text:
		what = "shown as " + Safe(after.ActiveText())
	default:
		return line
	}
	return line + ": " + what
}

// LeftOut names what people added to a list and an agent left out; empty for nothing.
func LeftOut(s todo.Snapshot) string {
	var texts []string
	for _, i := range s.LeftOut() {
		texts = append(texts, i.Text)
	}
	return Quoted(texts...)
}

// Quoted returns the beginnings of texts in quotes, but of five or more only three: “Read”, “Write”, “Test”, 2 more.
func Quoted(texts ...string) string {
	var parts []string
	for n, text := range texts {
		if n == 3 && len(texts) > 4 {
			parts = append(parts, fmt.Sprintf("%d more", len(texts)-n))
			break
		}
		parts = append(parts, "“"+Cut(Safe(text), 40)+"”")
	}
	return strings.Join(parts, ", ")
}

// Revision returns the head of a revision in a history, as "revision 2  2026-11-29 17:03:54  Claude Code TodoWrite",
// and what it changed. before is the revision before it, edits has the fates of people's edits, others are as in
// [Besides].
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
	return joined("  ", parts...), Diff(before, r, others...)
}
