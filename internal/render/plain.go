// Package render turns snapshots into text for people (lines for terminals and pipes, Markdown, a status line, a table
// of lists, changes), and into JSON documents for programs and back.
//
// No stored text can control the terminal, reorder or hide other text, or break out of its line (see [Safe]). Columns
// line up by display cells, also for CJK, emoji and combining marks; a text that does not fit is cut and ends in "…".
// Every function is pure. An item with an unknown status is shown as pending. Results of several lines end in a line
// break.
package render

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// LaterMarker marks an item that waits for the end of the agent's turn.
const LaterMarker = "[+]"

// Plain formats a list as lines: its [Heading], the lines given as under, which must be safe, and for each item a line
// ("[x] #1 text") and its details. With colour, for terminals, it has ANSI colours, and "✓" in place of "[x]".
func Plain(s todo.Snapshot, colour bool, under ...string) string {
	var b strings.Builder
	b.WriteString(Heading(s, Safe(s.Title())) + "\n")
	for _, line := range under {
		b.WriteString(line + "\n")
	}
	for _, item := range s.Items {
		look, line := looks[item.Status], fmt.Sprintf(" #%s %s%s", Safe(item.ID), Safe(item.Title()), notes(s, item))
		if colour {
			line = "\x1b[" + look.color + "m" + look.sign + line + "\x1b[0m"
		} else {
			line = look.marker + line
		}
		b.WriteString(line + "\n")
		if item.Details != "" {
			b.WriteString("      " + Safe(item.Details) + "\n")
		}
	}
	for _, item := range s.Later {
		b.WriteString(LaterMarker + " " + Safe(item.Text) + " (after this turn)\n")
	}
	if len(s.Items) == 0 {
		b.WriteString("No tasks\n")
	}
	return b.String()
}

// Heading returns the line above a list: "release (rev 7, 3 of 6 done)". Cancelled items do not count.
func Heading(s todo.Snapshot, title string) string {
	if len(s.Items) == 0 {
		return fmt.Sprintf("%s (rev %d)", title, s.Revision)
	}
	n := s.Progress()
	return fmt.Sprintf("%s (rev %d, %d of %d done)", title, s.Revision, n.Done, n.Total)
}

type look struct{ marker, sign, color string } // how a status is shown; color is an ANSI colour (SGR)

// Marker returns the marker of a status in plain text, as "[x]".
func Marker(status todo.Status) string { return looks[status].marker }

var looks = map[todo.Status]look{
	todo.Pending:    {"[ ]", "○", "2"},    // dim
	todo.InProgress: {"[>]", "●", "33"},   // yellow
	todo.Completed:  {"[x]", "✓", "90"},   // grey
	todo.Failed:     {"[!]", "✗", "31"},   // red
	todo.Blocked:    {"[#]", "○", "2"},    // dim
	todo.Cancelled:  {"[-]", "⊘", "9;90"}, // grey, struck
}

// StatusLine summarizes a list in one line: its counts, then its agent's question (asks) or, if that is empty, the item
// of [todo.Snapshot.At]: "3/7 Writing tests", "7/7 done", "6/7 done, 1 failed". For a chat without a list it returns
// the question, else the title; for an empty list, "". Cancelled items do not count.
func StatusLine(s todo.Snapshot, asks string) string {
	if s.IsChat() {
		return cmp.Or(question(asks), Safe(s.Title()))
	}
	if len(s.Items) == 0 {
		return ""
	}
	n, text := s.Progress(), "done"
	switch item, isOpen := s.At(); {
	case asks != "":
		text = question(asks)
	case item.Status == todo.Blocked:
		text = "blocked: " + Safe(item.Text) + inBrackets(item.Reason)
	case isOpen:
		text = Safe(item.Title())
	case n.Failed > 0:
		text = fmt.Sprintf("done, %d failed", n.Failed)
	}
	return fmt.Sprintf("%d/%d %s", n.Done, n.Total, text)
}

// question returns "asks: " and an agent's question, safe to display; "" if there is none.
func question(asks string) string { return strings.TrimSuffix("asks: "+Safe(asks), "asks: ") }

// Joined joins the parts that are not empty.
func Joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}

// inBrackets returns a text in brackets after a space, safe to display; "" for none.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + Safe(text) + ")"
}

// notes returns the notes after an item's text: the status with its reason, [Beside], and a person's overridden edit.
func notes(s todo.Snapshot, item todo.Item) string {
	status, overridden := "", ""
	if item.Status == todo.Blocked || item.Reason != "" {
		status = strings.TrimSuffix(string(item.Status)+": "+item.Reason, ": ")
	}
	switch {
	case item.Deleted:
		overridden = "overridden, you deleted it"
	case item.Overridden():
		overridden = "overridden, you wrote: " + todo.Excerpt(item.PersonEdit.Text)
	}
	return inBrackets(status) + inBrackets(Beside(s, item)) + inBrackets(overridden)
}

// Has names the agent that works on an item, if the list has several. Agents of the same name get a number: "Codex 2".
func Has(s todo.Snapshot, item todo.Item) string {
	w, number := s.Has(item)
	name := cmp.Or(Safe(w.Agent), Client(w.Client))
	if name == "" || number == 0 {
		return name
	}
	return fmt.Sprintf("%s %d", name, number)
}

