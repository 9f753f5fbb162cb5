package app

import "context"

// Run runs a command with the arguments that are not flags. The error's text is what
// the user is told.
type Run func(ctx context.Context, a *App, args []string) error

// UsageError is an error of what the user typed.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// VerbatimError is an error that is printed without the prefix "todo-mcp: "
// (docs/spec/variants.md C1, C2).
type VerbatimError string

func (e VerbatimError) Error() string { return string(e) }
