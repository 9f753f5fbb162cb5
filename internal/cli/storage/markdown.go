package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// importMarkdown replaces the list that --list names with the items of a
// Markdown task list. Items that match an item of the list keep its number and
// times.
func importMarkdown(ctx context.Context, a *app.App, in io.Reader) error {
	if a.List == "" {
		return errors.New("say which list with --list NAME")
	}
	text, err := io.ReadAll(io.LimitReader(in, todo.MaxRequest+1))
	if err != nil {
		return fmt.Errorf("import: %w; nothing was imported", err)
	}
	if len(text) > todo.MaxRequest {
		return fmt.Errorf("the file is larger than %d bytes", todo.MaxRequest)
	}
	items := render.ReadMarkdown(string(text))
	lines, err := taskLines(items)
	if err != nil {
		return err
	}
	lists, done, err := a.OpenLists()
	if err != nil {
		return err
	}
	defer done()
	out, err := lists.Apply(ctx, todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: todo.NameKey(a.List), Name: a.List, Workspace: app.WorkingDir()}, Lines: lines},
		Writer: todo.Writer{Client: "command line", Variant: "import", Person: true},
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); addNotes(d, items); return nil },
	})
	if err != nil {
		return err
	}
	return a.Print(out.After)
}

// addNotes adds what a line has no place for to a draft that has just been
// replaced by items: the reasons of blocked ones, priorities and due dates.
func addNotes(d *todo.Draft, items []todo.Item) {
	for i, item := range items[:min(len(items), len(d.Items()))] {
		id := d.Items()[i].ID
		if item.Reason != "" {
			d.Block(id, item.Reason)
		}
		if item.Priority != "" {
			d.SetDetails(id, &item.Priority, nil)
		}
		if item.DueDate != "" {
			d.SetDetails(id, nil, &item.DueDate)
		}
	}
}

// taskLines returns items from Markdown as lines. It returns an error if there
// are none or too many, or if one is not valid.
func taskLines(items []todo.Item) ([]todo.Line, error) {
	if len(items) == 0 {
		return nil, errors.New("there is no task list in it: lines such as `- [ ] Write tests`")
	}
	if err := todo.CheckSize(items); err != nil {
		return nil, err
	}
	var lines []todo.Line
	for i, item := range items {
		if err := errors.Join(item.Check(), item.CheckDetails()); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		lines = append(lines, todo.Line{Text: item.Text, Active: item.ActiveText(), Status: string(item.Status)})
	}
	return lines, nil
}
