package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store"
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

// OnLists calls do with the lists of all principals, for a command that the store's owner
// runs. A store that cannot be read within the time of a request is an error: another
// program may have it locked for ever.
func (a *App) OnLists(do func(board.Lists) error) error {
	_, b, done, err := a.Open()
	if err != nil {
		return err
	}
	defer done()
	lists := b.Everyone()
	if err := IsReadable(lists, a.Request); err != nil {
		return err
	}
	return do(lists)
}

// IsReadable returns why the store of lists cannot be read within a time; nil if it can.
func IsReadable(lists board.Lists, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := lists.Find(ctx, board.Query{Limit: 1, Excerpt: true})
	return err
}

// Unsafe says which setting of a store's database lets a save be lost that was acknowledged;
// it is empty where none is known.
func Unsafe(ctx context.Context, st *store.Opened) string {
	if st.Unsafe == nil {
		return ""
	}
	if setting, err := st.Unsafe(ctx); err == nil && setting != "" {
		return "the database may lose what was acknowledged when its machine fails: " + setting
	}
	return ""
}

// Filling says how full a store is, where that is more than a part of what it may have
// after which somebody should see to it; else it is empty.
func (a *App) Filling(bytes int64) string {
	if a.Keep.Bytes <= 0 || bytes < a.Keep.Bytes/100*fillsAt {
		return ""
	}
	return fmt.Sprintf("the store is %d %% full: %d of %d MB (--max-size)", bytes*100/a.Keep.Bytes, bytes/1e6, a.Keep.Bytes/1e6)
}

// fillsAt is that part in percent. New lists are refused at [board.Full].
const fillsAt = 70

// Rows says how many rows are damaged.
func Rows(damaged []string) string {
	return render.Count(len(damaged), "row of the store is", "rows of the store are")
}

// SeeDamage says what to do about damaged rows.
const SeeDamage = "`todo-mcp check` says which, docs/operations.md what to do (“Damage”)"

// OpenStore opens the store as the settings say, with those who are told what it
// does.
func (a *App) OpenStore() (*store.Opened, error) {
	place, err := a.Place()
	if err != nil {
		return nil, err
	}
	keep := a.Keep
	if !a.Brief {
		keep.Moving = func(text string) { a.Logger().Info(text, "store", place.String("")) }
	}
	spool, err := a.Spool()
	if err != nil {
		return nil, err
	}
	left := hook.Front{Spool: spool}
	keep.Before = left.Settle
	st, err := place.Open(keep, a.Notices)
	if err != nil {
		return nil, err
	}
	st.Store, st.Within, left.Store = a.audited(st.Store), a.Request, st
	if a.Metrics != nil {
		st.Observer = a.Metrics.Store
		if st.NoticeLag != nil {
			a.Metrics.Gauge("todo_store_notice_lag_seconds", "How long a notice of a save takes to reach every server on the database.",
				func() float64 { return st.NoticeLag().Seconds() })
		}
		a.Metrics.Gauge("todo_store_bytes", "The size of all lists when it was looked at last; 0 before the first write.",
			func() float64 { return float64(st.Bytes()) })
		a.Metrics.Gauge("todo_store_max_bytes", "How large they may become, --max-size; 0: any.", func() float64 { return float64(a.Keep.Bytes) })
		a.Metrics.Gauge("todo_store_damaged_rows", "Rows that were read, found damaged and left out within an hour; todo-mcp check reads all.",
			func() float64 { return float64(len(st.Damaged())) })
	}
	return st, nil
}

// CheckNamed returns an error if the settings name a file that is not there: a command
// that copies or checks a store would find a mistyped path empty, and well.
func (a *App) CheckNamed() error {
	place, err := a.Place()
	if err != nil || a.Store == "" || place.File == "" {
		return err
	}
	if _, err := os.Stat(place.File); err != nil {
		if _, missing := os.Stat(place.Spool(a.Getenv)); missing != nil { // hooks leave what they are told before there is a store
			return fmt.Errorf("the store: %w", err)
		}
	}
	return nil
}

// Place returns where the settings say that lists are stored.
func (a *App) Place() (store.Place, error) { return store.Locate(a.Store, a.Getenv) }

// Spool returns what hooks of the store were told and is not in it yet.
func (a *App) Spool() (hook.Spool, error) {
	place, err := a.Place()
	s := hook.Spool{File: place.Spool(a.Getenv), Log: func(err error) { LogSilently(a.Getenv, err) }}
	if place.File != "" {
		s.Left = place.Say
	}
	return s, err
}

// Settle applies what hooks left, within the time of a request: who needs all that is in a store
// does not go on without it.
func (a *App) Settle(ctx context.Context, st *store.Opened) error {
	spool, err := a.Spool()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.Request)
	defer cancel()
	return spool.Drain(ctx, st)
}

// FollowSessions has lists show what hosts say in files of their own, until stop is called.
func (a *App) FollowSessions(ctx context.Context, lists board.Lists) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { hook.FollowSessions(ctx, a.Getenv, lists) })
	return func() { cancel(); work.Wait() }
}

// audited returns a store whose saves and purges are written to --audit-log, if
// there is one.
func (a *App) audited(st board.Store) board.Store {
	switch path := a.Operator.Audit; path {
	case "":
		return st
	case "-":
		a.Audit = audit.ToWriter(a.Stderr, a.Logger())
	default:
		a.Audit = audit.ToFile(path, a.Logger())
	}
	return audit.Store(st, a.Audit, a.Command == "import")
}
