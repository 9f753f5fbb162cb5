package todo

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one thing wrong with a change, worded so that a model can correct it.
type Problem struct {
	Path     string // where it is, as in "todos[1].status"; empty for the whole change
	Message  string // what is wrong and what is allowed
	Sentence bool   // Message is a complete sentence, shown without a prefix
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// SizeError refuses a list of too many items, or of too much text.
type SizeError struct {
	Items int // the number of items that the list would have; 0 if only Size is too large
	Size  int // in bytes, see [Size]
}

func (e *SizeError) Error() string {
	if e.Items > 0 {
		return fmt.Sprintf("a list holds at most %d items, this would make %d", MaxItems, e.Items)
	}
	return fmt.Sprintf("the texts of a list are at most %d kB together, these are %d kB: write fewer items, or shorter ones",
		MaxSize/1000, (e.Size+999)/1000)
}

// ControlError refuses a text with a control character.
type ControlError struct {
	Code     rune
	Position int // in runes, from 1
}

func (e *ControlError) Error() string {
	return fmt.Sprintf("control character U+%04X at position %d is not allowed", e.Code, e.Position)
}

// UnclearError refuses to clear a list when several chats share the caller's key and this key has several open lists.
type UnclearError struct{ Titles []string }

func (e *UnclearError) Error() string {
	return "several chats share this connection, so it is unclear which list to clear: " + strings.Join(e.Titles, ", ")
}

// InputError refuses a change that is not valid, with every problem found.
type InputError struct {
	Problems []Problem
	Err      error // the cause, if callers handle it specially; else nil
}

func (e *InputError) Unwrap() error { return e.Err }

// Error joins the problems with semicolons, for people and logs. Variants format Problems for models.
func (e *InputError) Error() string { return strings.Join(each(e.Problems, Problem.String), "; ") }

// ErrMirrored refuses a change of a list that is [List.Mirrored].
var ErrMirrored = errors.New("the agent keeps this list in its own todo tool: change it there")
