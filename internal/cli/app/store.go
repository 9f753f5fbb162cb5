package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	fillsAt       = 70        // percent of --max-size at which [App.Filling] warns; no list begins above [board.Full]
	maxSilentLog  = 256 << 10 // bytes at which the log of `hook` is renamed to make way for a new one
	MaxShownError = 1000      // characters of an error in a log
)

// Open opens the store and returns it with a board on it; done closes both.
func (a *App) Open() (st *store.Opened, b *board.Board, done func(), err error) {
	if st, err = a.OpenStore(); err != nil {
		return nil, nil, nil, err
	}
	b = board.NewBoard(st, board.WithArchiveAfter(a.Archive))
	return st, b, func() {
		b.Close()
		if left := st.Damaged(); len(left) > 0 {
			fmt.Fprintf(a.Stderr, "todo-mcp: %s damaged and left out; %s\n", Rows(left), SeeDamage)
		}
		if err := st.Close(); err != nil {
			fmt.Fprintln(a.Stderr, "todo-mcp: close the store:", err)
		}
	}, nil
}

// OnLists calls the function do with the lists of all principals, see [App.OnStore].
func (a *App) OnLists(do func(board.Lists) error) error {
	return a.OnStore(func(_ *store.Opened, b *board.Board) error { return do(b.Everyone()) })
}

// OnStore opens the store and calls the function do. It fails if it cannot read the store in time, as when locked.
func (a *App) OnStore(do func(*store.Opened, *board.Board) error) error {
	st, b, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	if err := IsReadable(b.Everyone(), a.Request); err != nil {
		return err
	}
	return do(st, b)
}

// IsReadable returns an error if the store cannot be read within the given time.
func IsReadable(lists board.Lists, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := lists.Find(ctx, board.Query{Limit: 1, Excerpt: true})
	return err
}

// Filling returns a warning if a store of the given size is at least fillsAt percent full; else "".
func (a *App) Filling(bytes int64) string {
	if a.Keep.Bytes <= 0 || bytes < a.Keep.Bytes/100*fillsAt {
		return ""
	}
	return fmt.Sprintf("the store is %d %% full: %d of %d MB (--max-size)", bytes*100/a.Keep.Bytes, bytes/1e6, a.Keep.Bytes/1e6)
}

// Rows says how many rows are damaged, as the beginning of a sentence.
func Rows(damaged []string) string {
	return render.Count(len(damaged), "row of the store is", "rows of the store are")
}

// SeeDamage says what to do about damaged rows.
const SeeDamage = "`todo-mcp check` says which, docs/operations.md what to do (“Damage”)"

// OpenStore opens the settings' store with audit log and metrics. Each use of it first applies pending hook events.
func (a *App) OpenStore() (*store.Opened, error) {
	place, err := a.Place()
	if err != nil {
		return nil, err
	}
	keep := a.Keep
	if !a.Brief {
		keep.Moving = func(text string) { a.Logger().Info(text, "store", place.String("")) }
	}
	spool, _ := a.Spool() // cannot fail: its only error is that of Place
	keep.Before = spool.Settle
	st, err := place.Open(keep)
	if err != nil {
		return nil, err
	}
	st.Store, st.Within, spool.Store = a.audited(st.Store), a.Request, st
	if a.Metrics != nil {
		st.Observer = a.Metrics.Store
		a.Metrics.Gauge("todo_store_bytes", "The size of all lists when it was looked at last; 0 before the first write.",
			func() float64 { return float64(st.Bytes()) })
		a.Metrics.Gauge("todo_store_max_bytes", "How large they may become, --max-size; 0: any.", func() float64 { return float64(a.Keep.Bytes) })
		a.Metrics.Gauge("todo_store_damaged_rows", "Rows that were read, found damaged and left out within an hour; todo-mcp check reads all.",
			func() float64 { return float64(len(st.Damaged())) })
	}
	return st, nil
}

// CheckThere returns an error if neither the store's file nor its spool of hook events exists, so that a mistyped path
// does not look like an empty store.
func (a *App) CheckThere() error {
	place, err := a.Place()
	if err != nil || place.File == "" {
		return err
	}
	_, missing := os.Stat(place.File)
	if _, err := os.Stat(place.Spool(a.Getenv)); err != nil && missing != nil {
		return fmt.Errorf("the store: %w", missing)
	}
	return nil
}

// Place returns the location of the store.
func (a *App) Place() (store.Place, error) { return store.Locate(a.Store, a.Getenv) }

// Spool returns the store's spool: its hook events that are not yet applied.
func (a *App) Spool() (*hook.Spool, error) {
	place, err := a.Place()
	s := &hook.Spool{Folder: place.Spool(a.Getenv), Log: func(err error) { LogSilently(a.Getenv, err) }}
	if place.File != "" {
		s.Left = place.Say
	}
	return s, err
}

// Settle applies pending hook events within the request timeout. After an error, lists may lack some events.
func (a *App) Settle(ctx context.Context, st *store.Opened) error {
	spool, _ := a.Spool() // cannot fail: the store is open
	ctx, cancel := context.WithTimeout(ctx, a.Request)
	defer cancel()
	return spool.Drain(ctx, st)
}

// FollowSessions updates lists from the session files that hosts write, until stop is called.
func (a *App) FollowSessions(ctx context.Context, lists board.Lists) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { hook.FollowSessions(ctx, a.Getenv, lists) })
	return func() { cancel(); work.Wait() }
}

// audited returns a store that logs saves and purges to --audit-log, or st itself without that setting.
func (a *App) audited(st board.Store) board.Store {
	if a.Operator.Audit == "" {
		return st
	}
	out := io.Writer(audit.File(a.Operator.Audit))
	if a.Operator.Audit == "-" {
		out = a.Stderr
	}
	a.Audit = &audit.Log{Store: st, Out: out, Report: a.Logger(), Imports: a.Command == "import"}
	return a.Audit
}

// SilentLog returns the path of the log of `hook`; empty if no state folder is known.
func SilentLog(getenv func(string) string) string {
	place, err := store.Locate("", getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(place.File), "hook.log")
}

// LogSilently writes an error to the log of `hook`, if there is an error and a path for the log.
func LogSilently(getenv func(string) string, err error) {
	path := SilentLog(getenv)
	if err == nil || path == "" {
		return
	}
	if info, missing := os.Stat(path); missing == nil && info.Mode().IsRegular() && info.Size() >= maxSilentLog {
		_ = os.Rename(path, path+".old")
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	level := slog.LevelError
	if errors.Is(err, hook.ErrNotNeeded) {
		level = slog.LevelInfo
	}
	slog.New(slog.NewTextHandler(audit.File(path), nil)).Log(context.Background(), level, "hook", "error", todo.Cut(err.Error(), MaxShownError))
}
