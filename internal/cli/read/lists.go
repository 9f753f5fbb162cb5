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

	"todo-mcp/internal/account"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// listsOptions are the flags of `lists`.
type listsOptions struct {
	json, all, archived bool
	limit               int
	state, project      *string
}

// Lists shows all lists.
func Lists(fs *flag.FlagSet) app.Run {
	var o listsOptions
	fs.BoolVar(&o.json, "json", false, "print JSON")
	fs.IntVar(&o.limit, "limit", 50, "show at most `N` lists; 0 is any number")
	fs.BoolVar(&o.all, "all", false, "all lists, archived and empty ones too, however many")
	fs.BoolVar(&o.archived, "archived", false, "the archived lists alone")
	o.state = app.WordFlag(fs, "state", "", "only those in a `STATE`: working, idle, waiting, left-open, finished, or open (all but finished)",
		"working", "idle", "waiting", "left-open", "finished", "open")
	o.project = fs.String("project", "", "only those of this `PROJECT`, or of the folder with this path (. is this one)")
	return func(ctx context.Context, a *app.App, _ []string) error {
		lists, done, err := a.OpenLists()
		if err != nil {
			return err
		}
		defer done()
		every, err := lists.Find(ctx, todo.Query{})
		if err != nil {
			return err
		}
		states, err := lists.States(ctx, every...)
		if err != nil {
			return err
		}
		found := o.choose(every, states)
		total := len(found)
		if o.limit > 0 && !o.all {
			found = found[:min(total, o.limit)]
		}
		if err := printLists(a, found, every, states, o.json); err != nil {
			return err
		}
		return printRest(a, every, total, len(found), o)
	}
}

// choose returns the lists that are to be shown, in their order. In states it gives a
// main list the state of its family.
func (o listsOptions) choose(every []todo.Snapshot, states map[string]todo.State) []todo.Snapshot {
	bare := make(map[string]bool)
	for _, f := range account.Families(every, maps.Clone(states)) {
		states[f.Main.List.ID] = f.State()
		for _, l := range append(f.Lists(), f.Away...) {
			bare[l.List.ID] = f.Bare() || len(l.Items) == 0 && l.List.ID != f.Main.List.ID && states[l.List.ID].Rests()
		}
	}
	found := slices.DeleteFunc(slices.Clone(every), func(l todo.Snapshot) bool {
		return !o.all && (l.Archived != o.archived || bare[l.List.ID] && !o.archived) ||
			!inProject(l.List, *o.project) || !hasState(states[l.List.ID], *o.state)
	})
	slices.SortStableFunc(found, func(x, y todo.Snapshot) int {
		return cmp.Compare(rank(x, states), rank(y, states))
	})
	return found
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

// hasState reports whether a state is one that the word of --state means.
func hasState(state todo.State, word string) bool {
	return word == "" || word == "open" && state != todo.Finished || word == strings.ReplaceAll(string(state), " ", "-")
}

// rank orders lists by how they stand; those that were put away come last.
func rank(l todo.Snapshot, states map[string]todo.State) int {
	rank := account.Rank(states[l.List.ID])
	if l.Archived {
		rank += 10
	}
	return rank
}

func printLists(a *app.App, found, every []todo.Snapshot, states map[string]todo.State, asJSON bool) error {
	if asJSON {
		documents := make([]listed, 0, len(found))
		for _, l := range found {
			documents = append(documents, document(l, states[l.List.ID]))
		}
		return app.PrintJSON(a.Stdout, documents)
	}
	if len(found) == 0 {
		return nil
	}
	return a.Say("%s", render.Lists(found, states, time.Now(), app.TerminalWidth(a.Stdout), every...))
}

// printRest says what there is beside the lists that were shown, and how to see
// it: on standard output, or beside JSON on standard error.
func printRest(a *app.App, every []todo.Snapshot, total, shown int, o listsOptions) error {
	var text string
	switch {
	case len(every) == 0:
		text = "There are no lists yet; an agent makes one by calling its todo tool.\n" +
			"`todo-mcp serve` says how to add it to a client, `todo-mcp demo` shows one at work.\n"
	case total == 0 && *o.state+*o.project != "":
		text = "No list is like that; `todo-mcp lists --all` shows all.\n"
	case total == 0 && o.archived:
		text = "No list is archived.\n"
	case total == 0:
		text = "No list is open or was finished lately.\n"
	}
	if more := total - shown; more > 0 {
		text += fmt.Sprintf("and %d more: --all shows them\n", more)
	}
	archived := 0
	for _, l := range every {
		if l.Archived {
			archived++
		}
	}
	if archived > 0 && !o.archived && !o.all {
		text += fmt.Sprintf("and %d archived: --archived shows them\n", archived)
	}
	out := a.Stdout
	if o.json {
		out = a.Stderr
	} else if text != "" && shown > 0 {
		text = "\n" + text
	}
	_, err := io.WriteString(out, text)
	return err
}
