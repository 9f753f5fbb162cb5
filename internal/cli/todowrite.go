package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/tools"
)

// The usage lines, to the letter (VARIANTS.md C2).
const (
	usageShort = `Usage: TodoWrite '{"todos":[...]}'`
	usageItem  = `Usage: TodoWrite '{"todos":[{"content":"...","activeForm":"...","status":"pending"}]}'`
)

// todoWrite is system 3's command: the summary on standard out and exit 0, or
// the message on standard error and exit 1 (VARIANTS.md C1–C5).
func (a *app) todoWrite(ctx context.Context, args []string) error {
	raw, err := a.todoWriteJSON(args)
	if err != nil {
		return err
	}
	list, _, err := a.newTools()
	if err != nil {
		return &toldError{"Error: " + err.Error()}
	}
	tool := tools.Find(list, "TodoWrite")
	call, err := tool.Read(raw)
	if err != nil {
		return told(tool, err)
	}
	lists, done, err := a.openLists()
	if err != nil {
		return &toldError{"Error: " + err.Error()}
	}
	defer done()
	out, err := lists.Apply(ctx, a.todoWriteTo(call))
	if err != nil {
		return told(tool, err)
	}
	if width := terminal(a.Stdout); width > 0 {
		if _, err := io.WriteString(a.Stdout, a.picture(out.After, out.After.List.Name, 0)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.Stdout, tool.Result(call, out).Text)
	return err
}

// todoWriteJSON is the argument, or standard input for "-".
func (a *app) todoWriteJSON(args []string) ([]byte, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "" {
		return nil, &toldError{"Error: Missing JSON parameter\n" + usageShort}
	}
	if text != "-" {
		return []byte(text), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.Stdin, todo.MaxRequest+1))
	if err != nil {
		return nil, &toldError{"Error: read standard input: " + err.Error()}
	}
	if len(raw) > todo.MaxRequest {
		return nil, &toldError{fmt.Sprintf("Error: the JSON is larger than %d bytes", todo.MaxRequest)}
	}
	return raw, nil
}

// todoWriteTo says where the command writes: the named list, else the working
// directory's (VARIANTS.md C3).
func (a *app) todoWriteTo(call *tools.Call) todo.Write {
	w := todo.Write{Writer: todo.Writer{Client: "command line", Variant: "TodoWrite"}, Change: call.Change}
	w.List, w.Begin.Workspace = call.List, workingDir()
	if a.list != "" {
		w.Scope, w.Begin.Name = server.NamedScope(a.list), a.list
		return w
	}
	w.Scope = todo.Scope{Conversation: "dir:" + w.Begin.Workspace, Exclusive: true}
	return w
}

// told words an error as the tool would, with the usage line behind bad JSON.
func told(tool *tools.Tool, err error) error {
	result, ok := tool.Failure(err)
	switch {
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return &toldError{"Error: the store did not answer in time"}
	case !ok:
		return &toldError{"Error: " + err.Error()}
	case errors.Is(err, tools.ErrInvalidJSON):
		return &toldError{result.Text + "\n" + usageItem}
	}
	return &toldError{result.Text}
}
