package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"golang.org/x/term"

	"todo-mcp/internal/audit"
	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/metrics"
	"todo-mcp/tools"
)

// app is what a command runs with: its name, its environment and its settings.
type app struct {
	Env
	*settings
	command   string
	folder    string              // whose list a command means that names none; empty is this one
	typed     *bufio.Reader       // see typedInput
	panel     string              // the address of the panel beside a server on stdio
	opens     bool                // whether `serve` opens the panel in the browser
	sessions  store.SessionKeeper // the open store, if it is one
	sharedKey []byte              // of sessions, see readSharedKey

	metrics *metrics.Metrics // of `serve`; nil for other commands
	audit   *audit.Log       // of the open store, if there is to be one; else nil
}

// open opens the store and returns a board on it; done closes both.
func (a *app) open() (board *todo.Board, done func(), err error) {
	st, err := a.openStore()
	if err != nil {
		return nil, nil, err
	}
	a.sessions, _ = store.As[store.SessionKeeper](st)
	board = todo.NewBoard(st, todo.WithArchiveAfter(a.archive))
	return board, func() {
		board.Close()
		if err := st.Close(); err != nil {
			fmt.Fprintln(a.Stderr, "todo-mcp: close the store:", err)
		}
	}, nil
}

// openLists opens the store and returns the lists of all principals, for a
// command that the store's owner runs; done closes the store. One that cannot be read
// within the time of a request is an error: another program may have it locked for ever.
func (a *app) openLists() (lists todo.Lists, done func(), err error) {
	board, done, err := a.open()
	if err != nil {
		return todo.Lists{}, nil, err
	}
	if err := isReadable(board, a.request); err != nil {
		done()
		return todo.Lists{}, nil, err
	}
	return board.Everyone(), done, nil
}

// isReadable returns why a board's store cannot be read within a time; nil if it can.
func isReadable(board *todo.Board, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := board.Everyone().Find(ctx, todo.Query{Limit: 1})
	return err
}

// openStore opens the store as the settings say, with those who are told what it
// does; see [store.As] for what only some stores can do.
func (a *app) openStore() (todo.Store, error) {
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	st, err := place.Open(a.limits(), a.notices)
	if err != nil {
		return nil, err
	}
	return a.audited(a.observed(st)), nil
}

// limits returns how much the store keeps: as the settings say, and two bounds that
// nobody needs to turn.
func (a *app) limits() todo.Keep {
	keep := a.keep
	// A chat begins a handful of lists; one that begins a thousand in a day runs wild.
	keep.Begun = 1000
	// A list that nobody looked at or wrote again within an hour is what a chat that
	// ran wild left.
	keep.Abandoned = time.Hour
	return keep
}

// checkNamed returns an error if the settings name a file that is not there: a command
// that copies or checks a store would find a mistyped path empty, and well.
func (a *app) checkNamed() error {
	place, err := a.place()
	if err != nil || a.store == "" || place.File == "" {
		return err
	}
	if _, err := os.Stat(place.File); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	return nil
}

// place returns where the settings say that lists are stored.
func (a *app) place() (store.Place, error) { return store.Locate(a.store, a.Getenv) }

// newTools returns the tools and the guidance texts that the settings select.
func (a *app) newTools() ([]*tools.Tool, *prompts.Texts, error) {
	texts, err := prompts.New(a.prompts)
	if err != nil {
		return nil, nil, err
	}
	options := a.tools
	options.Texts = texts
	list, err := tools.New(options)
	return list, texts, err
}

// openServer opens the store and returns a server on it; done closes both. replica
// is true for a server whose sessions others on the same store may serve, too.
func (a *app) openServer(replica bool) (s *server.Server, done func(), err error) {
	hangups := a.catchHangups()
	board, closeStore, err := a.open()
	if err != nil {
		signal.Stop(hangups)
		return nil, nil, err
	}
	if replica {
		collectLess(a.Getenv)
	}
	config, err := a.serverConfig(board)
	if replica && a.sessions != nil {
		config.Subscriptions = a.sessions
	}
	if err == nil {
		err = a.readSharedKey()
	}
	if err == nil {
		s, err = server.New(config)
	}
	if err == nil && a.audit != nil {
		err = a.audit.Check()
	}
	if err != nil {
		signal.Stop(hangups)
		closeStore()
		return nil, nil, err
	}
	endReopening := a.reopenAudit(hangups)
	return s, func() { s.Close(); endReopening(); closeStore() }, nil
}

// serverConfig returns the configuration, from the settings, of a server on
// board.
func (a *app) serverConfig(board *todo.Board) (server.Config, error) {
	list, texts, err := a.newTools()
	var observe func(server.Operation)
	if a.metrics != nil {
		observe = a.metrics.MCP
	}
	return server.Config{
		Board: board, Tools: list, Publish: a.publish, Structured: a.content, Texts: texts, Version: a.Version,
		List: a.list, Panel: a.panel, Dir: workingDir(), Getenv: a.Getenv, Timeout: a.request, Log: a.logger(), SessionKey: a.sessionKey, Observe: observe,
	}, err
}

func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: a.logLevel}))
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
