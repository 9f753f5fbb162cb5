// Package storage has the commands for the store as a whole: backup, export, import, prune and check.
package storage

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Export writes the whole history of lists as NDJSON, one snapshot a line: lists by time of their last change,
// revisions in ascending order. It leaves out chats and operations, so the export of a list is the same in any store.
func Export(fs *flag.FlagSet) app.Run {
	principal := fs.String("principal", "", "only lists of `PRINCIPAL`, such as ann or team:acme: the owner of a token, or whom an issuer's tokens name")
	keepGoing := fs.Bool("keep-going", false, "write all that can be read of a damaged store, and say what cannot")
	return func(ctx context.Context, a *app.App, args []string) error {
		if err := a.CheckThere(); err != nil {
			return err
		}
		return a.OnStore(func(st *store.Opened, b *board.Board) error {
			lists := b.Everyone()
			if *principal != "" {
				lists = b.As(*principal)
			}
			return export(ctx, a, st, lists, args, *keepGoing)
		})
	}
}

func export(ctx context.Context, a *app.App, st *store.Opened, lists board.Lists, args []string, keepGoing bool) error {
	if err := a.Settle(ctx, st); err != nil {
		if err = fmt.Errorf("events that hooks left are not applied yet, so this is not all: %w", err); !keepGoing {
			return fmt.Errorf("%w; try again, or --keep-going writes the rest", err)
		}
		fmt.Fprintln(a.Stderr, render.Safe(err.Error()))
	}
	exported, err := a.NamedAll(ctx, lists, args, app.NamedOptions{Damaged: keepGoing})
	if err == nil && len(args) == 0 {
		err = forAll(ctx, lists, func(l todo.Snapshot) { exported = append(exported, l) })
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(exported, func(x, y todo.Snapshot) int {
		return cmp.Or(x.Updated.Compare(y.Updated), cmp.Compare(x.List.ID, y.List.ID))
	})
	out := bufio.NewWriter(a.Stdout)
	for _, l := range exported {
		var before todo.Snapshot
		for r, err := range lists.Revisions(ctx, l.List.ID, 0) {
			// An export has no gaps: in place of each unreadable revision, the previous one is written again.
			for before.Revision > 0 && err == nil && before.Revision+1 < r.Revision {
				before.Revision++
				err = app.PrintJSON(out, before, "")
			}
			if r.Operation = (todo.Operation{}); err == nil {
				err = app.PrintJSON(out, r, "")
			}
			if err != nil {
				return err
			}
			before = r
		}
		if damaged := st.Damaged(); len(damaged) > 0 && !keepGoing {
			return fmt.Errorf("%s damaged, so this is not all; --keep-going writes all that can be read: %s", app.Rows(damaged), damaged[0])
		}
	}
	for _, damaged := range st.Damaged() {
		fmt.Fprintln(a.Stderr, render.Safe(damaged))
	}
	return out.Flush()
}

// forAll calls the function do with an excerpt of each list.
func forAll(ctx context.Context, lists board.Lists, do func(todo.Snapshot)) error {
	for page, err := range lists.Pages(ctx, board.Query{Excerpt: true}) {
		if err != nil {
			return err
		}
		for _, l := range page {
			do(l)
		}
	}
	return nil
}

// Backup writes a copy of the store to a file, or restores the store from such a file.
func Backup(fs *flag.FlagSet) app.Run {
	restores := fs.Bool("restore", false, "replace the store by FILE, also while it is in use; asks first")
	yes := fs.Bool("yes", false, "with --restore: do not ask")
	return func(ctx context.Context, a *app.App, args []string) error {
		place, err := a.Place()
		if err == nil && place.File == "" {
			err = app.Usagef("backup is for the file of a store; for PostgreSQL: pg_dump --format=custom --schema=todo_mcp and pg_restore, see docs/operations.md")
		}
		if err == nil && !*restores {
			err = a.CheckThere()
		}
		if err != nil {
			return err
		}
		st, err := a.OpenStore()
		if err != nil {
			return err
		}
		defer st.Close()
		if *restores {
			return restore(ctx, a, st, args[0], place.File, *yes)
		}
		_, _ = st.Position(ctx) // any read first applies pending hook events
		return backUp(ctx, a, st, args[0])
	}
}

func backUp(ctx context.Context, a *app.App, s *store.Opened, to string) error {
	problems := 0
	revisions, err := s.File.BackUp(ctx, to, func(problem string) {
		problems++
		fmt.Fprintln(a.Stderr, render.Safe(problem))
	})
	switch {
	case err != nil:
		return err
	case problems > 0:
		return fmt.Errorf("%s is a copy of the store, with its %d problems; see docs/operations.md, “Damage”", to, problems)
	}
	return a.Say("%d revisions in %s, all as they were written.\n", revisions, render.Safe(to))
}

func restore(ctx context.Context, a *app.App, s *store.Opened, from, to string, yes bool) error {
	question := fmt.Sprintf("Restore %s from %s? What was written since is lost.", render.Safe(to), render.Safe(from))
	if err := a.Confirm(ctx, question, yes); err != nil {
		return err
	}
	revisions, err := s.File.Restore(ctx, from, func(problem string) { fmt.Fprintln(a.Stderr, render.Safe(problem)) })
	if err != nil {
		return err
	}
	return a.Say("%d revisions are back in %s.\n", revisions, render.Safe(to))
}

// Prune deletes old lists.
func Prune(fs *flag.FlagSet) app.Run {
	days := fs.Uint16("older-than", 90, "this many `DAYS` since the last change")
	open := fs.Bool("open", false, "also lists with open items")
	dry := fs.Bool("dry-run", false, "only say what would go")
	yes := fs.Bool("yes", false, "do not ask")
	return func(ctx context.Context, a *app.App, _ []string) error {
		return a.OnStore(func(st *store.Opened, b *board.Board) error {
			return prune(ctx, a, st, b.Everyone(), time.Duration(*days)*24*time.Hour, *open, *dry, *yes)
		})
	}
}

// prune deletes for good the lists unchanged for at least the duration age. If the flag open is false, open lists stay
// unless another list replaced them. If the flag dry is true, prune only prints the lists.
func prune(ctx context.Context, a *app.App, st *store.Opened, lists board.Lists, age time.Duration, open, dry, yes bool) error {
	stays := func(l todo.Snapshot) bool {
		return time.Since(l.Updated) < age || l.Open() && l.ReplacedBy == "" && !open
	}
	var old []todo.Snapshot
	all := 0
	err := forAll(ctx, lists, func(l todo.Snapshot) {
		if all++; !stays(l) {
			old = append(old, l)
		}
	})
	if err != nil {
		return err
	}
	slices.Reverse(old) // oldest first
	if dry {
		table := ""
		if len(old) > 0 {
			states, err := lists.States(ctx, old...)
			if err != nil {
				return err
			}
			table = render.Lists(old, states, nil, time.Now(), app.TerminalWidth(a.Stdout)) + "\n"
		}
		return a.Say("%s%d of %d lists would go.\n", table, len(old), all)
	}
	if len(old) > 0 {
		if err := a.Confirm(ctx, fmt.Sprintf("Delete %d of %d lists with their history for good?", len(old), all), yes); err != nil {
			return err
		}
	}
	var ids []string
	for _, l := range old { // lists that were changed meanwhile stay
		if whole, err := lists.Load(ctx, l.List.ID, 0); err == nil && !stays(whole) {
			ids = append(ids, l.List.ID)
		}
	}
	n, err := lists.Purge(ctx, app.CommandLine("prune"), ids...)
	if err != nil {
		return err
	}
	if st.File != nil {
		err = st.File.Compact(ctx)
	}
	if err != nil {
		return fmt.Errorf("%d lists are deleted, but the file is as large as before: %w", n, err)
	}
	return a.Say("Deleted %d of %d lists.\n", n, all)
}

// Check reads the whole store and prints each problem.
func Check(ctx context.Context, a *app.App, _ []string) error {
	if err := a.CheckThere(); err != nil {
		return err
	}
	st, err := a.OpenStore()
	if err != nil {
		return err
	}
	defer st.Close()
	problems := 0
	revisions, err := st.Check(ctx, func(problem string) {
		problems++
		fmt.Fprintln(a.Stdout, render.Safe(problem))
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d problems; %d revisions were read. `todo-mcp export --keep-going` writes all that can be read, to be imported into another store; see docs/operations.md, “Damage”", problems, revisions)
	}
	return a.Say("%d revisions, all as they were written.\n", revisions)
}
