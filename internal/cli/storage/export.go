// Package storage has the commands for the store as a whole: export, import, prune and
// check.
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
// output for the same lists is the same from any store: what conversations hold, and the
// operations that they may repeat, stay in theirs.
func Export(ctx context.Context, a *app.App, args []string) error {
	if err := a.CheckNamed(); err != nil {
		return err
	}
	lists, done, err := a.OpenLists()
	if err != nil {
		return err
	}
	defer done()
	exported, err := a.NamedAll(ctx, lists, args, app.NamedOptions{})
	if err == nil && len(args) == 0 {
		exported, err = lists.Find(ctx, todo.Query{})
	}
	if err != nil {
		return err
	}
	slices.SortFunc(exported, func(x, y todo.Snapshot) int {
		return cmp.Or(x.List.Created.Compare(y.List.Created), cmp.Compare(x.List.ID, y.List.ID))
	})
	out := bufio.NewWriter(a.Stdout)
	for _, l := range exported {
		for r, err := range lists.Revisions(ctx, l.List.ID, 0) {
			if err == nil {
				r.Operation = todo.Operation{}
				err = app.PrintLine(out, r)
			}
			if err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
