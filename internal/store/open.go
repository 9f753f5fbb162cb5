// Package store opens the store that a setting names, and says which files belong to it.
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/postgres"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Place is where lists are kept: in a file, in the database at a URL, or, if both are empty, in memory. Nothing is
// opened before [Place.Open], and no file is made before the first save.
type Place struct{ File, URL string }

// Opened is an open store. A wrapper, such as the audit log, replaces only the field Store.
type Opened struct {
	board.Store
	Upkeep
	// Observer is called after each write and each read of lists; it may be nil.
	Observer Observer
	// Within is the time limit of an update without a deadline, since another program may lock the store; 0: no limit.
	Within time.Duration
	// File is the store if it is SQLite, for backups; nil for PostgreSQL.
	File *sqlite.Store
}

// Upkeep holds the methods that stores have in addition to those of [board.Store].
type Upkeep interface {
	// Damaged describes each damaged row that reads left out. Bytes returns the size of the store when last counted.
	Damaged() []string
	Bytes() int64
	// Check reads all rows, and calls found with each problem.
	Check(ctx context.Context, found func(problem string)) (revisions int, err error)
	// SessionKey returns the key that signs session ids. If the store has none yet, it stores fresh as the key.
	SessionKey(ctx context.Context, fresh []byte) ([]byte, error)
	// Unsafe warns of settings with which the store can lose acknowledged saves; warning is empty if there are none.
	Unsafe(ctx context.Context) (warning string, err error)
}

// Memory reports whether the lists are lost when the process ends: they are in a file that only this process knows.
func (p Place) Memory() bool { return p == Place{} }

// Spool returns the folder for hook events that are not applied yet. It is beside the store's file or, if the store is
// a database, in the state folder; empty for a store in memory.
func (p Place) Spool(getenv func(string) string) string {
	switch dir, err := stateDir(runtime.GOOS, getenv); {
	case p.File != "":
		file, _ := filepath.EvalSymlinks(p.File) // empty if the file does not exist
		return cmp.Or(file, p.File) + sqlite.SpoolSuffix
	case p.URL != "" && err == nil:
		return filepath.Join(dir, "events-"+todo.Digest(p.URL)[:16])
	}
	return ""
}

// Say tells watchers in other processes that an event was added to the spool beside the store's file.
func (p Place) Say() {
	if file, err := filepath.EvalSymlinks(p.File); err == nil {
		sqlite.Say(file)
	}
}

