// Package read has the commands that show lists. They change nothing.
package read

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type listsOptions struct {
	json, all, archived    bool
	state, project, search *string
	since                  time.Time
}

// Lists shows all lists.
func Lists(fs *flag.FlagSet) app.Run {
	var o listsOptions
	fs.BoolVar(&o.json, "json", false, "print JSON")
	fs.BoolVar(&o.all, "all", false, "all lists, archived and empty ones too")
	fs.BoolVar(&o.archived, "archived", false, "the archived lists alone")
	o.state = app.WordFlag(fs, "state", "", "only those in a `STATE`: working, idle, waiting, left-open, finished, failed, or open (all but these two)",
		"working", "idle", "waiting", "left-open", "finished", "failed", "open")
	o.project = fs.String("project", "", "only lists of this `PROJECT`, or of the folder with this path (. is this one)")
	o.search = fs.String("search", "", "only lists with this `TEXT` in their title, items, project or agent, archived ones too")
	since := fs.String("since", "", "only lists that changed since a `DAY`, archived ones too: 2006-01-02, yesterday or monday")
	return func(ctx context.Context, a *app.App, _ []string) error {
		*o.search = todo.Cut(strings.TrimSpace(*o.search), todo.MaxTitle)
		if *since != "" {
			day, err := account.ParseDay(*since, time.Now())
			if err != nil {
				return app.UsageError{Err: err}
			}
			o.since = todo.Midnight(day)
		}
		o.all = o.all || (*o.search != "" || *since != "") && !o.archived
		return a.OnLists(func(lists board.Lists) error { return o.show(ctx, a, lists) })
	}
}

func (o listsOptions) show(ctx context.Context, a *app.App, lists board.Lists) error {
	all, said, err := o.read(ctx, lists)
	if err != nil {
		return err
	}
	var states map[string]todo.Standing
	if !o.archived && *o.search == "" {
		all, states, err = lists.WithChats(ctx, all)
	} else {
		states, err = lists.States(ctx, all...)
	}
	if err != nil {
		return err
	}
	found, quiet, lapsed := o.choose(all, said, states)
	rest := o.rest(all, len(found))
	if len(quiet) > 0 {
		rest = render.Quiet(quiet) + " (--all shows them)\n" + rest
	}
	if lapsed != "" {
		rest = lapsed + "\n" + rest
	}
	if len(all) == 0 {
		rest = "There " + a.NoLists() + "\n"
	}
	if !o.json {
		table := ""
		if len(found) > 0 {
			table = render.Lists(found, states, said, time.Now(), app.TerminalWidth(a.Stdout), all...)
		}
		return a.Say("%s%s", table, rest)
	}
	documents := make([]listed, 0, len(found))
	for _, l := range found {
		documents = append(documents, listed{render.Document(l), states[l.List.ID], said[l.List.ID]})
	}
	if err := app.PrintJSON(a.Stdout, documents, "  "); err != nil {
		return err
	}
	_, err = io.WriteString(a.Stderr, rest)
	return err
}

// read returns all lists, and by list id the place of the searched text in a list. It also reads lists that are not
// shown: archived lists are counted, and the state of a list depends on the lists of its sub-agents.
func (o listsOptions) read(ctx context.Context, lists board.Lists) (all []todo.Snapshot, said map[string]todo.Said, err error) {
	said = make(map[string]todo.Said)
	for page, err := range lists.Pages(ctx, board.Query{Excerpt: !o.json && *o.search == ""}) {
		if err != nil {
			return nil, nil, err
		}
		for _, l := range page {
			if *o.search != "" {
				if found, ok := render.Found(l, *o.search); ok {
					said[l.List.ID] = found
				}
				if !o.json { // search needed the whole list
					l = l.Excerpt()
				}
			}
			all = append(all, l)
		}
	}
	return all, said, nil
}

