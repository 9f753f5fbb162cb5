package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/render"
	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
)

// commandLine is the writer of what a person does by a command.
func commandLine(command string) todo.Writer {
	return todo.Writer{Client: "command line", Variant: command, Person: true}
}

func archiveFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	undo := fs.Bool("undo", false, "bring them back")
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, a *app, args []string) error {
		edit := todo.Edit{Do: todo.EditArchive}
		if *undo {
			edit.Do = todo.EditUnarchive
		}
		return a.forLists(ctx, args, namedOptions{}, func(lists todo.Lists, l todo.Snapshot) error {
			out, err := lists.Edit(ctx, l.List.ID, edit, commandLine("archive"))
			what := "Archived %q (%s)."
			switch {
			case !out.Changed && *undo:
				what = "%q (%s) is not archived."
			case !out.Changed:
				what = "%q (%s) was archived already."
			case *undo:
				what = "Brought back %q (%s)."
			}
			return a.did(what, out.After, *asJSON, err)
		})
	}
}

// jsonFlag adds the flag --json of a command that changes lists.
func jsonFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("json", false, "print JSON, one list a line")
}

// renameFlags returns the command that gives a list a title.
func renameFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	asJSON := jsonFlag(fs)
	return func(ctx context.Context, a *app, args []string) error {
		if len(args) != 2 {
			return errors.New("give the list and its new title, each in quotes if it has spaces: `todo-mcp rename LIST TITLE`; an empty title takes it away")
		}
		return a.forLists(ctx, args[:1], namedOptions{}, func(lists todo.Lists, l todo.Snapshot) error {
			out, err := lists.Edit(ctx, l.List.ID, todo.Edit{Do: todo.EditRename, Text: args[1]}, commandLine("rename"))
			return a.did("Renamed to %q (%s).", out.After, *asJSON, err)
		})
	}
}

// deleteOptions are the flags of `delete`.
type deleteOptions struct{ undo, purge, yes, json bool }

func deleteFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	var o deleteOptions
	fs.BoolVar(&o.undo, "undo", false, "bring them back, within a day")
	fs.BoolVar(&o.purge, "purge", false, "delete them at once and for good; asks first")
	fs.BoolVar(&o.yes, "yes", false, "with --purge: do not ask")
	fs.BoolVar(&o.json, "json", false, "print JSON, one list a line")
	return func(ctx context.Context, a *app, args []string) error {
		switch {
		case o.undo && o.purge:
			return errors.New("--undo and --purge contradict each other")
		case o.purge:
			return a.purge(ctx, args, o)
		}
		return a.remove(ctx, args, o)
	}
}

// remove deletes lists so that they can be brought back for a day, or does that.
func (a *app) remove(ctx context.Context, args []string, o deleteOptions) error {
	edit := todo.Edit{Do: todo.EditDelete}
	if o.undo {
		edit.Do = todo.EditUndelete
	}
	return a.forLists(ctx, args, namedOptions{deleted: o.undo}, func(lists todo.Lists, l todo.Snapshot) error {
		out, err := lists.Edit(ctx, l.List.ID, edit, commandLine("delete"))
		if o.undo {
			return a.did("Brought back %q (%s).", out.After, o.json, err)
		}
		return a.did("Deleted %q (%s). For a day `todo-mcp delete --undo %[2]s` brings it back.", out.After, o.json, err)
	})
}

// purge deletes lists and those of their sub-agents at once, also ones that were
// deleted before.
func (a *app) purge(ctx context.Context, args []string, o deleteOptions) error {
	return a.forLists(ctx, args, namedOptions{andDeleted: true, surely: o.yes}, func(lists todo.Lists, l todo.Snapshot) error {
		question := fmt.Sprintf("Delete %q and its history for good?", render.Safe(l.Title()))
		if err := a.confirm(ctx, question, o.yes); err != nil {
			return err
		}
		ids := []string{l.List.ID}
		subs, err := lists.Find(ctx, todo.Query{Parent: l.List.ID, Deleted: true})
		for _, sub := range subs {
			ids = append(ids, sub.List.ID)
		}
		if err == nil {
			_, err = lists.Purge(ctx, commandLine("delete"), ids...)
		}
		l.Deleted = true
		return a.did("Deleted for good %q (%s).", l, o.json, err)
	})
}

