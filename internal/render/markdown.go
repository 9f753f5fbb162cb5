package render

import (
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Markdown writes a list as a GitHub task list, under a heading if the list has
// a name:
//
//	# release
//
//	- [ ] pending
//	- [ ] Write tests *(in progress: Writing tests)*
//	- [x] completed
//	- [ ] failed step *(failed: the disk is full)*
//	- [ ] blocked step *(blocked: no key yet)*
//	- [ ] ~~cancelled~~
//	- [ ] urgent *(priority: high, due: 2026-12-01)*
//
// Only completed items are checked. Texts are escaped: each stays one list item
// and creates no markup, HTML or link. Ids, times and the active texts of items that are
// not in progress are not written.
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

// taskLine returns the line of an item. Each of its notes contains emphasis, which an
// escaped text cannot.
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
	case todo.Cancelled:
		line = "- [ ] ~~" + tildes.ReplaceAllStringFunc(escape(item.Text), func(ends string) string {
			return strings.ReplaceAll(ends, `\~`, "&#126;")
		}) + "~~"
		if item.Reason != "" {
			note("cancelled", item.Reason)
		}
	case todo.InProgress:
		active := item.Active
		if active == item.Text {
			active = ""
		}
		note("in progress", active)
	case todo.Failed:
		note("failed", item.Reason)
	case todo.Blocked:
		note("blocked", item.Reason)
	}
	if beside := Beside(s, item); beside != "" {
		note(escape(beside), "")
	}
	if item.Details != "" {
		note("details", item.Details)
	}
	return line
}

// markup matches what has a meaning in Markdown within a line, as far as it can begin with
// it. Underscores inside a word have none: snake_case is no emphasis.
var markup = regexp.MustCompile("[\\\\`*\\[\\]<~$]|\\b_+|_+\\b|@|#[0-9]|://|(?i:www\\.|gh-[0-9])")

// entities match how a character begins that is written as &#35; or &amp;. They are looked for
// behind the rest, as what follows an ampersand may be markup itself.
var entities = regexp.MustCompile(`&[#0-9A-Za-z[:^ascii:]]`)

// tildes match tildes at the ends of an escaped text, which readers take together with
// those that strike it through.
var tildes = regexp.MustCompile(`^(\\~)+|(\\~)+$`)

// nothing is a comment in HTML, which is not shown. Behind a backslash GitHub still makes
// links of what it takes for a person or an issue, and tells that person.
const nothing = "<!-- -->"

// escape makes a text safe and escapes what has a meaning in Markdown, but for what has it
// at the beginning of a line, where a text never stands.
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
