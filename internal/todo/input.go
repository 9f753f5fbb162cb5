package todo

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one thing wrong with a change, worded so that a model can correct
// it.
type Problem struct {
	// Path is where the problem is, as in "todos[1].status"; empty when it
	// concerns the whole change.
	Path string
	// Message says what is wrong and what is allowed.
	Message string
	// Sentence is true when Message is a complete sentence, which variants show
	// without a prefix.
	Sentence bool
	Err      error // what Message says in English, for those who say it otherwise; nil for none
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// SizeError refuses a list of too many items, or of too much text.
type SizeError struct {
	Items int // how many it would have, where these are too many
	Size  int // in bytes, see [Size]
}

func (e *SizeError) Error() string {
	if e.Items > 0 {
		return fmt.Sprintf("a list holds at most %d items, this would make %d", MaxItems, e.Items)
	}
	return fmt.Sprintf("the texts of a list are at most %d kB together, these are %d kB: write fewer items, or shorter ones", MaxSize/1000, (e.Size+999)/1000)
}

// UnclearError refuses an empty write by a key that several chats share, since it may mean
// each of some open lists.
type UnclearError struct{ Titles []string }

func (e *UnclearError) Error() string {
	return "several chats share this connection, and which list to clear is unclear: " + strings.Join(e.Titles, ", ")
}

// InputError is the refusal of a change that is not valid. It lists every
// problem found. Nothing was changed.
type InputError struct {
	Problems []Problem
}

// Error joins the problems with semicolons, for people and logs. Variants format
// Problems for models themselves.
func (e *InputError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// ErrMirrored refuses a change of a list that is a copy of one which the agent keeps elsewhere, see
// [List.Mirrored]; nothing was changed.
var ErrMirrored = errors.New("the agent keeps this list in a todo tool of its own: it can only be changed there")
