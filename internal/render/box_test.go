package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// All lines of a box have its width, whatever stands in it, and all is safe. Colours change
// nothing else.
func TestBoxWidths(t *testing.T) {
	for _, s := range []todo.Snapshot{sample(), scripts(), hostile(), list()} {
		for width := range 130 {
			box := Box(s, "発売 \x1b[2J", width, false)
			lines := strings.Split(strings.TrimSuffix(box, "\n"), "\n")
			if n := max(len(s.Items), 1) + 2; len(lines) != n {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), n, box)
			}
			for _, line := range lines {
				if w := Cells(line); w != min(max(width, minBox), maxBox) || strings.ContainsFunc(line, dangerous) {
					t.Errorf("%d: %d cells: %+q", width, w, line)
				}
			}
			if plain := sgr.ReplaceAllString(Box(s, "発売 \x1b[2J", width, true), ""); plain != box {
				t.Errorf("colours change more:\n%q\n%q", plain, box)
			}
		}
	}
}

// A text that is too long gives way to what stands behind it, down to half the width. The dots
// of an active text go with its end, and are not added to dots.
func TestBoxCuts(t *testing.T) {
	long := strings.Repeat("long ", 10)
	s := list(item(todo.Blocked, long), item(todo.InProgress, long), item(todo.InProgress, "Waiting…"),
		todo.Item{Text: long, Status: todo.Blocked, Reason: long})
	const want = `
┌─ Tasks ────────────────────────┐
│ ○ long long long lo… (blocked) │
│ ● long long long long long lo… │
│ ● Waiting...                   │
│ ○ long long lon… (blocked: lo… │
└────────────────────────────────┘
`
	if got := "\n" + Box(s, "", 34, false); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}
