package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// The usage lines; docs/spec/variants.md C2 fixes their exact text.
const (
	usageShort = `Usage: TodoWrite '{"todos":[...]}'`
	usageItem  = `Usage: TodoWrite '{"todos":[{"content":"...","activeForm":"...","status":"pending"}]}'`
)

// TodoWrite prints the result on standard output, or returns the message for standard error (docs/spec/variants.md C1–C5).
func TodoWrite(ctx context.Context, a *app.App, args []string) error {
	raw, err := todoWriteJSON(a, args)
	if err != nil {
		return err
	}
	list, _, err := a.NewTools()
	if err != nil {
		return err
	}
	tool := tools.Find(list, "TodoWrite")
	call, err := tool.Read(raw)
	if err != nil {
		return toolFailure(tool, err)
	}
	return a.OnLists(func(lists board.Lists) error {
		out, err := lists.Apply(ctx, todoWriteTo(a, call))
		if err != nil {
			return toolFailure(tool, err)
		}
		drawn := ""
		if width := app.TerminalWidth(a.Stdout); width > 0 {
			drawn = render.Box(out.After, out.After.List.Name, width, a.Colour())
		}
		return a.Say("%s%s\n", drawn, tool.Result(call, out).Text)
	})
}

// Refusal is the text that TodoWrite prints for an error, in the language of the settings.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// PrintGuidance prints TodoWrite's full guidance, with the limits of the settings (docs/spec/variants.md C2).
func PrintGuidance(a *app.App) error {
	_, texts, err := a.NewTools()
	if err != nil {
		return err
	}
	kept := texts.Words.KeptOnDisk
	if place, err := a.Place(); err == nil && place.Memory() {
		kept = ""
	}
	items, length := cmp.Or(a.Tools.MaxItems, todo.MaxItems), cmp.Or(a.Tools.MaxContentLength, todo.MaxText)
	marks := strings.NewReplacer("{{kept}}", kept, "{{items}}", strconv.Itoa(items), "{{length}}", strconv.Itoa(length))
	return a.Say("%s\n", marks.Replace(texts.Text("TodoWrite.long")))
}

// todoWriteJSON returns the JSON of the arguments; words before the JSON are dropped. For "-" it reads standard input.
func todoWriteJSON(a *app.App, args []string) ([]byte, error) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "-" {
		raw, err := readAll(a.Stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		text = strings.TrimSpace(string(raw))
	} else if at := strings.IndexAny(text, "{["); at > 0 {
		text = text[at:]
	}
	if text == "" {
		return nil, errors.New("Missing JSON parameter\n" + usageShort)
	}
	return []byte(text), nil
}

// commandLasts is how long an agent counts as present after it ran the command TodoWrite.
const commandLasts = 30 * time.Minute

// todoWriteTo returns the write to the list of --list or TODO_LIST, else to the folder's list (docs/spec/variants.md C3).
func todoWriteTo(a *app.App, call *tools.Call) board.Write {
	writer, folder := todo.Writer{Client: "command line", Variant: "TodoWrite"}, app.Absolute("")
	w := board.Write{Writer: writer, Change: call.Change, Title: call.Title, Target: call.Target}
	w.Conversation = board.Conversation{Key: "dir:" + folder, Client: writer.Client, Workspace: folder, Lasts: commandLasts, Detached: true}
	if a.List != "" {
		w.Conversation.Key, w.Conversation.Name = "name:"+a.List, a.List
	}
	return w
}

// toolFailure replaces err by a [Refusal] with the tool's text for models, and the usage line if the JSON is not valid.
func toolFailure(tool *tools.Tool, err error) error {
	result, ok := tool.Failure(err)
	switch {
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return errors.New("the store did not answer in time")
	case !ok:
		return err
	case errors.Is(err, tools.ErrInvalidJSON):
		return Refusal(result.Text + "\n" + usageItem)
	}
	return Refusal(result.Text)
}
