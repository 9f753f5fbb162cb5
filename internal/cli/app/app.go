// Package app has the parts that all commands share: settings, the open store, the search for a list, and the terminal.
package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	_ "time/tzdata" // slim container images and Windows have no files of time zones

	"golang.org/x/term"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server/metrics"
	"github.com/todo-mcp/todo-mcp/tools"
)

// App has the name, the environment and the settings of a running command.
type App struct {
	Env
	*Settings
	Command string
	Folder  string           // the folder whose list is meant if the command names no list; empty is the working directory
	Brief   bool             // a host waits for this command, so other commands must upgrade the schema
	typed   *bufio.Reader    // see TypedInput
	Metrics *metrics.Metrics // set for `serve`; nil for other commands
	Audit   *audit.Log       // set when the store is opened with --audit-log; else nil
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

// Logger returns a logger that writes to standard error.
func (a *App) Logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(a.LogLevel)) // the setting allows only valid levels
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: level}))
}

// CommandLine returns the writer to record for a change that a person makes with a command.
func CommandLine(command string) todo.Writer {
	return todo.Writer{Client: "command line", Variant: command, Person: true}
}

// Env has the streams, environment variables and signals of a command's process, and the program's version.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string // not nil
	Version        string
	// Signals returns a context that ends when the process is told to stop. Signals may be nil. A host's `hook` does
	// not call Signals, so its first signal kills the process.
	Signals func(context.Context) context.Context
}

// Run runs a command with the arguments that are not flags. The user sees the error's text.
type Run func(ctx context.Context, a *App, args []string) error

// UsageError is a mistake in what the user typed.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a [UsageError] with a text formatted as by [fmt.Errorf].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// TerminalWidth returns the width of a terminal in columns, 80 if it is unknown, and 0 when w is no terminal.
func TerminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return cmp.Or(width, 80)
		}
	}
	return 0
}

// Colour reports whether standard output is a terminal with colours that the user did not turn off.
func (a *App) Colour() bool {
	return TerminalWidth(a.Stdout) > 0 && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// Confirm returns an error unless the flag --yes is set or the user answers yes in the terminal.
func (a *App) Confirm(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !IsTerminal(a.Stdin) {
		return errors.New("this cannot be undone: add --yes to do it without being asked")
	}
	agrees, err := a.Agrees(ctx, question)
	if err == nil && !agrees {
		err = errors.New("nothing was deleted")
	}
	return err
}

// Agrees asks the user a question in the terminal, and reports whether the answer is yes.
func (a *App) Agrees(ctx context.Context, question string) (bool, error) {
	answer, err := a.Ask(ctx, question+" [y/N]")
	return answer == "y" || answer == "yes", err
}

// IsTerminal reports whether a stream is a terminal, in which a person can be asked.
func IsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TypedInput returns the one reader of standard input for all questions. Reads fail when ctx ends, as after Ctrl-C.
func (a *App) TypedInput(ctx context.Context) *bufio.Reader {
	if a.typed == nil {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { w.CloseWithError(errors.New("stopped")) })
		go func() {
			_, err := io.Copy(w, a.Stdin)
			w.CloseWithError(err)
		}()
		a.typed = bufio.NewReader(r)
	}
	return a.typed
}

// Ask asks the user in the terminal and returns the answer in lower case; empty when there is none.
func (a *App) Ask(ctx context.Context, question string) (string, error) {
	if err := a.Say("%s ", question); err != nil {
		return "", err
	}
	answer, _ := a.TypedInput(ctx).ReadString('\n')
	return strings.ToLower(strings.TrimSpace(answer)), nil
}

// Say prints a text on standard output.
func (a *App) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// PrintJSON prints a value as JSON, safe to show in a terminal (BAD-INPUT 80). An empty indent gives one line.
func PrintJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err := w.Write(render.SafeJSON(text.Bytes()))
	return err
}

// IsUnread reports whether a command failed because the program that reads its output, such as head, has ended.
func IsUnread(err error) bool {
	var write *fs.PathError
	return errors.As(err, &write) && write.Path == os.Stdout.Name() &&
		(errors.Is(write, syscall.EPIPE) || runtime.GOOS == "windows" && errors.Is(write, errNoData))
}

const errNoData = syscall.Errno(232) // ERROR_NO_DATA of Windows: the other end of a pipe was closed
