package tools

import (
	"fmt"
	"strings"

	"todo-mcp/internal/todo"
)

// result is the structured content every tool answers with: message, display,
// and which list at which revision. I is the item, C the counts, both in the
// variant's words.
type result[I, C any] struct {
	Message string       `json:"message"`
	Display []display[I] `json:"display"`
	place
	Counts C `json:"counts"`
}

// display is the block a host draws (VARIANTS.md V3).
type display[I any] struct {
	Type  string `json:"type" jsonschema:"enum=todo"`
	Items []I    `json:"items"`
}

// place says which list a result speaks of; both are left out while there is
// none.
type place struct {
	List     string `json:"list,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

func placeOf(s todo.Snapshot) place { return place{List: s.List.ID, Revision: s.Revision} }

// show makes the display block of a snapshot; item turns a line, whose text is
// the title a person is shown, into the variant's item.
func show[I any](view todo.View, s todo.Snapshot, item func(todo.Line) I) []display[I] {
	items := make([]I, 0, len(s.Items))
	for _, i := range s.Items {
		if line, ok := view.Show(i); ok {
			line.Text = view.Title(i)
			items = append(items, item(line))
		}
	}
	return []display[I]{{Type: "todo", Items: items}}
}

// tally counts items by the view's words; what the view leaves out counts as
// cancelled.
func tally(view todo.View, s todo.Snapshot) map[string]int {
	n := make(map[string]int)
	for _, i := range s.Items {
		word, ok := view.Words[i.Status]
		if !ok {
			word = "cancelled"
		}
		n[word]++
	}
	return n
}

// planLines lists items one a line, as marker tells, with their ids and texts.
func planLines(view todo.View, s todo.Snapshot, marker func(word string) string) string {
	var b strings.Builder
	for _, item := range s.Items {
		if word, ok := view.Words[item.Status]; ok {
			fmt.Fprintf(&b, "\n  %s #%s %s", marker(word), item.ID, item.Text)
		}
	}
	return b.String()
}