// String describes the place for people: "memory", the file, with "~" for the folder home, or the URL without password.
func (p Place) String(home string) string {
	switch {
	case p.Memory():
		return "memory"
	case p.URL != "":
		return postgres.Redacted(p.URL)
	}
	if rest, ok := strings.CutPrefix(p.File, home+string(filepath.Separator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return p.File
}

// Open opens the store with the limits in keep. The caller closes it.
func (p Place) Open(keep board.Keep) (*Opened, error) {
	if p.URL != "" {
		s, err := postgres.Open(context.Background(), p.URL, keep)
		if err != nil {
			return nil, err
		}
		return &Opened{Store: s, Upkeep: s}, nil
	}
	s, err := sqlite.Open(p.File, keep)
	if err != nil {
		return nil, err
	}
	return &Opened{Store: s, Upkeep: s, File: s}, nil
}

// CheckFolder returns an error, which says what to do, if the store's file is missing and cannot be made.
func (p Place) CheckFolder() error {
	if _, err := os.Lstat(p.File); p.File == "" || err == nil {
		return nil
	}
	folder := filepath.Dir(p.File)
	for _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) && filepath.Dir(folder) != folder; _, err = os.Stat(folder) {
		folder = filepath.Dir(folder)
	}
	probe, err := os.CreateTemp(folder, ".todo-mcp-*")
	if err != nil {
		return fmt.Errorf("%s cannot be made (%w): make its folder writable, or name another file by --store sqlite:PATH", p.File, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Locate returns the place that a setting names: "memory", "sqlite:PATH" or a postgres:// URL. An empty setting means
// the file todo.db in this program's state folder. An error says what is allowed, and shows no password.
func Locate(setting string, getenv func(string) string) (Place, error) {
	kind, path, _ := strings.Cut(setting, ":")
	switch {
	case setting == "":
		dir, err := stateDir(runtime.GOOS, getenv)
		return Place{File: filepath.Join(dir, "todo.db")}, err
	case setting == "memory":
		return Place{}, nil
	case strings.HasPrefix(setting, "postgres://") || strings.HasPrefix(setting, "postgresql://"):
		return Place{URL: setting}, postgres.CheckURL(setting)
	case kind == "sqlite":
		return Place{File: path}, checkPath(path)
	}
	switch {
	case strings.ContainsAny(kind, "@=?"): // hides another program's connection string
		setting = "…"
	case strings.ContainsAny(path, "@=?") || strings.HasPrefix(path, "//"):
		setting = kind + ":…" // hides an address, which may contain a password
	}
	hint := ""
	if strings.ContainsAny(setting, `/\`) || strings.HasSuffix(setting, ".db") {
		hint = fmt.Sprintf("; for a file write sqlite:%s", setting)
	}
	return Place{}, fmt.Errorf("store %q: allowed are memory, sqlite:PATH and postgres://USER@HOST/DATABASE%s", setting, hint)
}

// checkPath refuses paths that are surely not meant as a file.
func checkPath(path string) error {
	switch {
	case path == "" || strings.HasSuffix(path, "/"):
		return errors.New("name a file: sqlite:PATH")
	case path == ":memory:":
		return errors.New("to keep lists in memory the store is called memory")
	case strings.HasPrefix(path, "//") || strings.HasPrefix(path, "~/"):
		return fmt.Errorf("sqlite:PATH accepts a plain path, written out, not %q", path)
	}
	return nil
}

// stateDir returns this program's folder in the platform's folder for application state. The folder need not exist.
func stateDir(goos string, getenv func(string) string) (string, error) {
	under := func(root, path string) string {
		if root == "" {
			return ""
		}
		return filepath.Join(root, path)
	}
	state := ""
	switch goos {
	case "windows":
		state = cmp.Or(getenv("LocalAppData"), under(getenv("USERPROFILE"), "AppData/Local"))
	case "darwin":
		state = under(getenv("HOME"), "Library/Application Support")
	default:
		if state = getenv("XDG_STATE_HOME"); !filepath.IsAbs(state) {
			state = under(getenv("HOME"), ".local/state")
		}
	}
	if state == "" {
		return "", errors.New("there is no home directory to keep lists in: name a file with --store sqlite:PATH")
	}
	return filepath.Join(state, "todo-mcp"), nil
}

// Observer is called with the duration of each operation of a store. Its labels are the operation ("update", "load",
// "find" or "history") and the [Outcome]. An update includes the reads of its transaction. Calls may be concurrent.
type Observer func(took time.Duration, labels ...string)

// Outcome says in one word how an operation ended: applied (without an error), missing ([board.ErrNotFound]), full
// ([board.ErrTooManyLists], [board.ErrStoreFull]), refused (another mistake of the caller, see [board.IsRefusal]),
// unknown ([board.ErrUnknownOutcome]), cancelled (the caller had gone) or failed (any other error; nothing changed).
func Outcome(err error) string {
	if err == nil {
		return "applied"
	}
	switch kind := board.KindOf(err); {
	case kind == board.KindUnknown, kind == board.KindMissing, kind == board.KindFull, kind == board.KindCancelled:
		return string(kind)
	case board.IsRefusal(err):
		return "refused"
	}
	return "failed"
}

// errPanicked stands in for the error of an operation that panicked, and so returned no error.
var errPanicked = errors.New("panic")

func observe[T any](o *Opened, operation string, run func() (T, error)) (result T, err error) {
	if o.Observer == nil {
		return run()
	}
	began := time.Now()
	err = errPanicked
	defer func() { o.Observer(time.Since(began), operation, Outcome(err)) }()
	result, err = run()
	return result, err
}

// Update implements [board.Store]. If ctx has no deadline, it gives up after [Opened.Within].
func (o *Opened) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	within := ctx
	if _, ends := ctx.Deadline(); !ends && o.Within > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, o.Within)
		defer cancel()
	}
	_, err := observe(o, "update", func() (any, error) { return nil, o.Store.Update(within, key, change) })
	if within != ctx && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, board.ErrUnknownOutcome) {
		return fmt.Errorf("nothing was saved within %v, another program has the store locked; end it, or try again: %w", o.Within, err)
	}
	return err
}

// Load implements [board.Store].
func (o *Opened) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	return observe(o, "load", func() (todo.Snapshot, error) { return o.Store.Load(ctx, list, revision) })
}

// Find implements [board.Store].
func (o *Opened) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	return observe(o, "find", func() ([]todo.Snapshot, error) { return o.Store.Find(ctx, q) })
}

// History implements [board.Store].
func (o *Opened) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return observe(o, "history", func() ([]todo.Snapshot, error) { return o.Store.History(ctx, list, after, limit) })
}
