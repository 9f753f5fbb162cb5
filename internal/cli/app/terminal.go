package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/todo-mcp/todo-mcp/internal/render"
)

// TerminalWidth returns the width of a terminal in columns, 80 when it cannot
// be read, and 0 when w is no terminal.
func TerminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// Colour reports whether standard output is a terminal that shows colours and
// the user did not turn them off.
func (a *App) Colour() bool {
	return TerminalWidth(a.Stdout) > 0 && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// Confirm asks the user in the terminal and returns an error unless the answer is
// yes. With yes it does not ask.
func (a *App) Confirm(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !IsTerminal(a.Stdin) {
		return errors.New("this cannot be undone: add --yes to do it without being asked")
	}
	answer, err := a.Ask(ctx, question+" [y/N]")
	if err == nil && answer != "y" && answer != "yes" {
		err = errors.New("nothing was deleted")
	}
	return err
}

// IsTerminal reports whether a stream is a terminal, in which a person can be asked.
func IsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TypedInput returns standard input, read so that reading fails when ctx ends, as
// with Ctrl-C. All questions share it: a read that has begun cannot be taken back and
// would take the answer to the next question from another reader.
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

// Ask asks the user in the terminal and returns the answer in lower case; empty when
// there is none.
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

// Style returns how lists look on standard output.
func (a *App) Style() render.Style {
	return render.Style{Signs: TerminalWidth(a.Stdout) > 0, Color: a.Colour()}
}

// PrintJSON prints a value as JSON, safe to show in a terminal (BAD-INPUT 80). Without an
// indent it is one line.
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
