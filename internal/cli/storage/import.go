package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Import imports what export wrote. Everything is checked before anything is written; only
// a store that gets full, or fails, stops it later.
func Import(ctx context.Context, a *app.App, args []string) error {
	in, done, err := input(ctx, a, args)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	defer done()
	lists, err := readExport(in)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	a.Keep.Begun, a.Keep.Abandoned = 0, 0 // no chat begins these lists, and none makes room for another
	st, err := a.OpenStore()
	if err != nil {
		return err
	}
	defer st.Close()
	i := importer{st, a.Keep, in, lists}
	missing, err := i.plan(ctx)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	if err := i.write(ctx, missing); err != nil {
		return err
	}
	return a.Say("Imported %d revisions.\n", missing)
}

// input opens the file that the argument names; without one, or for "-", it takes standard
// input, and says in a terminal what it waits for. What cannot be read twice, or is UTF-16, is
// copied to a file as it is read, and checked, the first time; the file is gone when done.
func input(ctx context.Context, a *app.App, args []string) (in file, done func(), err error) {
	var from io.ReadCloser
	if len(args) > 0 && args[0] != "-" {
		named, err := os.Open(args[0])
		if err != nil {
			return nil, nil, err
		}
		first := make([]byte, 1)
		if info, err := named.Stat(); err == nil && info.Mode().IsRegular() {
			if _, _ = named.ReadAt(first, 0); first[0] < utf8.RuneSelf { // no mark
				return named, func() { named.Close() }, nil
			}
		}
		from = named
	} else {
		if app.IsTerminal(a.Stdin) {
			fmt.Fprintln(a.Stderr, "Paste what `todo-mcp export` wrote, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.")
		}
		from = io.NopCloser(a.TypedInput(ctx))
	}
	copied, err := os.CreateTemp("", "todo-mcp-import-*.ndjson")
	if err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	done = func() {
		from.Close()
		copied.Close()
		os.Remove(copied.Name()) //nolint:errcheck // it is in the folder for such files
	}
	return struct {
		io.Reader
		io.ReaderAt
	}{io.TeeReader(asutf8.Reader(from), copied), copied}, done, nil
}

type importer struct {
	store board.Store
	keep  board.Keep
	in    file
	lists map[string]*history // of the file, by id
}

// eachLine calls do with each line of the file again, and its list's history.
func (i importer) eachLine(do func(*history, todo.Snapshot) error) error {
	return eachLine(io.NewSectionReader(i.in, 0, math.MaxInt64), func(s todo.Snapshot) error {
		h := i.lists[s.List.ID]
		if h == nil {
			return errors.New("the file was changed while it was imported")
		}
		s.List = h.list // the same in all revisions
		return do(h, s)
	})
}

// plan returns how many revisions the store has not, or why they cannot be imported, and notes
// from which one on each list is missing. It is checked to the last revision: only another
// process, or a store that is full or fails, can stop what follows. It is an error if a list
// here has another history: the newest revision that both must have is not the same. What the
// store keeps no more is not compared.
func (i importer) plan(ctx context.Context) (missing int64, err error) {
	begun := make(map[string]int) // new lists, by principal
	for _, h := range i.lists {
		here, err := i.here(ctx, h.list)
		if err != nil {
			return 0, err
		}
		if h.from = max(h.first, min(here.Revision, h.last)+1); here.Revision == 0 {
			begun[h.list.Principal]++
		} else if here.List.ID != h.list.ID || here.Revision < h.first {
			return 0, another(here)
		}
		missing += h.last + 1 - h.from
	}
	err = i.eachLine(func(h *history, s todo.Snapshot) error {
		if s.Revision != h.from-1 {
			return nil
		}
		ours, err := i.store.Load(ctx, h.list.ID, s.Revision)
		if errors.Is(err, board.ErrNotFound) {
			return nil
		}
		ours.Operation = todo.Operation{} // a file has none, see readLine
		if err == nil && !s.Equal(ours) {
			err = another(ours)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	bd := board.NewBoard(i.store)
	defer bd.Close()
	for principal, n := range begun {
		if err := forAll(ctx, bd.As(principal), func(todo.Snapshot) { n++ }); err != nil {
			return 0, err
		}
		if err := i.keep.CheckLists(n - 1); err != nil {
			return 0, err
		}
	}
	return missing, nil
}

// another is the error of a list here that is not the one of the file.
func another(here todo.Snapshot) error {
	return fmt.Errorf("a list %q is here already, with another history: delete it for good with `todo-mcp delete --purge %s`, or import the file into another store with --store",
		render.Safe(here.Title()), here.List.ID)
}

// here returns the newest revision of a list in a file, or of the one that has its name
// here; revision 0 when there is none.
func (i importer) here(ctx context.Context, l todo.List) (todo.Snapshot, error) {
	found, err := i.store.Load(ctx, l.ID, 0)
	if errors.Is(err, board.ErrNotFound) && l.Name != "" {
		var named string
		if named, err = i.store.Named(ctx, l.Principal, l.Name); err == nil && named != "" {
			found, err = i.store.Load(ctx, named, 0)
		}
	}
	return found, board.PassOver(err)
}

// write saves what is missing. The error says how much was saved before it; the same
// import then goes on from there.
func (i importer) write(ctx context.Context, missing int64) error {
	var some []todo.Snapshot // of one list
	saved := 0
	save := func() error {
		if len(some) == 0 {
			return nil
		}
		if err := i.save(ctx, some); err != nil {
			return fmt.Errorf("list %s, from revision %d on: %w; %d of %d revisions were imported before it: import the file again to go on",
				some[0].List.ID, some[0].Revision, err, saved, missing)
		}
		saved, some = saved+len(some), nil
		return nil
	}
	err := i.eachLine(func(h *history, s todo.Snapshot) (err error) {
		if s.Revision < h.from {
			return nil
		}
		if len(some) == atOnce || len(some) > 0 && some[0].List.ID != s.List.ID {
			err = save()
		}
		some = append(some, s)
		return err
	})
	if err == nil {
		err = save()
	}
	return err
}

// atOnce is how many revisions an import saves in one transaction: others wait for it.
const atOnce = 50

// save saves some revisions of a list. A list with a name that begins gets the name.
func (i importer) save(ctx context.Context, some []todo.Snapshot) error {
	l := some[0].List
	return i.store.Update(ctx, board.Key{Principal: l.Principal, Chat: l.ID}, func(tx board.Tx) error {
		_, err := tx.Load(ctx, l.ID, 0)
		begins := errors.Is(err, board.ErrNotFound)
		if err != nil && !begins {
			return err
		}
		for _, s := range some {
			if _, err := tx.Save(ctx, s); err != nil {
				return err
			}
		}
		if begins && l.Name != "" {
			return tx.SetName(ctx, l.Principal, l.Name, l.ID)
		}
		return nil
	})
}
