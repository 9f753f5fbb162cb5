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
- [x] ~~also dropped~~
- [ ] **Write** *(in progress: Writing)*
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
		{"_it_ *is*", `\_it\_ \*is\*`},
		{"[x](y) ![z](w)", `\[x\](y) !\[z\](w)`},
		{"<b>&lt;&#60;", `\<b>\&lt;\&#60;`},
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

// Priority and due date stand behind whatever a status adds, in every status.
func TestMarkdownDetails(t *testing.T) {
	for _, status := range todo.Statuses() {
		one := todo.Item{Text: "a)* b", Status: status, Priority: "*high*", DueDate: "1) May)"}
		switch status {
		case todo.InProgress:
			one.Active = "doing"
		case todo.Blocked:
			one.Reason = "why"
		}
		checkReversible(t, list(one, item(todo.Pending, "next")))
		one.Priority = ""
		checkReversible(t, list(one))
		one.Priority, one.DueDate = "high", ""
		checkReversible(t, list(one))
	}
	if got := Markdown(list(todo.Item{Text: "A", Status: todo.Completed, Priority: "high", DueDate: "2026-12-01"})); !strings.Contains(got, "- [x] A *(priority: high)* *(due: 2026-12-01)*\n") {
		t.Error(got)
	}
}

func TestMarkdownIsReversible(t *testing.T) {
	for _, s := range []todo.Snapshot{sample(), scripts()} {
		checkReversible(t, s)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("Write tests", "Writing tests", uint8(1))
	f.Add(`**a\** *(in progress: b)*`, `x)*`, uint8(1))
	f.Add("~~a~~ *(failed)*", "", uint8(2))
	f.Add("[ ] <b> \\", "*", uint8(4))
	f.Fuzz(func(t *testing.T, text, active string, status uint8) {
		statuses := todo.Statuses()
		one := todo.Item{Text: cleanText(text), Status: statuses[int(status)%len(statuses)]}
		if one.Status == todo.InProgress && cleanText(active) != one.Text {
			one.Active = cleanText(active)
		}
		if one.Status == todo.Blocked {
			one.Reason = cleanText(active)
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
