package change

import (
	"context"
	"errors"
	"fmt"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func Archive(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	undo := fs.Bool("undo", false, "bring them back")
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, a *app.App, args []string) error {
		edit := todo.Edit{Do: todo.EditArchive}
		if *undo {
			edit.Do = todo.EditUnarchive
		}
		return a.ForLists(ctx, args, app.NamedOptions{}, func(lists todo.Lists, l todo.Snapshot) error {
			out, err := lists.Edit(ctx, l.List.ID, edit, app.CommandLine("archive"))
			what := "Archived %q (%s)."
			switch {
			case !out.Changed && *undo:
				what = "%q (%s) is not archived."
			case !out.Changed:
				what = "%q (%s) was archived already."
			case *undo:
				what = "Brought back %q (%s)."
			}
			return a.Did(what, out.After, *asJSON, err)
		})
	}
}

// jsonFlag adds the flag --json of a command that changes lists.
func jsonFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("json", false, "print JSON, one list a line")
}

// Rename returns the command that gives a list a title.
func Rename(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, a *app.App, args []string) error {
		if len(args) != 2 {
			return errors.New("give the list and its new title, each in quotes if it has spaces: `todo-mcp rename LIST TITLE`; an empty title takes it away")
		}
		return a.ForLists(ctx, args[:1], app.NamedOptions{}, func(lists todo.Lists, l todo.Snapshot) error {
			out, err := lists.Edit(ctx, l.List.ID, todo.Edit{Do: todo.EditRename, Text: args[1]}, app.CommandLine("rename"))
			return a.Did("Renamed to %q (%s).", out.After, *asJSON, err)
		})
	}
}

// deleteOptions are the flags of `delete`.
type deleteOptions struct{ undo, purge, yes, json bool }

func Delete(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	var o deleteOptions
	fs.BoolVar(&o.undo, "undo", false, "bring them back, within a day")
	fs.BoolVar(&o.purge, "purge", false, "delete them at once and for good; asks first")
	fs.BoolVar(&o.yes, "yes", false, "with --purge: do not ask")
	fs.BoolVar(&o.json, "json", false, "print JSON, one list a line")
	return func(ctx context.Context, a *app.App, args []string) error {
		switch {
		case o.undo && o.purge:
			return errors.New("--undo and --purge contradict each other")
		case o.purge:
			return purge(ctx, a, args, o)
		}
		return remove(ctx, a, args, o)
	}
}

// remove deletes lists so that they can be brought back for a day, or does that.
func remove(ctx context.Context, a *app.App, args []string, o deleteOptions) error {
	edit := todo.Edit{Do: todo.EditDelete}
	if o.undo {
		edit.Do = todo.EditUndelete
	}
	return a.ForLists(ctx, args, app.NamedOptions{Deleted: o.undo}, func(lists todo.Lists, l todo.Snapshot) error {
		out, err := lists.Edit(ctx, l.List.ID, edit, app.CommandLine("delete"))
		if o.undo {
			return a.Did("Brought back %q (%s).", out.After, o.json, err)
		}
		return a.Did("Deleted %q (%s). For a day `todo-mcp delete --undo %[2]s` brings it back.", out.After, o.json, err)
	})
}

// purge deletes lists and those of their sub-agents at once, also ones that were
// deleted before.
func purge(ctx context.Context, a *app.App, args []string, o deleteOptions) error {
	return a.ForLists(ctx, args, app.NamedOptions{AndDeleted: true, Surely: o.yes}, func(lists todo.Lists, l todo.Snapshot) error {
		question := fmt.Sprintf("Delete %q and its history for good?", render.Safe(l.Title()))
		if err := a.Confirm(ctx, question, o.yes); err != nil {
			return err
		}
		ids := []string{l.List.ID}
		subs, err := lists.Find(ctx, todo.Query{Parent: l.List.ID, Deleted: true})
		for _, sub := range subs {
			ids = append(ids, sub.List.ID)
		}
		if err == nil {
			_, err = lists.Purge(ctx, app.CommandLine("delete"), ids...)
		}
		l.Deleted = true
		return a.Did("Deleted for good %q (%s).", l, o.json, err)
	})
}
