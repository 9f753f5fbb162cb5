package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
)

// Import reads lists from a file.
func Import(fs *flag.FlagSet) app.Run {
	replace := fs.Bool("replace", false, "lists that are here already become what the file holds, as a new revision")
	return func(ctx context.Context, a *app.App, args []string) error {
		in, err := input(ctx, a, args)
		if err != nil {
			return err
		}
		defer in.Close()
		return importHistory(ctx, a, in, *replace)
	}
}

// input opens the file that the argument names; without one, or for "-", it
// returns standard input, and says in a terminal what it waits for.
func input(ctx context.Context, a *app.App, args []string) (io.ReadCloser, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("one file at a time, received %d", len(args))
	case len(args) == 0 || args[0] == "-":
		if app.IsTerminal(a.Stdin) {
			fmt.Fprintln(a.Stderr, "Paste what `todo-mcp export` wrote, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.")
		}
		return io.NopCloser(a.TypedInput(ctx)), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return f, nil
}

// importHistory imports what export wrote, all of it or nothing: everything is
// checked before anything is written.
func importHistory(ctx context.Context, a *app.App, in io.Reader, replace bool) error {
	histories, err := readExport(in)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	st, board, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	i := importer{store: st, lists: board.Everyone(), keep: a.Keep, replace: replace}
	plan, err := i.plan(ctx, histories)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if err := i.write(ctx, plan); err != nil {
		return err
	}
	notes := append([]string{fmt.Sprintf("Imported %d revisions.", plan.revisions())}, plan.notes...)
	return a.Say("%s\n", strings.Join(notes, "\n"))
}

type importer struct {
	store   todo.Store
	lists   todo.Lists // in the store
	keep    todo.Keep
	replace bool // lists that are here become what the file holds; else they are refused
}

// importPlan is what an import writes, checked to the last revision. Only
// another process or a fault of the store can stop it.
type importPlan struct {
	parts []part
	notes []string // for the user, when all is saved
}

// part is what an import writes of one list.
type part struct {
	snapshots history
	edits     bool // a person's edit makes the items these, rather than that the snapshots are saved as they are
}

// plan returns what an import of histories writes, or why it cannot be. A list comes
// after the lists that it names, as in an export.
func (i importer) plan(ctx context.Context, histories []history) (p importPlan, err error) {
	begun := make(map[string]int)    // new lists, by principal
	moved := make(map[string]string) // ids in the file → here, where the list is here
	for _, h := range histories {
		h = pointed(h, moved)
		here, err := i.here(ctx, h.first().List)
		if err != nil {
			return p, err
		}
		if here.Revision > 0 {
			moved[h.first().List.ID] = here.List.ID
		} else {
			begun[h.first().List.Principal]++
		}
		following, same, err := i.following(ctx, h, here)
		switch {
		case err != nil:
			return p, err
		case same && len(following) > 0:
			p.parts = append(p.parts, part{snapshots: following})
		case i.replace:
			err = p.replace(here, h.last())
		case !same:
			err = fmt.Errorf("a list %s is here already, with another history: make it what the file holds with --replace, or import the file into another store with --store", history{here}.title())
		}
		if err != nil {
			return p, err
		}
	}
	// Stores find first what was written last.
	slices.SortStableFunc(p.parts, func(a, b part) int { return a.snapshots.last().Updated.Compare(b.snapshots.last().Updated) })
	return p, i.checkQuota(ctx, begun)
}

// pointed returns a history whose list names lists by the ids that they have here.
func pointed(h history, moved map[string]string) history {
	out := slices.Clone(h)
	for n := range out {
		for _, id := range []*string{&out[n].List.Parent, &out[n].List.Previous, &out[n].ReplacedBy} {
			if here, ok := moved[*id]; ok {
				*id = here
			}
		}
	}
	return out
}

// here returns the newest revision of a list in a file, or of the one that has its name
// here; revision 0 when there is none.
func (i importer) here(ctx context.Context, l todo.List) (todo.Snapshot, error) {
	found, err := i.store.Load(ctx, l.ID, 0)
	if errors.Is(err, todo.ErrNotFound) && l.Name != "" {
		var cursors []todo.Cursor
		if cursors, err = i.store.Cursors(ctx, nameKey(l)); err == nil && len(cursors) > 0 {
			found, err = i.store.Load(ctx, cursors[0].List, 0)
		}
	}
	if errors.Is(err, todo.ErrNotFound) {
		err = nil
	}
	return found, err
}