// forLists calls do for each list that the arguments name, of which there must be
// one. It calls it for none if one is not found.
func (a *app) forLists(ctx context.Context, args []string, o namedOptions, do func(todo.Lists, todo.Snapshot) error) error {
	if len(args) == 0 {
		return errors.New("say which list; see `todo-mcp lists`")
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	var found []todo.Snapshot
	for _, arg := range args {
		l, err := a.named(ctx, lists, arg, o)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(f todo.Snapshot) bool { return f.List.ID == l.List.ID }) {
			found = append(found, l)
		}
	}
	for _, l := range found {
		if err := do(lists, l); err != nil {
			return err
		}
	}
	return nil
}

// did prints what was done with a list: as JSON, or in words that have a place for
// its title and its id.
func (a *app) did(words string, l todo.Snapshot, asJSON bool, err error) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return printLine(a.Stdout, render.Document(l))
	}
	return a.say(words+"\n", render.Safe(l.Title()), render.ShortID(l))
}

func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}

// confirm asks the user in the terminal and returns an error unless the answer is
// yes. With yes it does not ask.
func (a *app) confirm(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !a.isTerminalIn() {
		return errors.New("this cannot be undone: add --yes to do it without being asked")
	}
	answer, err := a.ask(ctx, question+" [y/N]")
	if err == nil && answer != "y" && answer != "yes" {
		err = errors.New("nothing was deleted")
	}
	return err
}

func pruneFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	age := 90
	fs.Func("older-than", "this many `DAYS` since the last change (default 90)", func(v string) (err error) {
		age, err = between(0, 36_500).parse(v)
		return err
	})
	open := fs.Bool("open", false, "also lists with open items")
	dry := fs.Bool("dry-run", false, "only say what would go")
	yes := fs.Bool("yes", false, "do not ask")
	return func(ctx context.Context, a *app, _ []string) error {
		return a.prune(ctx, time.Duration(age)*24*time.Hour, *open, *dry, *yes)
	}
}

// compacter is a store whose file keeps the space of what was removed.
type compacter interface {
	Compact(ctx context.Context) error
}

// checker is a store that can read all it has and say what is damaged.
type checker interface {
	Check(ctx context.Context, found func(string)) (revisions int, err error)
}

// prune deletes for good the lists that nobody changed for a while, settled ones and
// those that a chat put away for its next plan, or all.
func (a *app) prune(ctx context.Context, age time.Duration, open, dry, yes bool) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close()
	board := todo.NewBoard(st)
	defer board.Close()
	lists := board.Everyone()
	all, err := lists.Find(ctx, todo.Query{OldestFirst: true})
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(slices.Clone(all), func(l todo.Snapshot) bool {
		return time.Since(l.Updated) < age || l.Open() && l.ReplacedBy == "" && !open
	})
	if dry && len(old) > 0 {
		states, err := lists.States(ctx, old...)
		if err != nil {
			return err
		}
		if err := a.say("%s\n", render.Lists(old, states, time.Now(), terminalWidth(a.Stdout))); err != nil {
			return err
		}
	}
	if dry || len(old) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "%d of %d lists would go.\n", len(old), len(all))
		return err
	}
	if err := a.confirm(ctx, fmt.Sprintf("Delete %d of %d lists with their history for good?", len(old), len(all)), yes); err != nil {
		return err
	}
	var ids []string
	for _, l := range old {
		ids = append(ids, l.List.ID)
	}
	n, err := lists.Purge(ctx, commandLine("prune"), ids...)
	if err != nil {
		return err
	}
	if c, ok := store.As[compacter](st); ok {
		if err := c.Compact(ctx); err != nil {
			return fmt.Errorf("%d lists are deleted, but the file is as large as before: %w", n, err)
		}
	}
	_, err = fmt.Fprintf(a.Stdout, "Deleted %d of %d lists.\n", n, len(all))
	return err
}

// check reads the whole store and says what is wrong with it.
func (a *app) check(ctx context.Context, _ []string) error {
	if err := a.checkNamed(); err != nil {
		return err
	}
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close()
	c, ok := store.As[checker](st)
	if !ok {
		return errors.New("this store has no file to check")
	}
	problems := 0
	revisions, err := c.Check(ctx, func(problem string) {
		problems++
		fmt.Fprintln(a.Stdout, render.Safe(problem))
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d problems; %d revisions were read. `todo-mcp export` writes the lists that can be read; restore a copy, or import them into another store", problems, revisions)
	}
	_, err = fmt.Fprintf(a.Stdout, "%d revisions, all as they were written.\n", revisions)
	return err
}
