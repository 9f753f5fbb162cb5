package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/jsonrpc"
	"todo-mcp/tools"
)

// The usage lines; docs/spec/variants.md C2 fixes their exact text.
const (
	usageShort = `Usage: TodoWrite '{"todos":[...]}'`
	usageItem  = `Usage: TodoWrite '{"todos":[{"content":"...","activeForm":"...","status":"pending"}]}'`
)

// todoWrite runs system 3's command. It prints the result text on standard
// output, or returns an error with the exact message for standard error, which
// the program prints before it exits with 1 (docs/spec/variants.md C1–C5).
func (a *app) todoWrite(ctx context.Context, args []string) error {
	raw, err := a.todoWriteJSON(args)
	if err != nil {
		return err
	}
	list, _, err := a.newTools()
	if err != nil {
		return &verbatimError{"Error: " + err.Error()}
	}
	tool := tools.Find(list, "TodoWrite")
	if strings.HasPrefix(string(raw), "{") && jsonrpc.CheckObject(raw) != nil {
		return toolFailure(tool, tools.ErrInvalidJSON) // as over MCP (BAD-INPUT 83)
	}
	call, err := tool.Read(raw)
	if err != nil {
		return toolFailure(tool, err)
	}
	lists, done, err := a.openLists()
	if err != nil {
		return &verbatimError{"Error: " + err.Error()}
	}
	defer done()
	out, err := lists.Apply(ctx, a.todoWriteTo(call))
	if err != nil {
		return toolFailure(tool, err)
	}
	if width := terminalWidth(a.Stdout); width > 0 {
		if _, err := io.WriteString(a.Stdout, a.picture(out.After, render.BoxOptions{Title: out.After.List.Name})); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.Stdout, tool.Result(call, out).Text)
	return err
}

// todoWriteJSON returns the arguments, joined by spaces, or standard input for
// "-".
func (a *app) todoWriteJSON(args []string) ([]byte, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "" {
		return nil, &verbatimError{"Error: Missing JSON parameter\n" + usageShort}
	}
	if text != "-" {
		return []byte(text), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.Stdin, todo.MaxRequest+1))
	if err != nil {
		return nil, &verbatimError{"Error: read standard input: " + err.Error()}
	}
	if len(raw) > todo.MaxRequest {
		return nil, &verbatimError{fmt.Sprintf("Error: the JSON is larger than %d bytes", todo.MaxRequest)}
	}
	return raw, nil
}

// commandLasts is for how long after a command the agent that ran it counts as
// there.
const commandLasts = 30 * time.Minute

// todoWriteTo returns the write of a call, to the list that --list or TODO_LIST
// names, or else to the working directory's own list (docs/spec/variants.md
// C3).
func (a *app) todoWriteTo(call *tools.Call) todo.Write {
	w := todo.Write{Writer: todo.Writer{Client: "command line", Variant: "TodoWrite"}, Change: call.Change}
	who := todo.Conversation{Key: "dir:" + workingDir(), Client: w.Writer.Client, Workspace: workingDir(),
		Lasts: commandLasts, Detached: true}
	if a.list != "" {
		who.Key, who.Name = todo.NameKey(a.list), a.list
	}
	w.Target = call.Target(who)
	return w
}

// toolFailure returns err as the message that the tool would return to a model,
// followed by the usage line if the JSON is not valid.
func toolFailure(tool *tools.Tool, err error) error {
	result, ok := tool.Failure(err)
	switch {
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return &verbatimError{"Error: the store did not answer in time"}
	case !ok:
		return &verbatimError{"Error: " + err.Error()}
	case errors.Is(err, tools.ErrInvalidJSON):
		return &verbatimError{result.Text + "\n" + usageItem}
	}
	return &verbatimError{result.Text}
}
