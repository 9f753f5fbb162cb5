// Package storage has the commands for the store as a whole: export, import, prune and
// check.
package storage

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/store"
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
	return a.OnLists(func(lists todo.Lists) error { return export(ctx, a, lists, args) })
}

func export(ctx context.Context, a *app.App, lists todo.Lists, args []string) error {
	exported, err := a.NamedAll(ctx, lists, args, app.NamedOptions{})
	if err == nil && len(args) == 0 {
		exported, err = lists.Find(ctx, todo.Query{Excerpt: true})
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
				err = app.PrintJSON(out, r, "")
			}
			if err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// Prune deletes old lists.
func Prune(fs *flag.FlagSet) app.Run {
	days := app.NumberFlag(fs, "older-than", 90, "this many `DAYS` since the last change", 36_500)
	open := fs.Bool("open", false, "also lists with open items")
	dry := fs.Bool("dry-run", false, "only say what would go")
	yes := fs.Bool("yes", false, "do not ask")
	return func(ctx context.Context, a *app.App, _ []string) error {
		return prune(ctx, a, time.Duration(*days)*24*time.Hour, *open, *dry, *yes)
	}
}

// prune deletes for good the lists that nobody changed for a while, settled ones and
// those that a chat put away for its next plan, or all.
func prune(ctx context.Context, a *app.App, age time.Duration, open, dry, yes bool) error {
	st, board, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	lists := board.Everyone()
	all, err := lists.Find(ctx, todo.Query{OldestFirst: true, Excerpt: true})
	if err != nil {
		return err
	}
	stays := func(l todo.Snapshot) bool {
		return time.Since(l.Updated) < age || l.Open() && l.ReplacedBy == "" && !open
	}
	old := slices.DeleteFunc(slices.Clone(all), stays)
	if dry && len(old) > 0 {
		states, err := lists.States(ctx, old...)
		if err != nil {
			return err
		}
		if err := a.Say("%s\n", render.Lists(old, states, time.Now(), app.TerminalWidth(a.Stdout))); err != nil {
			return err
		}
	}
	if dry || len(old) == 0 {
		return a.Say("%d of %d lists would go.\n", len(old), len(all))
	}
	if err := a.Confirm(ctx, fmt.Sprintf("Delete %d of %d lists with their history for good?", len(old), len(all)), yes); err != nil {
		return err
	}
	var ids []string
	for _, l := range old {
		if whole, err := lists.Load(ctx, l.List.ID, 0); err == nil && !stays(whole) {
			ids = append(ids, l.List.ID)
		}
	}
	n, err := lists.Purge(ctx, app.CommandLine("prune"), ids...)
	if err != nil {
		return err
	}
	// The file of some stores keeps the space of what was removed.
	if c, ok := store.As[interface{ Compact(context.Context) error }](st); ok {
		if err := c.Compact(ctx); err != nil {
			return fmt.Errorf("%d lists are deleted, but the file is as large as before: %w", n, err)
		}
	}
	return a.Say("Deleted %d of %d lists.\n", n, len(all))
}

// Check reads the whole store and says what is wrong with it.
func Check(ctx context.Context, a *app.App, _ []string) error {
	if err := a.CheckNamed(); err != nil {
		return err
	}
	problems := 0
	revisions, err := a.CheckStore(ctx, func(problem string) {
		problems++
		fmt.Fprintln(a.Stdout, render.Safe(problem))
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d problems; %d revisions were read. `todo-mcp export` writes the lists that can be read; restore a copy, or import them into another store", problems, revisions)
	}
	return a.Say("%d revisions, all as they were written.\n", revisions)
}
