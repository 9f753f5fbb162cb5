package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// maxRecentLists is how many of the most recently changed lists are candidates if the user names no list.
const maxRecentLists = 50

// OnList finds a command's list, see [App.FindList], notes that a person looked at the list, and passes the list to do.
func (a *App) OnList(ctx context.Context, args []string, o NamedOptions, do func(board.Lists, todo.Snapshot) error) error {
	return a.OnLists(func(lists board.Lists) error {
		list, err := a.FindList(ctx, lists, args, o)
		if err != nil {
			return err
		}
		lists.Look(ctx, list)
		return do(lists, list)
	})
}

// FindList returns the newest snapshot of the list that the argument or --list names, see [App.Named]. If neither names
// a list, it returns the list of the folder, see [OfFolder]. If the folder has no list, it returns an error if
// [App.Folder] is set, else the foremost of all lists.
func (a *App) FindList(ctx context.Context, lists board.Lists, args []string, o NamedOptions) (todo.Snapshot, error) {
	if wanted := append(args, a.List)[0]; wanted != "" {
		return a.Named(ctx, lists, wanted, o)
	}
	folder := Absolute(a.Folder)
	found, err := OfFolder(ctx, lists, folder, func(todo.Snapshot) bool { return false })
	switch {
	case err != nil || found.Revision > 0:
		return found, err
	case a.Folder != "":
		return found, fmt.Errorf("no list was begun in %s; see `todo-mcp lists --project %s`", folder, a.Folder)
	}
	all, err := lists.Find(ctx, board.Query{Limit: maxRecentLists})
	if err == nil && len(all) == 0 {
		err = errors.New("there " + a.NoLists())
	}
	if err != nil {
		return found, err
	}
	return Foremost(ctx, lists, all)
}

// OfFolder returns a folder's foremost list that is not skipped, or that of the nearest parent folder with such a list.
func OfFolder(ctx context.Context, lists board.Lists, folder string, skip func(todo.Snapshot) bool) (todo.Snapshot, error) {
	for {
		found, err := lists.Find(ctx, board.Query{Workspace: &folder, Limit: maxRecentLists})
		if err != nil {
			return todo.Snapshot{}, err
		}
		found = slices.DeleteFunc(found, skip)
		above := filepath.Dir(folder)
		if len(found) > 0 || above == folder {
			return Foremost(ctx, lists, found)
		}
		folder = above
	}
}

// Foremost returns the list that a person who names no list most likely means: a main list with an agent present, else
// a main list that is not archived, else any. Open lists come first, except among archived lists; then the order of
// found decides. Foremost returns the zero snapshot if found is empty.
func Foremost(ctx context.Context, lists board.Lists, found []todo.Snapshot) (todo.Snapshot, error) {
	states, err := lists.States(ctx, found...)
	groups := account.Groups(found, states)
	for _, fits := range []func(account.Group) bool{
		func(f account.Group) bool { return !f.State().Rests() && f.Main.Open() },
		func(f account.Group) bool { return !f.State().Rests() },
		func(f account.Group) bool { return !f.Main.Archived && f.Main.Open() },
		func(f account.Group) bool { return !f.Main.Archived },
		func(account.Group) bool { return true },
	} {
		if i := slices.IndexFunc(groups, fits); i >= 0 {
			return groups[i].Main, err
		}
	}
	return todo.Snapshot{}, err
}

// NoLists returns the end of a sentence, which says that the store is empty and how to begin a list.
func (a *App) NoLists() string {
	place, _ := a.Place() // cannot fail: the store is open
	return fmt.Sprintf("are no lists yet in %s; an agent makes one by calling its todo tool.\n"+
		"`todo-mcp serve` says how to add it to a client, `todo-mcp demo` shows agents at work.", place.String(a.Getenv("HOME")))
}

// Absolute returns the absolute path of a folder; empty means the working directory. It returns "" on error.
func Absolute(folder string) string {
	path, _ := filepath.Abs(folder)
	return path
}

// NamedOptions change which lists [App.Named] finds.
type NamedOptions struct {
	Deleted    bool // only deleted lists
	AndDeleted bool // deleted lists as well
	Surely     bool // require an id, a name or a whole title, not part of a title
	Damaged    bool // also lists that cannot be read
}

// NamedAll returns the lists that the arguments name, each once, see [App.Named].
func (a *App) NamedAll(ctx context.Context, lists board.Lists, args []string, o NamedOptions) (found []todo.Snapshot, err error) {
	for _, arg := range args {
		l, err := a.Named(ctx, lists, arg, o)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f todo.Snapshot) bool { return f.List.ID == l.List.ID }) {
			found = append(found, l)
		}
	}
	return found, nil
}

// Named returns the newest snapshot of the list that [render.Named] finds; it may be an excerpt if o is not zero.
func (a *App) Named(ctx context.Context, lists board.Lists, wanted string, o NamedOptions) (todo.Snapshot, error) {
	isDamaged := false
	if !o.Deleted { // a full id needs no search through all lists
		s, err := lists.Load(ctx, wanted, 0)
		isDamaged = o.Damaged && errors.Is(err, board.ErrDamaged)
		if err == nil || !errors.Is(err, board.ErrNotFound) && !isDamaged {
			return s, err
		}
	}
	all, err := lists.Find(ctx, board.Query{Deleted: o.Deleted || o.AndDeleted, Excerpt: true})
	if err != nil {
		return todo.Snapshot{}, err
	}
	all = slices.DeleteFunc(all, func(l todo.Snapshot) bool { return l.Deleted != o.Deleted && !o.AndDeleted })
	found, sure := render.Named(all, wanted)
	switch {
	case len(found) == 0 && isDamaged:
		return todo.Snapshot{List: todo.List{ID: wanted}}, nil
	case len(found) == 0 && o.Deleted:
		err = fmt.Errorf("no list %q was deleted in the last %d hours", wanted, board.TrashAge/time.Hour)
	case len(found) == 0:
		err = fmt.Errorf("there is no list %q; see `todo-mcp lists`", wanted)
	case len(found) > 1:
		table := render.Lists(found[:min(len(found), maxChoice)], nil, nil, time.Now(), TerminalWidth(a.Stderr))
		err = fmt.Errorf("%d lists match %q:\n\n%s\nChoose one by its id: `todo-mcp %s %s`",
			len(found), wanted, table, a.Command, render.ShortID(found[0].List.ID))
	case o.Surely && !sure:
		err = fmt.Errorf("%q is not the whole title of %q: give that or its id, %s",
			wanted, render.Safe(found[0].Title()), render.ShortID(found[0].List.ID))
	case o.Deleted || o.AndDeleted:
		return found[0], nil
	default:
		s, err := lists.Load(ctx, found[0].List.ID, 0)
		if o.Damaged && errors.Is(err, board.ErrDamaged) {
			return found[0], nil
		}
		return s, err
	}
	return todo.Snapshot{}, err
}

// maxChoice limits the lists that an error shows.
const maxChoice = 10
