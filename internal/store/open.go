// Package store opens the store that a setting names, and says which files belong to it.
package store

import (
	"cmp"
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

// Place is where lists are kept: in a file, in the database at a URL, or, if both are empty, in memory. Nothing is
// opened before [Place.Open], and no file is made before the first save.
type Place struct{ File, URL string }

// Opened is an open store. Functions that only some stores have are nil in others. A wrapper replaces Store alone.
type Opened struct {
	board.Store
	// Observer is told of writes and reads of lists; it may be nil.
	Observer Observer
	// Within bounds an update, since another program may keep the store locked; 0 means no bound.
	Within time.Duration
	// Every store has these. Damaged returns a text for each damaged row that was left out, Bytes the size when it was
	// last measured. Check reads all rows, and calls found with each problem.
	Damaged func() []string
	Bytes   func() int64
	Check   func(ctx context.Context, found func(problem string)) (revisions int, err error)
	// BackUp writes a copy to a file, and Restore replaces the store by a copy.
	BackUp, Restore func(ctx context.Context, file string, found func(problem string)) (revisions int, err error)
	// Compact shrinks a file to its content.
	Compact func(context.Context) error
	// Unsafe names the settings of a database with which acknowledged saves can be lost; empty for none.
	Unsafe func(context.Context) (setting string, err error)
	// NoticeLag is how long a notice of a save takes to reach every server on a database.
	NoticeLag func() time.Duration
	// SessionKey returns the key of session ids that all servers on a database share: fresh, if there is none yet.
	SessionKey func(ctx context.Context, fresh []byte) ([]byte, error)
}

// Memory reports whether the lists end with the process: they are in a temporary file that no other process knows.
func (p Place) Memory() bool { return p == Place{} }

// KeyFile is the file beside the lists that has the key of session ids; empty if the place is no file.
func (p Place) KeyFile() string {
	if p.File == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(p.File), "session.key")
}

// Spool is the file for events of hooks that are not applied yet: beside the file of lists, or for a database in the
// folder for the state of applications; empty for none.
func (p Place) Spool(getenv func(string) string) string {
	if p.File != "" {
		if file, err := filepath.EvalSymlinks(p.File); err == nil { // it is there
			return file + sqlite.SpoolSuffix
		}
		return p.File + sqlite.SpoolSuffix
	}
	dir, err := stateDir(runtime.GOOS, getenv)
	if p.Memory() || err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(p.URL))
	return filepath.Join(dir, fmt.Sprintf("hooks-%x", sum[:8]))
}

// Say tells other processes that something was put into the spool of a file.
func (p Place) Say() {
	if file, err := filepath.EvalSymlinks(p.File); err == nil {
		sqlite.Say(file)
	}
}

// String is the place for people: the file, with the folder home shortened to "~", or the address without a password.
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

// Open opens the store with the limits keep. The caller closes it. For noticeURL see [postgres.Open].
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

// CheckFolder returns an error that says what to do if the store is a missing file that cannot be made. It leaves
// nothing.
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

// Locate returns the place that a setting names: "memory", "sqlite:PATH" or a postgres:// URL; empty is the file todo.db
// in the folder for the state of applications. An error says what is allowed, and shows no password.
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
	case strings.ContainsAny(kind, "@=?"): // a connection string of other programs
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

// stateDir returns our folder in the platform's folder for the state of applications. It need not exist.
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