// Beside returns an item's priority, due date, owner or agent, and the open items that it waits for, safe to display.
func Beside(s todo.Snapshot, item todo.Item) string {
	var parts []string
	add := func(before, text string) {
		if text != "" {
			parts = append(parts, before+text)
		}
	}
	add("priority: ", item.Priority)
	add("due: ", item.DueDate)
	add("", cmp.Or(item.Owner, Has(s, item)))
	if waits := todo.OpenWaits(s.Items)(item); len(waits) == 1 {
		add("waits for ", waits[0].Text)
	} else if len(waits) > 1 {
		add("waits for ", fmt.Sprintf("%s and %d more", waits[0].Text, len(waits)-1))
	}
	return Safe(strings.Join(parts, ", "))
}

// StatusWord returns a status as people read it: "in progress".
func StatusWord(status todo.Status) string { return Safe(strings.ReplaceAll(string(status), "_", " ")) }

// minBox and maxBox limit the width of a box.
const minBox, maxBox = 8, 100

// Box draws a list in a box of a width in cells, for the command TodoWrite (docs/spec/variants.md C5). It has a row for
// each item and, in its border, a title, by default "Tasks".
func Box(s todo.Snapshot, title string, width int, color bool) string {
	width = min(max(width, minBox), maxBox)
	top := "┌─ " + Cut(cmp.Or(Safe(title), "Tasks"), width-6) + " "
	lines := []string{top + strings.Repeat("─", max(width-Cells(top)-1, 0)) + "┐\n"}
	row := func(colour, mark, text, note string) {
		// The text is cut first, down to half of the width, and then the note.
		if room := width - 4 - Cells(mark); Cells(text+note) > room {
			text = Cut(Cut(text, max(room-Cells(note), room/2))+note, room)
		} else {
			text += note
		}
		// The line is measured as a whole, since characters may combine where its parts meet.
		text = mark + text
		padding := strings.Repeat(" ", max(width-Cells("│ "+text+" │"), 0))
		if color {
			text = "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		lines = append(lines, "│ "+text+padding+" │\n")
	}
	for _, item := range s.Items {
		look, text := looks[item.Status], Safe(item.Title())
		if item.Status == todo.InProgress {
			text = strings.TrimRight(text, ".…") + "..."
		}
		row(look.color, look.sign+" ", text, notes(s, item))
	}
	if len(s.Items) == 0 {
		row(looks[todo.Pending].color, "", "No tasks", "")
	}
	return strings.Join(lines, "") + "└" + strings.Repeat("─", width-2) + "┘\n"
}

// Markdown writes a list as a GitHub task list, under a heading if it has a name:
//
//	# release
//
//	- [ ] pending
//	- [ ] Write tests *(in progress: Writing tests)*
//	- [x] completed
//	- [ ] failed step *(failed: the disk is full)*
//	- [ ] blocked step *(blocked: no key yet)*
//	- [ ] dropped step *(cancelled)*
//	- [ ] urgent *(priority: high, due: 2026-12-01)*
//
// Only completed items are checked. Texts are escaped: each stays one list item and creates no markup, HTML or link.
func Markdown(s todo.Snapshot) string {
	var b strings.Builder
	if s.List.Name != "" {
		b.WriteString("# " + heading(s.List.Name) + "\n\n")
	}
	if len(s.Items) == 0 {
		b.WriteString("No tasks\n")
	}
	for _, item := range s.Items {
		b.WriteString(taskLine(s, item) + "\n")
	}
	return b.String()
}

// taskLine returns the line of an item. Its notes are emphasized. A text cannot imitate them, since it is escaped.
func taskLine(s todo.Snapshot, item todo.Item) string {
	line := "- [ ] " + escape(item.Text)
	note := func(word, detail string) {
		if detail != "" {
			word += ": " + escape(detail)
		}
		line += " *(" + word + ")*"
	}
	switch item.Status {
	case todo.Completed:
		line = "- [x] " + escape(item.Text)
	case todo.InProgress:
		active := item.Active
		if active == item.Text {
			active = ""
		}
		note("in progress", active)
	case todo.Pending:
	default:
		note(string(item.Status), item.Reason)
	}
	if beside := Beside(s, item); beside != "" {
		note(escape(beside), "")
	}
	if item.Details != "" {
		note("details", item.Details)
	}
	return line
}

// markup matches characters with a meaning in Markdown within a line. Underscores inside a word have no meaning.
var markup = regexp.MustCompile("[\\\\`*\\[\\]<~$]|\\b_+|_+\\b|@|#[0-9]|://|(?i:www\\.|gh-[0-9])")

// entities matches the beginning of an entity, such as &#35; or &amp;. It is used after markup, which may match the #3.
var entities = regexp.MustCompile(`&[#0-9A-Za-z[:^ascii:]]`)

// nothing is an empty HTML comment. Unlike a backslash, it keeps GitHub from making links to people and issues.
const nothing = "<!-- -->"

// escape makes a text safe, and escapes its Markdown, except markup that counts only at the beginning of a line.
func escape(text string) string {
	text = markup.ReplaceAllStringFunc(Safe(text), func(m string) string {
		switch last := len(m) - 1; {
		case m[0] == '_':
			return strings.Repeat(`\_`, len(m))
		case m[0] == '@':
			return m + nothing
		case m == "://":
			return ":" + nothing + "//"
		case last > 0: // #1, www. and GH-1
			return m[:last] + nothing + m[last:]
		}
		return `\` + m
	})
	return entities.ReplaceAllString(text, `\$0`)
}
