package tools

import (
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/todo"
)

// result is the structured content of most tools: message, display, which list
// at which revision, and counts. I is an item, C the counts, both in the
// variant's words.
type result[I, C any] struct {
	Message string       `json:"message"`
	Display []display[I] `json:"display"`
	listRef
	Counts C `json:"counts"`
}

// display is the block that a host renders (docs/spec/variants.md V3).
type display[I any] struct {
	Type  string `json:"type" jsonschema:"enum=todo"`
	Items []I    `json:"items"`
}

// ListState is a list in short: its id, its revision, and its counts in the
// tool's words, and what a page shows of it beyond the display
// (docs/spec/variants.md V3).
type ListState struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
	Counts   any    `json:"counts"`
	Title    string `json:"title"`
	// Current is the id of the item in progress that was started last, Started
	// when; empty while there is none.
	Current string    `json:"current,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Panel is the address of the list's page; empty when no panel is known.
	Panel string `json:"panel,omitempty"`
	// Written is the newest revision that no person wrote, and Rests is true when
	// no agent works on the list. Only the answers of the page's own tools have
	// them: to other callers they say nothing, who have just written.
	Written int64 `json:"written,omitempty"`
	Rests   bool  `json:"rests,omitempty"`
}

// listRef is the list that a result is about and its revision; both are left
// out while there is no list.
type listRef struct {
	List     string `json:"list,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

// show returns a snapshot in the words of a view, and how often it has each word; items
// that the view leaves out count as "cancelled". item converts a line, with the title that
// people are shown as its text, to the variant's item.
func show[I any](view todo.View, s todo.Snapshot, item func(todo.Line) I) ([]display[I], map[string]int) {
	items, counts := make([]I, 0, len(s.Items)), make(map[string]int)
	for _, i := range s.Items {
		line, ok := view.Show(i)
		if !ok {
			counts["cancelled"]++
			continue
		}
		counts[line.Status]++
		line.Text = view.Title(i)
		items = append(items, item(line))
	}
	return []display[I]{{Type: "todo", Items: items}}, counts
}

// newResult returns a result of a text and, as structured content, a message with
// what is shown of a snapshot.
func newResult[I, C any](text, message string, s todo.Snapshot, shown []display[I], counts C) Result {
	r := Result{Text: text, Structured: result[I, C]{message, shown, listRef{s.List.ID, s.Revision}, counts}, Display: shown}
	if s.List.ID == "" {
		return r // there is no list
	}
	r.List = &ListState{ID: s.List.ID, Revision: s.Revision, Counts: counts, Title: s.Title()}
	if item, ok := s.Current(); ok {
		r.List.Current, r.List.Started = item.ID, item.Started
	}
	return r
}

// planLines returns the items that the view shows, one per line, each with a
// marker, its id and its text.
func planLines(view todo.View, s todo.Snapshot, marker func(word string) string) string {
	var b strings.Builder
	for _, item := range s.Items {
		if word, ok := view.Words[item.Status]; ok {
			fmt.Fprintf(&b, "\n  %s #%s %s", marker(word), item.ID, item.Text)
		}
	}
	return b.String()
}
