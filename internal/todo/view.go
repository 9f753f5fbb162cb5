package todo

import (
	"slices"
	"strings"
)

// Line is an item as a variant writes it: in a write what the caller sent, in a
// result what the caller is shown.
type Line struct {
	ID     string `json:"id,omitempty"` // "" when the caller sent none
	Text   string `json:"text"`
	Active string `json:"-"`      // "" in variants without one, and where a person writes
	Status string `json:"status"` // in the variant's words
	// Priority and DueDate are what a write says of them; nil leaves one as it is, and
	// an empty text removes it. A result has neither.
	Priority *string `json:"-"`
	DueDate  *string `json:"-"`
}

// View is how a variant sees items: which statuses it shows, and in which
// words. It implements the projection in the table of docs/spec/variants.md,
// and its inverse.
type View struct {
	// Words maps a core status to the variant's word. Items with a status that
	// is missing here are not shown.
	Words map[Status]string
	// Active is true when the variant has an active text.
	Active bool
}

// Show returns an item as a line. In a view without active texts the line's
// text is the title, since its callers see nothing else. ok is false for an
// item that the view leaves out.
func (v View) Show(item Item) (line Line, ok bool) {
	word, ok := v.Words[item.Status]
	if !ok {
		return Line{}, false
	}
	if v.Active {
		return Line{ID: item.ID, Text: item.Text, Active: item.ActiveText(), Status: word}, true
	}
	return Line{ID: item.ID, Text: v.Title(item), Status: word}, true
}

// Title returns the text that people are shown for an item in this view: the
// active text if the view shows the item as in progress, else the text.
func (v View) Title(item Item) string {
	if word, ok := v.Words[item.Status]; ok && word == v.Words[InProgress] {
		return item.ActiveText()
	}
	return item.Text
}

// Lines returns the items that the view shows as lines, in order; never nil.
func (v View) Lines(items []Item) []Line {
	lines := make([]Line, 0, len(items))
	for _, item := range items {
		if line, ok := v.Show(item); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// Core returns the core status for one of the view's words. If several statuses
// share the word, it is the first of pending, in progress, completed, failed,
// blocked and cancelled. ok is false for a word that the view does not have.
func (v View) Core(word string) (Status, bool) {
	for _, s := range []Status{Pending, InProgress, Completed, Failed, Blocked, Cancelled} {
		if w, ok := v.Words[s]; ok && w == word {
			return s, true
		}
	}
	return "", false
}

// Accepts returns the words that a caller may send: those for pending, in
// progress, completed and failed, in this order and without repeats.
func (v View) Accepts() []string {
	words := make([]string, 0, 4)
	for _, s := range []Status{Pending, InProgress, Completed, Failed} {
		if w, ok := v.Words[s]; ok && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// Quote returns words as errors show them: 'pending' | 'done'.
func Quote(words []string) string {
	return "'" + strings.Join(words, "' | '") + "'"
}
