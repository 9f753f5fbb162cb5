package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/tools"
)

// app is what a command runs with: its environment and its settings.
type app struct {
	Env
	*settings
}

// open opens the store and returns a board on it; done closes both.
func (a *app) open() (board *todo.Board, done func(), err error) {
	st, err := a.openStore()
	if err != nil {
		return nil, nil, err
	}
	board = todo.NewBoard(st)
	return board, func() {
		board.Close()
		if err := st.Close(); err != nil {
			fmt.Fprintln(a.Stderr, "todo-mcp: close the store:", err)
		}
	}, nil
}

// openLists opens the store and returns the lists of all principals, for a
// command that the store's owner runs; done closes the store.
func (a *app) openLists() (lists todo.Lists, done func(), err error) {
	board, done, err := a.open()
	if err != nil {
		return todo.Lists{}, nil, err
	}
	return board.Everyone(), done, nil
}

func (a *app) openStore() (todo.Store, error) {
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	return place.Open(a.keep)
}

// place returns where the settings say that lists are stored.
func (a *app) place() (store.Place, error) { return store.Locate(a.store, a.Getenv) }

// newTools returns the tools and the guidance texts that the settings select.
func (a *app) newTools() ([]*tools.Tool, *prompts.Texts, error) {
	texts, err := prompts.New(a.guidance, a.prompts)
	if err != nil {
		return nil, nil, err
	}
	options := a.tools
	options.Texts = texts
	list, err := tools.New(options)
	return list, texts, err
}

// openServer opens the store and returns a server on it; done closes both.
func (a *app) openServer() (s *server.Server, done func(), err error) {
	board, closeStore, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	config, err := a.serverConfig(board)
	if err == nil {
		s, err = server.New(config)
	}
	if err != nil {
		closeStore()
		return nil, nil, err
	}
	return s, func() { s.Close(); closeStore() }, nil
}

// serverConfig returns the configuration, from the settings, of a server on
// board.
func (a *app) serverConfig(board *todo.Board) (server.Config, error) {
	list, texts, err := a.newTools()
	return server.Config{
		Board: board, Tools: list, Publish: a.publish, Structured: a.content, Texts: texts, Version: a.Version,
		List: a.list, Dir: workingDir(), Conversations: a.keys, SessionVariables: a.variables, Getenv: a.Getenv, StopTimeout: a.stop, Log: a.logger(),
		MaxSubscriptions: a.subs, MaxAllSubscriptions: a.allSubs, SubscriptionLinger: a.linger,
	}, err
}

func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: a.logLevel}))
}

// ownFlags returns the flags of a command that are not settings.
func ownFlags(c command) (flags []*flag.Flag) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.flags(fs)
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, f) })
	return flags
}

// terminalWidth returns the width of a terminal in columns, 80 when it cannot
// be read, and 0 when w is no terminal.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// colour reports whether standard output is a terminal that shows colours and
// the user did not turn them off.
func (a *app) colour() bool {
	return terminalWidth(a.Stdout) > 0 && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}

// maxRecentLists is how many lists, the last changed first, findList searches
// for one of the working directory. It is small because a status line runs the
// command every second.
const maxRecentLists = 50

// findList returns the newest snapshot of the list that the argument or --list
// names by id, by name, or by four or more characters from the beginning of its
// id. Without either it returns the last changed list of the working directory,
// or if there is none the last changed of all.
func (a *app) findList(ctx context.Context, lists todo.Lists, args []string) (todo.Snapshot, error) {
	if len(args) > 1 {
		return todo.Snapshot{}, fmt.Errorf("one list at a time, received %d", len(args))
	}
	wanted := a.list
	if len(args) == 1 {
		wanted = args[0]
	}
	if wanted != "" {
		return a.namedList(ctx, lists, wanted)
	}
	last, err := lists.Find(ctx, todo.Query{Limit: maxRecentLists})
	if err != nil {
		return todo.Snapshot{}, err
	}
	if len(last) == 0 {
		return todo.Snapshot{}, errors.New("there are no lists yet; an agent makes one by calling its todo tool")
	}
	dir := workingDir()
	for _, l := range last {
		if dir != "" && l.List.Workspace == dir {
			return l, nil
		}
	}
	return last[0], nil
}

// namedList returns the newest snapshot of the list that wanted names, see
// [app.findList].
func (a *app) namedList(ctx context.Context, lists todo.Lists, wanted string) (todo.Snapshot, error) {
	s, err := lists.Load(ctx, wanted, 0)
	if err == nil || !errors.Is(err, todo.ErrNotFound) {
		return s, err
	}
	all, err := lists.Find(ctx, todo.Query{})
	if err != nil {
		return todo.Snapshot{}, err
	}
	var found []todo.Snapshot
	for _, l := range all {
		if l.List.Name == wanted {
			return l, nil
		}
		if len(wanted) >= 4 && strings.HasPrefix(l.List.ID, wanted) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return todo.Snapshot{}, fmt.Errorf("there is no list %q; see `todo-mcp lists`", wanted)
	case 1:
		return found[0], nil
	}
	return todo.Snapshot{}, fmt.Errorf("%d lists begin with %q, give more of the id", len(found), wanted)
}
