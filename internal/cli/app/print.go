package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Say prints a text on standard output.
func (a *App) Say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// Print prints a list after a change of it.
func (a *App) Print(list todo.Snapshot) error {
	_, err := io.WriteString(a.Stdout, a.Picture(list, render.BoxOptions{Title: list.Title()}))
	return err
}

// Picture returns a list as a box if standard output is a terminal or a width is
// given, else as plain lines. Width 0 means the terminal's, at most 100 columns.
// The lines of under stand below the box, or below the first of the plain lines.
func (a *App) Picture(list todo.Snapshot, o render.BoxOptions, under ...string) string {
	if TerminalWidth(a.Stdout) == 0 && o.Width == 0 {
		return render.Plain(list, under...)
	}
	o.Color = a.Colour()
	o.Width = cmp.Or(o.Width, min(TerminalWidth(a.Stdout), 100))
	box := render.Box(list, o)
	for _, line := range under {
		box += "  " + line + "\n"
	}
	return box
}

// PrintJSON prints a value as JSON over several lines, safe to show in a terminal
// (BAD-INPUT 80).
func PrintJSON(w io.Writer, v any) error { return printJSON(w, v, "  ") }

// PrintLine is [PrintJSON] in one line.
func PrintLine(w io.Writer, v any) error { return printJSON(w, v, "") }

func printJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err := w.Write(render.SafeJSON(text.Bytes()))
	return err
}