// nameKey returns the key whose cursor says which list has the name of a list.
func nameKey(l todo.List) todo.Key {
	return todo.Key{Principal: l.Principal, Conversation: todo.NameKey(l.Name)}
}

// following returns the revisions of a history that come after the newest one here. same
// is false when the list here has another history: the newest revision that both must
// have is not the same. What the store keeps no more is not compared.
func (i importer) following(ctx context.Context, h history, here todo.Snapshot) (after history, same bool, err error) {
	common := min(here.Revision, h.last().Revision)
	switch {
	case here.Revision == 0:
		return h, true, nil
	case here.List.ID != h.first().List.ID || common < h.first().Revision:
		return nil, false, nil
	}
	ours, err := i.store.Load(ctx, here.List.ID, common)
	if errors.Is(err, todo.ErrNotFound) {
		return nil, true, nil
	}
	n := common - h.first().Revision
	ours.Operation = todo.Operation{} // a file has none, see readLine
	return h[n+1:], h[n].Equal(ours), err
}

// replace adds a person's edit that makes the items of a list here the items in the
// file, so that the list's agent is told of it. It adds nothing when they are the same.
func (p *importPlan) replace(here, file todo.Snapshot) error {
	next := here
	next.Revision++
	next.Items = slices.Clone(file.Items)
	for n := range next.Items {
		next.Items[n].Hand = todo.Hand{} // of revisions that are not here
	}
	if len(todo.Diff(here, next)) == 0 {
		return nil
	}
	if here.List.Mirrored {
		return fmt.Errorf("list %s: %w", history{here}.title(), todo.ErrMirrored)
	}
	p.parts = append(p.parts, part{history{next}, true})
	p.notes = append(p.notes, fmt.Sprintf("List %s holds what the file holds, as revision %d.", history{next}.title(), next.Revision))
	return nil
}

// checkQuota returns [todo.ErrTooManyLists] when the new lists of a principal
// would exceed the limit.
func (i importer) checkQuota(ctx context.Context, begun map[string]int) error {
	if i.keep.Lists <= 0 {
		return nil
	}
	for principal, n := range begun {
		lists, err := i.store.Find(ctx, todo.Query{Principal: &principal})
		if err != nil {
			return err
		}
		if err := i.keep.CheckLists(len(lists) + n - 1); err != nil {
			return err
		}
	}
	return nil
}

// revisions returns how many revisions the plan writes.
func (p importPlan) revisions() (n int) {
	for _, part := range p.parts {
		n += len(part.snapshots)
	}
	return n
}

// write saves what is planned. The error says how much was saved before it; the
// same import then goes on from there.
func (i importer) write(ctx context.Context, p importPlan) error {
	saved := 0
	for _, part := range p.parts {
		save := i.save
		if part.edits {
			save = i.edit
		}
		for some := range slices.Chunk(part.snapshots, atOnce) {
			if err := save(ctx, some); err != nil {
				return fmt.Errorf("list %s, from revision %d on: %w; %d of %d revisions were imported before it: import the file again to go on",
					some.first().List.ID, some.first().Revision, err, saved, p.revisions())
			}
			saved += len(some)
		}
	}
	return nil
}

// atOnce is how many revisions an import saves in one transaction: others wait for it.
const atOnce = 50

// save saves some revisions of a list. A list with a name that begins gets the name.
func (i importer) save(ctx context.Context, some history) error {
	l := some.first().List
	key := todo.Key{Principal: l.Principal, Conversation: l.ID}
	if l.Name != "" {
		key = nameKey(l)
	}
	return i.store.Update(ctx, key, func(tx todo.Tx) error {
		_, err := tx.Load(ctx, l.ID, 0)
		begins := errors.Is(err, todo.ErrNotFound)
		if err != nil && !begins {
			return err
		}
		for _, s := range some {
			if _, err := tx.Save(ctx, s); err != nil {
				return err
			}
		}
		if begins && l.Name != "" {
			return tx.SetCursor(ctx, todo.Cursor{Key: key, List: l.ID, Current: true})
		}
		return nil
	})
}

// edit makes the items of a list the items of a snapshot, by a person's hand.
func (i importer) edit(ctx context.Context, to history) error {
	_, err := i.lists.Apply(ctx, todo.Write{
		Target: todo.Target{List: to.first().List.ID}, Writer: app.CommandLine("import"),
		Change: func(d *todo.Draft) error { d.Restore(to.last().Items); return nil },
	})
	return err
}
