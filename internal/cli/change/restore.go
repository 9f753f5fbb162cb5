package change

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
)

// Restore saves a copy of an earlier revision as the list's new revision. The
// revisions between them stay in the history.
func Restore(ctx context.Context, a *app.App, args []string) error {
	if len(args) != 2 {
		return errors.New("restore takes a list and a revision: `todo-mcp restore LIST 3`; see `todo-mcp history LIST`")
	}
	revision, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || revision < 1 {
		return fmt.Errorf("revision %q: must be a whole number, 1 or more", args[1])
	}
	return a.OnList(ctx, args[:1], func(lists todo.Lists, list todo.Snapshot) error {
		out, err := lists.Edit(ctx, list.List.ID, todo.Edit{Do: todo.EditRestore, Revision: revision}, app.CommandLine("restore"))
		if errors.Is(err, todo.ErrNotFound) {
			kept, err := lists.History(ctx, list.List.ID, 0, 1)
			if err != nil || len(kept) == 0 {
				return err
			}
			return fmt.Errorf("list %s has no revision %d, it has %d to %d", list.List.ID, revision, kept[0].Revision, list.Revision)
		}
		if err != nil {
			return err
		}
		if !out.Changed {
			return a.Say("The list is as it was in revision %d already.\n", revision)
		}
		fmt.Fprintf(a.Stdout, "Revision %d is back, as revision %d.\n", revision, out.After.Revision)
		return a.Print(out.After)
	})
}