// choose returns the lists to show in the order of the board, each main list before its sub-agents'. It sets the
// states of main lists to those of their groups. Without filters, it returns in quiet the idle chats without a list,
// and in lapsed a line that counts the lists archived today because of their age.
func (o listsOptions) choose(all []todo.Snapshot, said map[string]todo.Said, states map[string]todo.Standing) (found []todo.Snapshot, quiet []account.Group, lapsed string) {
	b := account.Sort(account.Groups(all, maps.Clone(states)), time.Now())
	if !o.all && !o.archived && *o.project == "" && *o.state == "" && !o.json {
		quiet, b.Quiet, lapsed = b.Quiet, nil, render.Lapsed(b.Lapsed(time.Now()))
	}
	for _, f := range slices.Concat(b.Active, b.Quiet, b.Past, b.Archived) {
		if f.Bare() && !o.all && !o.archived {
			continue
		}
		states[f.Main.List.ID] = whole(f)
		for _, l := range append(f.Lists(), f.Away...) {
			state, word := states[l.List.ID].State, *o.state
			hasState := word == "" || word == "open" && !state.Ended() || word == strings.ReplaceAll(string(state), " ", "-")
			cleared := l.List.Agent != "" && len(l.Items) == 0 && state.Rests()
			_, says := said[l.List.ID]
			// A sub-agent may work in a worktree, so its list also belongs to its main list's project.
			isOf := inProject(l.List, *o.project) || inProject(f.Main.List, *o.project)
			if (o.all || l.Archived == o.archived && !cleared) && !l.Updated.Before(o.since) &&
				isOf && hasState && (*o.search == "" || says) {
				found = append(found, l)
			}
		}
	}
	return found, quiet, lapsed
}

// inProject reports whether a list belongs to a project: the name of the list's folder, or the path of that folder or
// of a folder above it. An empty project matches any list.
func inProject(l todo.List, project string) bool {
	if project == "" || strings.EqualFold(l.Project(), project) {
		return true
	}
	below, err := filepath.Rel(app.Absolute(project), l.Workspace)
	return err == nil && l.Workspace != "" && filepath.IsLocal(below)
}

// rest returns the lines after the table: why the table is empty, and how to see archived lists.
func (o listsOptions) rest(all []todo.Snapshot, found int) (text string) {
	away := 0
	for _, l := range all {
		if l.Archived && !o.archived && !o.all {
			away++
		}
	}
	switch {
	case found > 0:
	case *o.search != "":
		text = "No list has that text; the panel also searches what lists said before.\n"
	case away == len(all):
		text = "Nothing is on the board\n"
	default:
		text = "No list matches; `todo-mcp lists --all` shows all.\n"
	}
	if away > 0 {
		text += fmt.Sprintf("and %d archived: --archived shows them\n", away)
	}
	if text != "" && found > 0 && !o.json {
		text = "\n" + text
	}
	return text
}

// Today shows what was done on a day.
func Today(fs *flag.FlagSet) app.Run {
	date := fs.String("date", "", "another `DAY`: 2006-01-02, yesterday or monday")
	since := fs.String("since", "", "all from a `DAY` on")
	format := app.WordFlag(fs, "format", "text", "the `FORMAT`: text, markdown or json", "text", "markdown", "json")
	asJSON := fs.Bool("json", false, "the same as --format json")
	return func(ctx context.Context, a *app.App, _ []string) error {
		now := time.Now()
		at, err := account.ParseDay(cmp.Or(*since, *date), now)
		switch {
		case err != nil:
			return app.UsageError{Err: err}
		case *since != "" && *date != "":
			return app.Usagef("--since and --date contradict each other")
		}
		last := at
		if *since != "" {
			last = now
		}
		return a.OnLists(func(lists board.Lists) error {
			day, err := account.DayOf(ctx, lists.During, at, last, now)
			switch {
			case err != nil:
				return err
			case *asJSON || *format == "json":
				return app.PrintJSON(a.Stdout, day, "  ")
			case *format == "markdown":
				return a.Say("%s", render.DayMarkdown(day))
			}
			return a.Say("%s", render.Day(day))
		})
	}
}
