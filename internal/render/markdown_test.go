package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

// escape escapes Markdown syntax in a text, and no more than needed.
func TestMarkdownEscapes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"use snake_case, R & D > 5", "use snake_case, R & D > 5"},
		{"__it_ *is* a_b", `\_\_it\_ \*is\* a_b`},
		{"[x](y) ![z](w)", `\[x\](y) !\[z\](w)`},
		{"<b>&lt;&#60; &日", `\<b>\&lt;\&#60; \&日`},
		{`C:\dir`, `C:\\dir`},
		{"https://a.b www.c.d e@f", `https\://a.b www\.c.d e\@f`},
		{"~~gone~~", `\~\~gone\~\~`},
		{"no *(failed)*", `no \*(failed)\*`},
		{"41\n- [x] fake", `41\\n- \[x\] fake`},
		{"$x$ `y`", "\\$x\\$ \\`y\\`"},
	}
	for _, tt := range tests {
		if got := escape(tt.text); got != tt.want {
			t.Errorf("escape(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestMarkdownIsReversible(t *testing.T) {
	for _, s := range []todo.Snapshot{sample(), scripts()} {
		checkReversible(t, s)
	}
	got := Markdown(list(todo.Item{Text: "A", Status: todo.Completed, Priority: "high", DueDate: "2026-12-01"}))
	if !strings.Contains(got, "- [x] A *(priority: high)* *(due: 2026-12-01)*\n") {
		t.Error(got)
	}
}

// What Markdown writes is read back: the text, and what a status adds, priority and due
// date in every status.
func FuzzMarkdown(f *testing.F) {
	for status := range todo.Statuses() {
		f.Add("a)* b", "doing", "*high*", "1) May)", uint8(status))
		f.Add("a", "", "high", "", uint8(status))
		f.Add("a", "why", "", "May", uint8(status))
	}
	f.Add(`**a\** *(in progress: b)*`, `x)*`, "", "", uint8(1))
	f.Add("~~a~~ *(failed)*", "", "", "", uint8(2))
	f.Add("[ ] <b> \\", "*", "\\", "*(due: x)*", uint8(4))
	f.Fuzz(func(t *testing.T, text, detail, priority, due string, status uint8) {
		statuses := todo.Statuses()
		one := todo.Item{Text: cleanText(text), Priority: cleanText(priority), DueDate: cleanText(due), Status: statuses[int(status)%len(statuses)]}
		if one.Status == todo.InProgress && cleanText(detail) != one.Text {
			one.Active = cleanText(detail)
		}
		if one.Status == todo.Blocked {
			one.Reason = cleanText(detail)
		}
		s := list(one, item(todo.Pending, "next"))
		if n := strings.Count(Markdown(s), "\n"); n != 4 {
			t.Errorf("%d lines: %q", n, Markdown(s))
		}
		if one.Text != "" {
			checkReversible(t, s)
		}
	})
}

// cleanText turns any text into one that a list can contain and Safe leaves
// unchanged.
func cleanText(text string) string {
	result, _ := todo.CleanText(Safe(text))
	return result
}

func checkReversible(t *testing.T, s todo.Snapshot) {
	t.Helper()
	want := make([]todo.Item, len(s.Items))
	for i, it := range s.Items {
		want[i] = todo.Item{Text: it.Text, Active: it.Active, Reason: it.Reason, Status: it.Status, Priority: it.Priority, DueDate: it.DueDate}
	}
	if diff := cmp.Diff(want, readMarkdown(Markdown(s))); diff != "" {
		t.Errorf("%s\n%s", Markdown(s), diff)
	}
}

// task matches a line with a task, with its checkbox and its text.
var task = regexp.MustCompile(`^- \[([ x])\] (.*)\n$`)

// noted matches a text with a note at its end, with the text, the note's word and its detail.
var noted = regexp.MustCompile(`^(.*) \*\((in progress|failed|blocked|priority|due)(?:: ((?:[^*\\]|\\.)*))?\)\*$`)

// escaped matches ASCII punctuation behind a backslash.
var escaped = regexp.MustCompile("\\\\([!-/:-@[-`{-~])")

func unescape(text string) string { return escaped.ReplaceAllString(text, "$1") }

// readMarkdown is the inverse of [Markdown]: it reads the text and the status of each
// item, and as far as they are written the active text of items in progress, the reason
// of blocked ones, priority and due date.
func readMarkdown(text string) []todo.Item {
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
