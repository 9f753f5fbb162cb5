// Package change has the commands that change lists. All but TodoWrite make a [todo.Edit], as the panel does.
package change

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Archive puts lists away, or brings them back.
func Archive(fs *flag.FlagSet) app.Run {
	undo := fs.Bool("undo", false, "bring them back")
	return func(ctx context.Context, a *app.App, args []string) error {
		do, words := todo.EditArchive, "Archived %q (%s)."
		if *undo {
			do, words = todo.EditUnarchive, "Brought back %q (%s)."
		}
		return forLists(ctx, a, args, app.NamedOptions{}, edit(a, todo.Edit{Do: do}, words))
	}
}

// Rename gives a list a title.
func Rename(ctx context.Context, a *app.App, args []string) error {
	rename := edit(a, todo.Edit{Do: todo.EditRename, Text: args[1]}, "Renamed to %q (%s).")
	return forLists(ctx, a, args[:1], app.NamedOptions{}, rename)
}

// Delete deletes lists, brings lists back that were deleted within a day, or purges lists.
func Delete(fs *flag.FlagSet) app.Run {
	undo := fs.Bool("undo", false, "bring them back, within a day")
	purges := fs.Bool("purge", false, "delete them at once and for good; asks first")
	yes := fs.Bool("yes", false, "with --purge: do not ask")
	return func(ctx context.Context, a *app.App, args []string) error {
		named := app.NamedOptions{Deleted: *undo}
		do := edit(a, todo.Edit{Do: todo.EditDelete}, "Deleted %q (%s). For a day `todo-mcp delete --undo %[2]s` brings it back.")
		switch {
		case *undo && *purges:
			return app.Usagef("--undo and --purge contradict each other")
		case *undo:
			do = edit(a, todo.Edit{Do: todo.EditUndelete}, "Brought back %q (%s).")
		case *purges:
			named = app.NamedOptions{AndDeleted: true, Surely: *yes, Damaged: true}
			do = func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (string, error) {
				return "Deleted for good %q (%s).", purge(ctx, a, lists, l, *yes)
			}
		}
		return forLists(ctx, a, args, named, do)
	}
}

// edited changes a list and updates l. It returns a format string for the list's title and its id.
type edited func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (words string, err error)

// edit returns a function that makes an edit; it returns words if the edit changed the list.
func edit(a *app.App, e todo.Edit, words string) edited {
	return func(ctx context.Context, lists board.Lists, l *todo.Snapshot) (string, error) {
		out, err := lists.Edit(ctx, l.List.ID, e, app.CommandLine(a.Command))
		if *l = out.After; !out.Changed {
			return "%q (%s) was so already.", err
		}
		return words, err
	}
}

// purge deletes a list and its sub-agents' lists for good, even if they were already deleted.
func purge(ctx context.Context, a *app.App, lists board.Lists, l *todo.Snapshot, yes bool) error {
	question := fmt.Sprintf("Delete %q and its history for good?", render.Safe(l.Title()))
	if err := a.Confirm(ctx, question, yes); err != nil {
		return err
	}
	subs, err := lists.Find(ctx, board.Query{Parent: l.List.ID, Deleted: true})
	if err != nil {
		return err
	}
	ids := []string{l.List.ID}
	for _, sub := range subs {
		ids = append(ids, sub.List.ID)
	}
	l.Deleted = true
	_, err = lists.Purge(ctx, app.CommandLine("delete"), ids...)
	return err
}

// forLists calls do for each list that the arguments name, and prints its words. If one is not found, it calls do
// for none.
func forLists(ctx context.Context, a *app.App, args []string, o app.NamedOptions, do edited) error {
	return a.OnLists(func(lists board.Lists) error {
		found, err := a.NamedAll(ctx, lists, args, o)
		for _, l := range found {
			words, err := do(ctx, lists, &l)
			if err == nil {
				err = a.Say(words+"\n", render.Safe(l.Title()), render.ShortID(l.List.ID))
			}
			if err != nil {
				return err
			}
		}
		return err
	})
}

// Restore saves a copy of an earlier revision as the newest one. All revisions stay in the history.
func Restore(ctx context.Context, a *app.App, args []string) error {
	revision, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || revision < 1 {
		return app.Usagef("revision %q: must be a whole number, 1 or more", args[1])
	}
	words := fmt.Sprintf("Revision %d of %%q (%%s) is back, as a new one.", revision)
	restore := edit(a, todo.Edit{Do: todo.EditRestore, Revision: revision}, words)
	err = forLists(ctx, a, args[:1], app.NamedOptions{Damaged: true}, restore)
	if errors.Is(err, board.ErrNotFound) {
		return fmt.Errorf("revision %d is not kept; see `todo-mcp history %q`", revision, args[0])
	}
	return err
}
