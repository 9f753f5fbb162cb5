package render

import (
	"regexp"
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
// [Safe] leaves unchanged, the statuses, the active text of items in progress, the
// reason of blocked ones, priorities and due dates. Ids, times and other active texts
// are not written.
func Markdown(s todo.Snapshot) string {
	var b strings.Builder
	if s.List.Name != "" {
		b.WriteString("# " + strings.ReplaceAll(escape(s.List.Name), "#", `\#`) + "\n\n")
	}
	if len(s.Items) == 0 {
		b.WriteString("No tasks\n")
	}
	for _, item := range s.Items {
		b.WriteString(taskLine(item))
		if item.Priority != "" {
			b.WriteString(note("priority", item.Priority))
		}
		if item.DueDate != "" {
			b.WriteString(note("due", item.DueDate))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// note returns a note behind a text. It contains emphasis, which an escaped text cannot.
func note(word, detail string) string {
	if detail != "" {
		word += ": " + escape(detail)
	}
	return " *(" + word + ")*"
}

func taskLine(item todo.Item) string {
	text := escape(item.Text)
	switch item.Status {
	case todo.Completed:
		return "- [x] " + text
	case todo.InProgress:
		active := ""
		if item.ActiveText() != item.Text {
			active = item.Active
		}
		return "- [ ] **" + text + "**" + note("in progress", active)
	case todo.Failed:
		return "- [ ] " + text + note("failed", "")
	case todo.Blocked:
		return "- [ ] " + text + note("blocked", item.Reason)
	case todo.Cancelled:
		return "- [ ] ~~" + text + "~~"
	}
	return "- [ ] " + text
}

// escape makes a text safe and escapes what has a meaning in Markdown.
func escape(text string) string {
	var b strings.Builder
	runes := []rune(Safe(text))
	for i, r := range runes {
		if special(runes, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// special reports whether Markdown may interpret a rune of a text. It ignores syntax that
// begins a block, since a text never starts a line.
func special(runes []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	switch runes[i] {
	case '\\', '`', '*', '[', ']', '<', '~', '$', '@':
		return true
	case '_': // snake_case is no emphasis
		return !isWord(at(i-1)) || !isWord(at(i+1))
	case '&':
		return at(i+1) == '#' || isWord(at(i+1))
	case ':': // https://
		return at(i+1) == '/' && at(i+2) == '/'
	case '.': // www.
		return strings.EqualFold(string(runes[max(i-3, 0):i]), "www")
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// task matches a line with a task, with its checkbox and its text. A list item's marker is
// "-", "*", "+", or a number of up to nine digits with "." or ")".
var task = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s*\[([ xX])\]\s+(.*\S)\s*$`)

// noted matches a text with a note at its end, with the text, the note's word and its detail.
var noted = regexp.MustCompile(`^(.*) \*\((in progress|failed|blocked|priority|due)(?:: ((?:[^*\\]|\\.)*))?\)\*$`)

// escaped matches ASCII punctuation behind a backslash.
var escaped = regexp.MustCompile("\\\\([!-/:-@[-`{-~])")

func unescape(text string) string { return escaped.ReplaceAllString(text, "$1") }

// ReadMarkdown reads the task list items of a Markdown text, at any depth, and skips
// everything else. It is the inverse of [Markdown] and also accepts what people write
// ("* [X] text"). It sets the text and the status of each item, and as far as they are
// written the active text of items in progress, the reason of blocked ones, priority and
// due date; ids and times are zero. It does not check texts against limits. It returns
// nil if there are no items.
func ReadMarkdown(text string) []todo.Item {
	var items []todo.Item
	for line := range strings.Lines(text) {
		m := task.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		item := readTask(m[2])
		if m[1] != " " && item.Status == todo.Pending {
			item.Status = todo.Completed
		}
		if item.Text != "" {
			items = append(items, item)
		}
	}
	return items
}

// readTask reads what follows a checkbox: a text, what its status adds, and notes.
func readTask(text string) todo.Item {
	item := todo.Item{Status: todo.Pending}
	for m := noted.FindStringSubmatch(text); m != nil; m = noted.FindStringSubmatch(text) {
		detail := unescape(m[3])
		switch m[2] {
		case "priority":
			item.Priority = detail
		case "due":
			item.DueDate = detail
		case "failed":
			item.Status = todo.Failed
		case "blocked":
			item.Status, item.Reason = todo.Blocked, detail
		case "in progress":
			inner, ok := trimEnds(m[1], "**")
			if !ok {
				item.Text = unescape(text)
				return item
			}
			m[1], item.Status, item.Active = inner, todo.InProgress, detail
		}
		text = m[1]
	}
	if inner, ok := trimEnds(text, "~~"); ok && item.Status == todo.Pending {
		text, item.Status = inner, todo.Cancelled
	}
	item.Text = unescape(text)
	return item
}

// trimEnds returns a text without the mark at both ends. ok is false if either lacks.
func trimEnds(text, mark string) (inner string, ok bool) {
	inner, begins := strings.CutPrefix(text, mark)
	inner, ends := strings.CutSuffix(inner, mark)
	return inner, begins && ends
}
