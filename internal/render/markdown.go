package render

import (
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

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

// markup matches what has a meaning in Markdown within a line. Underscores inside of a word have none.
var markup = regexp.MustCompile("[\\\\`*\\[\\]<~$]|\\b_+|_+\\b|@|#[0-9]|://|(?i:www\\.|gh-[0-9])")

// entities matches the beginning of an entity, as of &#35; and &amp;. It is used after markup, which may match the #3.
var entities = regexp.MustCompile(`&[#0-9A-Za-z[:^ascii:]]`)

// nothing is an empty HTML comment. It keeps GitHub from making links to persons and issues, as a backslash does not.
const nothing = "<!-- -->"

// escape makes a text safe, and escapes what has a meaning in Markdown, except at the beginning of a line.
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
