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

// content is the structured content of any tool.
type content interface {
	// state returns the list in short; nil while there is none.
	state() *ListState
	// shown returns the display; nil when there is none.
	shown() any
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

// describe adds to the list in short what follows from its snapshot.
func (l *ListState) describe(s todo.Snapshot) {
	l.Title = s.Title()
	if item, ok := s.Current(); ok {
		l.Current, l.Started = item.ID, item.Started
	}
}

func (r result[I, C]) state() *ListState { return r.inShort(r.Counts) }

func (r result[I, C]) shown() any { return r.Display }

// newResult returns a result of a text and its structured content, which may be
// nil.
func newResult(text string, c content) Result {
	if c == nil {
		return Result{Text: text}
	}
	return Result{Text: text, Structured: c, List: c.state(), Display: c.shown()}
}

// listRef is the list that a result is about and its revision; both are left
// out while there is no list.
type listRef struct {
	List     string `json:"list,omitempty"`
	Revision int64  `json:"revision,omitempty"`
}

func (l listRef) inShort(counts any) *ListState {
	if l.List == "" {
		return nil
	}
	return &ListState{ID: l.List, Revision: l.Revision, Counts: counts}
}

func listRefOf(s todo.Snapshot) listRef { return listRef{List: s.List.ID, Revision: s.Revision} }

// displayOf returns the display block of a snapshot. item converts a line, with
// the title that people are shown as its text, to the variant's item.
func displayOf[I any](view todo.View, s todo.Snapshot, item func(todo.Line) I) []display[I] {
	items := make([]I, 0, len(s.Items))
	for _, i := range s.Items {
		if line, ok := view.Show(i); ok {
			line.Text = view.Title(i)
			items = append(items, item(line))
		}
	}
	return []display[I]{{Type: "todo", Items: items}}
}

// tally counts items by the view's words; items that the view leaves out count
// as "cancelled".
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
