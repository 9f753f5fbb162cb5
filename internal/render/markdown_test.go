package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

func TestReadMarkdown(t *testing.T) {
	text := `# Plan
intro [ ] no, - [ ] no
- [ ] one
* [X] two
  + [x] nested **bold**
- [ ]
- [y] no
-[ ] tight
- no task
- [ ] ~~dropped~~
- [ ] ~~~~
- [x] ~~also dropped~~
- [ ] Write *(in progress: Writing)*
- [ ] **not in progress**
` + "- [ ] windows\r\n"
	want := []todo.Item{
		item(todo.Pending, "one"), item(todo.Completed, "two"), item(todo.Completed, "nested **bold**"),
		item(todo.Pending, "tight"), item(todo.Cancelled, "dropped"), item(todo.Cancelled, "also dropped"),
		{Text: "Write", Active: "Writing", Status: todo.InProgress},
		item(todo.Pending, "**not in progress**"), item(todo.Pending, "windows"),
	}
	if diff := cmp.Diff(want, ReadMarkdown(text)); diff != "" {
		t.Error(diff)
	}
}

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
	if diff := cmp.Diff(want, ReadMarkdown(Markdown(s))); diff != "" {
		t.Errorf("%s\n%s", Markdown(s), diff)
	}
}
