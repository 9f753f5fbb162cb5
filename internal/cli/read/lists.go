// Package read has the commands that show lists. They change nothing.
package read

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/account"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// maxLists is how many lists are read when nothing is asked for, the last changed ones:
// they are found at once, however many there are. The board reads as many.
const maxLists = 2000

type listsOptions struct {
	json, all, archived, history bool
	state, project, search       *string
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
	o.search = fs.String("search", "", "of all lists, those with this `TEXT` in their title, items, project or agent")
	fs.BoolVar(&o.history, "history", false, "with --search: also those that had it in an earlier revision, and in which")
	return func(ctx context.Context, a *app.App, _ []string) error {
		*o.search = todo.Cut(strings.TrimSpace(*o.search), todo.MaxTitle)
		if o.history && *o.search == "" {
			return app.Usagef("--history needs a text to --search")
		}
		o.all = o.all || *o.search != "" && !o.archived
		return a.OnLists(func(lists todo.Lists) error { return o.show(ctx, a, lists) })
	}
}

func (o listsOptions) show(ctx context.Context, a *app.App, lists todo.Lists) error {
	q := todo.Query{Excerpt: !o.json && *o.search == ""}
	if !o.all && !o.archived && *o.project == "" && *o.state == "" {
		q.Limit = maxLists
	}
	every, err := lists.Find(ctx, q)
	if err != nil {
		return err
	}
	states, err := lists.States(ctx, every...)
	if err != nil {
		return err
	}
	found, out := o.choose(every, states), a.Stdout
	said, err := o.find(ctx, lists, &found)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		out = a.Stderr
		documents := make([]listed, 0, len(found))
		for _, l := range found {
			documents = append(documents, listed{render.Document(l), states[l.List.ID], said[l.List.ID]})
		}
		err = app.PrintJSON(a.Stdout, documents, "  ")
	case len(found) > 0 && *o.search != "":
		err = a.Say("%s", render.FoundLists(found, said, time.Now(), app.TerminalWidth(a.Stdout)))
	case len(found) > 0:
		err = a.Say("%s", render.Lists(found, states, time.Now(), app.TerminalWidth(a.Stdout), every...))
	}
	if err != nil {
		return err
	}
	rest := o.rest(every, len(found))
	if len(every) == q.Limit && q.Limit > 0 {
		rest += fmt.Sprintf("The last %d lists were looked at; --all shows all.\n", maxLists)
	}
	if len(every) == 0 {
		rest = "There " + a.NoLists() + "\n"
	}
	_, err = io.WriteString(out, rest)
	return err
}

// choose returns the lists that are to be shown, in the order of the board, each main
// list before the lists of its sub-agents. In states it gives a main list the state of its
// family.
func (o listsOptions) choose(every []todo.Snapshot, states map[string]todo.State) (found []todo.Snapshot) {
	board := account.Sort(account.Families(every, maps.Clone(states)), time.Now())
	for _, f := range slices.Concat(board.Active, board.Past, board.Archived) {
		if f.Bare() && !o.all && !o.archived {
			continue
		}
		states[f.Main.List.ID] = f.State()
		for _, l := range append(f.Lists(), f.Away...) {
			state, word := states[l.List.ID], *o.state
			hasState := word == "" || word == "open" && !state.Ended() || word == strings.ReplaceAll(string(state), " ", "-")
			cleared := l.List.Agent != "" && len(l.Items) == 0 && state.Rests()
			if (o.all || l.Archived == o.archived && !cleared) && inProject(l.List, *o.project) && hasState {
				found = append(found, l)
			}
		}
	}
	return found
}

// find leaves of some lists those that say what is searched for, and returns where, by id.
func (o listsOptions) find(ctx context.Context, lists todo.Lists, among *[]todo.Snapshot) (
	said map[string]todo.Said, err error) {
	if *o.search == "" {
		return nil, nil
	}
	said = make(map[string]todo.Said)
	if o.history {
		if said, err = lists.Said(ctx, *o.search, *among...); err != nil {
			return nil, err
		}
	}
	*among = slices.DeleteFunc(*among, func(l todo.Snapshot) bool {
		_, found := said[l.List.ID]
		if now, ok := render.Found(l, render.Client(account.Client(l)), *o.search); ok {
			said[l.List.ID], found = now, true
		}
		return !found
	})
	return said, nil
}

// inProject reports whether a list is of a project, which is named by the last
// part of the folder's path, or by the path of the folder or one above it. Empty
// is any project.
func inProject(l todo.List, project string) bool {
	if project == "" || strings.EqualFold(l.Project(), project) {
		return true
	}
	below, err := filepath.Rel(app.Absolute(project), l.Workspace)
	return err == nil && l.Workspace != "" && filepath.IsLocal(below)
}

// rest says what there is beside the lists that are shown, and how to see it.
func (o listsOptions) rest(every []todo.Snapshot, found int) (text string) {
	away := 0
	for _, l := range every {
		if l.Archived && !o.archived && !o.all {
			away++
		}
	}
	switch {
	case found == 0 && *o.search != "" && !o.history:
		text = "No list says that; --history looks through earlier revisions, too.\n"
	case found == 0 && *o.search != "":
		text = "No list ever said that.\n"
	case found == 0 && away == len(every):
		text = "Nothing is on the board\n"
	case found == 0:
		text = "No list is like that; `todo-mcp lists --all` shows all.\n"
	}
	if away > 0 {
		text += fmt.Sprintf("and %d archived: --archived shows them\n", away)
	}
	if text != "" && found > 0 && !o.json {
		text = "\n" + text
	}
	return text
}
