package todo

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: no such list, revision or scope. Somebody else's list is
	// not found either.
	ErrNotFound = errors.New("no such list")
	// ErrUnknownOutcome: the write may or may not have been applied. It is
	// safe to repeat with the same operation id.
	ErrUnknownOutcome = errors.New("outcome unknown, safe to repeat")
	// ErrOperationReused: the operation id was used for another write.
	ErrOperationReused = errors.New("operation id already used for a different write")
	// ErrTooNew: the store was written by a newer version of this program.
	ErrTooNew = errors.New("store was written by a newer version")
	// ErrCorrupt: the store's content cannot be read.
	ErrCorrupt = errors.New("store is damaged")
	// ErrTooManyLists: the principal has as many lists as the store allows.
	ErrTooManyLists = errors.New("too many lists")
	// ErrClosed: the store or board is closed.
	ErrClosed = errors.New("closed")
)

// ConflictError says that a save lost: the list moved on meanwhile.
type ConflictError struct {
	// Current is the newest snapshot of the list, or of the list that already
	// holds the exclusive scope.
	Current Snapshot
}

// Error names the list and the revision it is at.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("list %s is at revision %d", e.Current.List.ID, e.Current.Revision)
}

// Problem is one thing wrong with a change, told so that a model can mend it.
type Problem struct {
	// Path says where: "todos[1].status"; empty for the whole.
	Path string
	// Message says what is wrong and what would be right.
	Message string
	// Sentence says that Message is a whole sentence, to be shown as it is.
	Sentence bool
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// InputError is a change refused for what it asks, with every problem found.
// Nothing was changed.
type InputError struct {
	Problems []Problem
}

// Error joins the problems with semicolons, for logs; variants print them
// their own way.
func (e *InputError) Error() string {
	text := "invalid input"
	for i, p := range e.Problems {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		text += sep + p.String()
	}
	return text
}
