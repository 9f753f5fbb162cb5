package storage

import (
	"bufio"
	"cmp"
	"context"
	"slices"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
)

// Export writes the whole history of lists as NDJSON, one snapshot a line:
// lists in the order of their creation, then revisions in ascending order. The
// output for the same lists is the same from any store.
func Export(ctx context.Context, a *app.App, args []string) error {
	if err := a.CheckNamed(); err != nil {
		return err
	}
	lists, done, err := a.OpenLists()
	if err != nil {
		return err
	}
	defer done()
	exported, err := listsToExport(ctx, a, lists, args)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.Stdout)
	for _, l := range exported {
		for r, err := range lists.Revisions(ctx, l.List.ID, 0) {
			if err != nil {
				return err
			}
			if err := app.PrintLine(out, r); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// listsToExport returns the lists that the arguments name, or all if there are
// no arguments, in the order of their creation.
func listsToExport(ctx context.Context, a *app.App, lists todo.Lists, args []string) (found []todo.Snapshot, err error) {
	for _, arg := range args {
		l, err := a.Named(ctx, lists, arg, app.NamedOptions{})
		if err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	if len(args) == 0 {
		if found, err = lists.Find(ctx, todo.Query{}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(x, y todo.Snapshot) int {
		return cmp.Or(x.List.Created.Compare(y.List.Created), cmp.Compare(x.List.ID, y.List.ID))
	})
	return found, nil
}
