package render

import (
	"regexp"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
)

func TestBoxWidths(t *testing.T) {
	for _, s := range []todo.Snapshot{sample(), scripts(), hostile(), list()} {
		for width := -1; width < 130; width++ {
			want := max(width, minBox)
			if width < 1 {
				want = 0
			}
			checkBox(t, s, BoxOptions{Width: width, Title: "発売 \x1b[2J"}, want)
		}
	}
}

// A text that is too long gives way to what stands behind it, down to half the width; so
// does a title. The dots of an active text go with its end, and are not added to dots.
func TestBoxCuts(t *testing.T) {
	long := strings.Repeat("long ", 10)
	s := list(item(todo.Blocked, long), item(todo.InProgress, long), item(todo.InProgress, "Waiting…"),
		todo.Item{Text: long, Status: todo.Blocked, Reason: long})
	for width, want := range map[int]string{
		34: `
┌─ Release the new v… · 3 of 12 ─┐
│ ○ long long long lo… (blocked) │
│ ● long long long long long lo… │
│ ● Waiting...                   │
│ ○ long long lon… (blocked: lo… │
└────────────────────────────────┘
`, 18: `
┌─ Relea… · 3 … ─┐
│ ○ long … (blo… │
│ ● long long l… │
│ ● Waiting...   │
│ ○ long … (blo… │
└────────────────┘
`,
	} {
		if got := "\n" + Box(s, BoxOptions{Width: width, Title: "Release the new version", Note: "3 of 12"}); got != want {
			t.Errorf("got%s\nwant%s", got, want)
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkBox checks what every box must satisfy: the number of lines, one width
// for all of them (want, unless it is 0), safe text, and that Color adds nothing
// but colour.
func checkBox(t *testing.T, s todo.Snapshot, o BoxOptions, want int) {
	t.Helper()
	box := Box(s, o)
	lines := strings.Split(strings.TrimSuffix(box, "\n"), "\n")
	if n := max(len(s.Items), 1) + 2; len(lines) != n {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), n, box)
	}
	if want == 0 {
		want = Cells(lines[len(lines)-1])
	}
	for _, line := range lines {
		if w := Cells(line); w != want {
			t.Errorf("%+v: %d cells, want %d: %+q", o, w, want, line)
		}
		if strings.ContainsFunc(line, dangerous) {
			t.Errorf("not safe: %+q", line)
		}
	}
	o.Color = true
	if plain := sgr.ReplaceAllString(Box(s, o), ""); plain != box {
		t.Errorf("Color changes more than colours:\n%q\n%q", plain, box)
	}
}
