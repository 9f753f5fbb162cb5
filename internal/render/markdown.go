package render

import (
	"regexp"
	"strings"

	"todo-mcp/internal/todo"
)

// Markdown writes a list as a GitHub task list, under a heading if the list has
// a name:
//
//	# release
//
//	- [ ] pending
//	- [ ] Write tests *(in progress: Writing tests)*
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
		b.WriteString(taskLine(item) + "\n")
	}
	return b.String()
}

// taskLine returns the line of an item. Each of its notes contains emphasis, which an
// escaped text cannot.
func taskLine(item todo.Item) string {
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
	case todo.Cancelled:
		line = "- [ ] ~~" + escape(item.Text) + "~~"
	case todo.InProgress:
		active := item.Active
		if active == item.Text {
			active = ""
		}
		note("in progress", active)
	case todo.Failed:
		note("failed", "")
	case todo.Blocked:
		note("blocked", item.Reason)
	}
	if item.Priority != "" {
		note("priority", item.Priority)
	}
	if item.DueDate != "" {
		note("due", item.DueDate)
	}
	return line
}

// markup matches what has a meaning in Markdown within a line, as far as it can begin with
// it. Underscores inside a word have none: snake_case is no emphasis.
var markup = regexp.MustCompile("[\\\\`*\\[\\]<~$@]|\\b_+|_+\\b|&[#\\pL\\pN]|://|(?i:www\\.)")

// escape makes a text safe and escapes what has a meaning in Markdown, but for what has it
// at the beginning of a line, where a text never stands.
func escape(text string) string {
	return markup.ReplaceAllStringFunc(Safe(text), func(m string) string {
		switch {
		case m[0] == '_':
			return strings.Repeat(`\_`, len(m))
		case strings.HasSuffix(m, "."):
			return m[:3] + `\.`
		}
		return `\` + m
	})
}

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

// struck matches a text that is struck through.
var struck = regexp.MustCompile(`^~~(.*)~~$`)

// readTask reads what follows a checkbox: a text, what its status adds, and notes.
func readTask(text string) todo.Item {
	item := todo.Item{Status: todo.Pending}
	for m := noted.FindStringSubmatch(text); m != nil; m = noted.FindStringSubmatch(text) {
		detail := unescape(m[3])
		switch text = m[1]; m[2] {
		case "priority":
			item.Priority = detail
		case "due":
			item.DueDate = detail
		case "failed":
			item.Status = todo.Failed
		case "blocked":
			item.Status, item.Reason = todo.Blocked, detail
		case "in progress":
			item.Status, item.Active = todo.InProgress, detail
		}
	}
	if m := struck.FindStringSubmatch(text); m != nil && item.Status == todo.Pending {
		text, item.Status = m[1], todo.Cancelled
	}
	item.Text = unescape(text)
	return item
}
