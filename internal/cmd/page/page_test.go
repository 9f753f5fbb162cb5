package page_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
)

// Put replaces the text between a section's marks and nothing else.
func TestSections(t *testing.T) {
	got, was, err := page.Section{Name: "b", Text: "new\n"}.Put("before\n<!-- b -->\nold\n<!-- /b -->\nafter\n")
	if want := "before\n<!-- b -->\nnew\n<!-- /b -->\nafter\n"; err != nil || got != want || was != "old\n" {
		t.Errorf("%q, was %q, %v", got, was, err)
	}
	if _, _, err := (page.Section{Name: "c"}).Put(got); err == nil {
		t.Error("a document without marks was accepted")
	}
	if got := page.Number(1234567) + " " + page.Number(12); got != "1,234,567 12" {
		t.Error(got)
	}
}
