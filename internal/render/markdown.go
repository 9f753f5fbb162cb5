package render

import (
	"strings"
	"unicode"

	"todo-mcp/internal/todo"
)

// Markdown writes a list as a GitHub task list, under a heading if the list has
// a name:
//
//	# release
//
//	- [ ] pending
//	- [ ] **Write tests** *(in progress: Writing tests)*
//	- [x] completed
//	- [ ] failed step *(failed)*
//	- [ ] blocked step *(blocked: no key yet)*
//	- [ ] ~~cancelled~~
//	- [ ] urgent *(priority: high)* *(due: 2026-12-01)*
//
// Only completed items are checked. Texts are escaped: each stays one list item
// and creates no markup, HTML or link. [ReadMarkdown] restores the texts that
// [Safe] leaves unchanged, the statuses, the active text of items in progress,
// the reason of blocked ones, priorities and due dates; ids, times and other active texts are not
// written.
func Markdown(s todo.Snapshot) string {
	var b strings.Builder
	if s.List.Name != "" {
		b.WriteString("# " + strings.ReplaceAll(escape(s.List.Name), "#", `\#`) + "\n\n")
	}
	if len(s.Items) == 0 {
		b.WriteString("No tasks\n")
	}
	for _, item := range s.Items {
		b.WriteString(taskLine(item) + detailNotes(item) + "\n")
	}
	return b.String()
}

// The notes after a text. They contain emphasis, which an escaped text cannot.
const (
	progressNote = " *(in progress"
	failedNote   = " *(failed)*"
	blockNote    = " *(blocked"
	priorityNote = " *(priority: "
	dueNote      = " *(due: "
	noteDetail   = ": "
	noteEnd      = ")*"
)

func taskLine(item todo.Item) string {
	text := escape(item.Text)
	switch item.Status {
	case todo.Completed:
		return "- [x] " + text
	case todo.InProgress:
		note := progressNote
		if item.ActiveText() != item.Text {
			note += noteDetail + escape(item.Active)
		}
		return "- [ ] **" + text + "**" + note + noteEnd
	case todo.Failed:
		return "- [ ] " + text + failedNote
	case todo.Blocked:
		note := blockNote
		if item.Reason != "" {
			note += noteDetail + escape(item.Reason)
		}
		return "- [ ] " + text + note + noteEnd
	case todo.Cancelled:
		return "- [ ] ~~" + text + "~~"
	}
	return "- [ ] " + text
}

// detailNotes returns the notes of an item's priority and due date, which follow
// whatever its status adds.
func detailNotes(item todo.Item) (notes string) {
	if item.Priority != "" {
		notes += priorityNote + escape(item.Priority) + noteEnd
	}
	if item.DueDate != "" {
		notes += dueNote + escape(item.DueDate) + noteEnd
	}
	return notes
}

// escape makes a text safe and escapes what has a meaning in Markdown.
func escape(text string) string {
	var b strings.Builder
	runes := []rune(Safe(text))
	runeAt := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		if special(runes[:i], r, runeAt(i+1), runeAt(i+2)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// special reports whether Markdown may interpret a rune, given the runes before
// it and the two after it. It ignores syntax that begins a block, since a text
// never starts a line.
func special(before []rune, r, next, after rune) bool {
	switch r {
	case '\\', '`', '*', '[', ']', '<', '~', '$', '@':
		return true
	case '_': // snake_case is no emphasis
		return len(before) == 0 || !isWord(before[len(before)-1]) || !isWord(next)
	case '&':
		return next == '#' || isWord(next)
	case ':': // https://
		return next == '/' && after == '/'
	case '.': // www.
		n := len(before)
		return n >= 3 && strings.EqualFold(string(before[n-3:]), "www")
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
