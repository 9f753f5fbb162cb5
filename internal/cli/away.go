package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// commandLine is the writer of what a person does by a command.
func commandLine(command string) todo.Writer {
	return todo.Writer{Client: "command line", Variant: command, Person: true}
}

func archiveFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	undo := fs.Bool("undo", false, "bring it back")
	return func(ctx context.Context, a *app, args []string) error {
		return a.forLists(ctx, args, func(lists todo.Lists, l todo.Snapshot) error {
			_, err := lists.Archive(ctx, l.List.ID, !*undo, commandLine("archive"))
			what := "Archived"
			if *undo {
				what = "Brought back"
			}
			return a.did(what, l, err)
		})
	}
}

// rename gives a list a title.
func (a *app) rename(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("give the list and its new title: `todo-mcp rename LIST TITLE`; an empty title takes it away")
	}
	return a.forLists(ctx, args[:1], func(lists todo.Lists, l todo.Snapshot) error {
		out, err := lists.Rename(ctx, l.List.ID, args[1], commandLine("rename"))
		return a.did("Renamed to", out.After, err)
	})
}

func deleteFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	yes := fs.Bool("yes", false, "do not ask")
	return func(ctx context.Context, a *app, args []string) error {
		return a.forLists(ctx, args, func(lists todo.Lists, l todo.Snapshot) error {
			question := fmt.Sprintf("Delete %q with its %d revisions for good?", render.Safe(l.Title()), l.Revision)
			if err := a.confirm(question, *yes); err != nil {
				return err
			}
			_, err := lists.Purge(ctx, l.List.ID)
			return a.did("Deleted", l, err)
		})
	}
}

// forLists calls do for each list that the arguments name, of which there must be
// one.
func (a *app) forLists(ctx context.Context, args []string, do func(todo.Lists, todo.Snapshot) error) error {
	if len(args) == 0 {
		return errors.New("say which list; see `todo-mcp lists`")
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	found, err := a.listsToExport(ctx, lists, args)
	if err != nil {
		return err
	}
	for _, l := range found {
		if err := do(lists, l); err != nil {
			return err
		}
	}
	return nil
}

// did prints what was done with a list.
func (a *app) did(what string, l todo.Snapshot, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s %q (%s).\n", what, render.Safe(l.Title()), l.List.ID)
	}
	return err
}

// confirm asks the user in the terminal and returns an error unless the answer is
// yes. With yes it does not ask.
func (a *app) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return errors.New("this cannot be undone: add --yes to do it without being asked")
	}
	if _, err := fmt.Fprintf(a.Stdout, "%s [y/N] ", question); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}

func pruneFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	age := 90
	fs.Func("older-than", "days since the last change (default 90)", func(v string) (err error) {
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

// prune deletes for good the lists that nobody changed for a while, settled ones
// or all.
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
	var old []string
	for _, l := range all {
		if time.Since(l.Updated) < age || l.Open() && !open {
			continue
		}
		old = append(old, l.List.ID)
		if dry {
			if _, err := fmt.Fprintf(a.Stdout, "%s  %s  %s\n", l.List.ID, l.Updated.Local().Format(time.DateOnly), render.Safe(l.Title())); err != nil {
				return err
			}
		}
	}
	if dry || len(old) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "%d of %d lists would go.\n", len(old), len(all))
		return err
	}
	if err := a.confirm(fmt.Sprintf("Delete %d of %d lists with their history for good?", len(old), len(all)), yes); err != nil {
		return err
	}
	n, err := lists.Purge(ctx, old...)
	if err != nil {
		return err
	}
	if c, ok := st.(compacter); ok {
		if err := c.Compact(ctx); err != nil {
			return fmt.Errorf("%d lists are deleted, but the file is as large as before: %w", n, err)
		}
	}
	_, err = fmt.Fprintf(a.Stdout, "Deleted %d of %d lists.\n", n, len(all))
	return err
}

// check reads the whole store and says what is wrong with it.
func (a *app) check(ctx context.Context, _ []string) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close()
	c, ok := st.(interface {
		Check(ctx context.Context, found func(string)) (int, error)
	})
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
