// Package app is what all commands share: their settings, the open store, finding the
// list that a person means, and the terminal.
package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	_ "time/tzdata" // images, slim containers and Windows have no files of time zones

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server/metrics"
	"github.com/todo-mcp/todo-mcp/tools"
)

// App is what a command runs with: its name, its environment and its settings.
type App struct {
	Env
	*Settings
	Command string
	Folder  string           // whose list a command means that names none; empty is this one
	Brief   bool             // a host waits for the command, which so moves no store to a newer schema
	typed   *bufio.Reader    // see TypedInput
	Metrics *metrics.Metrics // of `serve`; nil for other commands
	Audit   *audit.Log       // of the open store, if there is to be one; else nil
}

// NewTools returns the tools and the guidance texts that the settings select.
func (a *App) NewTools() ([]*tools.Tool, *prompts.Texts, error) {
	texts, err := prompts.New(a.Prompts, a.Language)
	if err != nil {
		return nil, nil, err
	}
	options := a.Tools
	options.Texts = texts
	return tools.New(options), texts, nil
}

// Logger returns the log, on standard error.
func (a *App) Logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(a.LogLevel)) // one of the words that the setting allows
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
}

// CommandLine is the writer of what a person does by a command.
func CommandLine(command string) todo.Writer {
	return todo.Writer{Client: "command line", Variant: command, Person: true}
}

// Env is what a command uses of its process: the standard streams, the
// environment variables, and the program's version. Getenv must not be nil.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Version        string
	// Signals returns a context that ends when the process is told to end; nil for none. A
	// silent command does not ask for it, and ends at once.
	Signals func(context.Context) context.Context
}

// Run runs a command with the arguments that are not flags. The error's text is what
// the user is told.
type Run func(ctx context.Context, a *App, args []string) error

// UsageError is an error of what the user typed.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a [UsageError], see [fmt.Errorf].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
