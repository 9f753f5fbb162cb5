// Package store names the stores there are: where a setting points to, how it is
// opened, and what else is kept beside the lists.
package store

import (
	"context"
	"crypto/sha256"
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
)

// Place is where a setting says that lists are kept. Nothing is opened or made on
// disk until [Place.Open], and then not before the first save.
type Place struct {
	// File is the store's file, or empty for another store.
	File string
	// URL is the address of a database, or empty for another store.
	URL string
}

// Opened is a store that a place opened, with what only some stores can do, each a function
// that is nil where this one cannot. Who wraps the store wraps Store alone.
type Opened struct {
	board.Store
	// Observer is told of what writes and of what reads lists; nil is nobody.
	Observer Observer
	// Within is how long an update may take: another program may have the store locked for
	// ever. 0 is any time.
	Within time.Duration
	// Damaged says what is wrong with each row that was left out because it is damaged, and
	// Bytes how large the store was when it was looked at last. Check reads all, calls found with
	// each damage, and counts the revisions. No store lacks these.
	Damaged func() []string
	Bytes   func() int64
	Check   func(ctx context.Context, found func(problem string)) (revisions int, err error)
	// BackUp writes a copy of a file, and Restore makes the file what a copy is.
	BackUp, Restore func(ctx context.Context, file string, found func(problem string)) (revisions int, err error)
	// Compact makes a file as small as what is in it.
	Compact func(context.Context) error
	// Unsafe names the setting of a database by which a save may be lost that was
	// acknowledged; empty for none.
	Unsafe func(context.Context) (setting string, err error)
	// NoticeLag is how long a notice of a save takes to reach every server on a database.
	NoticeLag func() time.Duration
	// SessionKey returns the key of session ids that the servers on a database share; fresh
	// is the key that it becomes if there is none.
	SessionKey func(ctx context.Context, fresh []byte) ([]byte, error)
}

// Memory reports whether the lists end with the process that opens them, and no other process
// can see them: they are in a file that nobody else knows.
func (p Place) Memory() bool { return p.File == "" && p.URL == "" }

// KeyFile is the file beside the lists that keeps the key of session ids; empty
// when there is no such place.
func (p Place) KeyFile() string {
	if p.File == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(p.File), "session.key")
}

// Spool is the file for what hooks were told and what is not among the lists yet: beside
// their file, or for a database in the folder for the state of applications; empty when
// there is no such place.
func (p Place) Spool(getenv func(string) string) string {
	switch dir, err := stateDir(runtime.GOOS, getenv); {
	case p.File != "":
		file, err := filepath.EvalSymlinks(p.File)
		if err != nil {
			file = p.File // it is not there yet
		}
		return file + sqlite.SpoolSuffix
	case p.URL != "" && err == nil:
		sum := sha256.Sum256([]byte(p.URL))
		return filepath.Join(dir, fmt.Sprintf("hooks-%x", sum[:8]))
	}
	return ""
}

// Say tells other processes that something was put into the spool of a file.
func (p Place) Say() {
	if file, err := filepath.EvalSymlinks(p.File); err == nil {
		sqlite.Say(file)
	}
}

// String is the place as people read it: the file, with home (a folder, may be
// empty) shortened to "~", or the address without a password.
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

// Open opens the store, which keeps what keep says. The caller closes it. noticeURL
// is another address of a database, see [postgres.Open].
func (p Place) Open(keep board.Keep, noticeURL string) (*Opened, error) {
	if p.URL != "" {
		s, err := postgres.Open(context.Background(), p.URL, noticeURL, keep)
		if err != nil {
			return nil, err
		}
		return &Opened{Store: s, Damaged: s.Damaged, Bytes: s.Bytes, Check: s.Check,
			Unsafe: s.Unsafe, NoticeLag: s.NoticeLag, SessionKey: s.SessionKey}, nil
	}
	var s *sqlite.Store
	var err error
	if p.Memory() {
		s, err = sqlite.Temporary(keep)
	} else {
		s, err = sqlite.Open(p.File, keep)
	}
	if err != nil {
		return nil, err
	}
	return &Opened{Store: s, Damaged: s.Damaged, Bytes: s.Bytes, Check: s.Check,
		BackUp: s.BackUp, Restore: s.Restore, Compact: s.Compact}, nil
}

// CheckFolder returns an error that says what to do where the store is a file that is
// not there and cannot be made: its folder, or the next one above it that is there,
// cannot be written. It leaves nothing there.
func (p Place) CheckFolder() error {
	if p.File == "" {
		return nil
	}
	if _, err := os.Lstat(p.File); err == nil {
		return nil
	}
	folder := filepath.Dir(p.File)
	for {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(folder) == folder {
			break
		}
		folder = filepath.Dir(folder)
	}
	probe, err := os.CreateTemp(folder, ".todo-mcp-*")
	if err != nil {
		return fmt.Errorf("%s cannot be made (%w): let yourself write there, or name another file by --store sqlite:PATH", p.File, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Locate returns the place that a setting names: "memory", "sqlite:PATH", the
// postgres:// URL of a database, or, when it is empty, the file todo.db in the
// platform's folder for the state of applications. An error says what is allowed, and never shows a password.
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
	case strings.ContainsAny(kind, "@=?"): // what other programs call a connection string
		setting = "…"
	case strings.ContainsAny(path, "@=?") || strings.HasPrefix(path, "//"):
		setting = kind + ":…" // an address, which may have a password in it
	}
	hint := ""
	if strings.ContainsAny(setting, `/\`) || strings.HasSuffix(setting, ".db") {
		hint = fmt.Sprintf("; for a file write sqlite:%s", setting)
	}
	return Place{}, fmt.Errorf("store %q: allowed are memory, sqlite:PATH and postgres://USER@HOST/DATABASE%s", setting, hint)
}

// checkPath refuses what is surely not meant as the path of a file.
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

// stateDir is the platform's folder for an application's state, with ours in it.
// It need not exist.
func stateDir(goos string, getenv func(string) string) (string, error) {
	home := getenv("HOME")
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "todo-mcp"), nil
		}
		if dir := getenv("USERPROFILE"); dir != "" {
			return filepath.Join(dir, "AppData", "Local", "todo-mcp"), nil
		}
	case "darwin":
		if home != "" {
			return filepath.Join(home, "Library", "Application Support", "todo-mcp"), nil
		}
	default:
		if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "todo-mcp"), nil
		}
		if home != "" {
			return filepath.Join(home, ".local", "state", "todo-mcp"), nil
		}
	}
	return "", errors.New("there is no home directory to keep lists in: name a file with --store sqlite:PATH")
}
