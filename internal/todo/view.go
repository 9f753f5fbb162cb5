package todo

import (
	"slices"
	"strings"
)

// Line is an item as a variant says it: in a write what the caller sent, in a
// result what the caller is shown.
type Line struct {
	ID     string // "" when the caller sent none
	Text   string
	Active string // "" in variants without one
	Status string // a word of the variant's
}

// View is how a family of variants sees items: the word for each core status.
// It is the projection of VARIANTS.md's table, and its inverse.
type View struct {
	// Words maps a core status to the variant's word. Items whose status is
	// missing are left out of what the variant shows.
	Words map[Status]string
	// Active says that the variant carries an active text.
	Active bool
}

// Show projects an item. In a view without active texts the line's text is the
// title, for that is all its callers see. ok is false for an item this view
// leaves out.
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

// Title is what a person is shown of an item in this view: the active text
// while the view calls it in progress, else the text.
func (v View) Title(item Item) string {
	if word, ok := v.Words[item.Status]; ok && word == v.Words[InProgress] {
		return item.ActiveText()
	}
	return item.Text
}

// Lines projects a whole list, in order.
func (v View) Lines(items []Item) []Line {
	lines := make([]Line, 0, len(items))
	for _, item := range items {
		if line, ok := v.Show(item); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// Core is the status a word means: of those that share it, the plainest. ok is
// false for a word the view does not have.
func (v View) Core(word string) (Status, bool) {
	for _, s := range []Status{Pending, InProgress, Completed, Failed, Blocked, Cancelled} {
		if w, ok := v.Words[s]; ok && w == word {
			return s, true
		}
	}
	return "", false
}

// Accepts lists the words a caller may send, in the order a plan goes through
// them.
func (v View) Accepts() []string {
	var words []string
	for _, s := range []Status{Pending, InProgress, Completed, Failed} {
		if w, ok := v.Words[s]; ok && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// Quote lists words as an error shows them: 'pending' | 'done'.
func Quote(words []string) string {
	return "'" + strings.Join(words, "' | '") + "'"
}
