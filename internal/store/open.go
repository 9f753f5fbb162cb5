// Package store names the stores there are: where a setting points to, how it is
// opened, and what else is kept beside the lists.
package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
)

// Place is where a setting says that lists are kept. Nothing is opened or made on
// disk until [Place.Open], and then not before the first save.
type Place struct {
	// File is the store's file, or empty for a store in memory.
	File string
}

// Memory reports whether the lists are in the memory of the process that opens
// them, so that no other process can see them and nothing outlives it.
func (p Place) Memory() bool { return p.File == "" }

// KeyFile is the file beside the lists that keeps the key of session ids; empty
// when there is no such place.
func (p Place) KeyFile() string {
	if p.Memory() {
		return ""
	}
	return filepath.Join(filepath.Dir(p.File), "session.key")
}

// String is the place as people read it: the file, with home (a folder, may be
// empty) shortened to "~".
func (p Place) String(home string) string {
	if p.Memory() {
		return "memory"
	}
	if rest, ok := strings.CutPrefix(p.File, home+string(filepath.Separator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return p.File
}

// Open opens the store, which keeps what keep says. The caller closes it.
func (p Place) Open(keep todo.Keep) (todo.Store, error) {
	if p.Memory() {
		return memory.NewKeeping(keep), nil
	}
	return sqlite.Open(p.File, sqlite.WithKeep(keep))
}

// Kinds says which settings [Locate] accepts, for help and errors.
const Kinds = "memory and sqlite:PATH"

// Locate returns the place that a setting names: "memory", "sqlite:PATH", or, when
// it is empty, the file todo.db in the platform's folder for the state of
// applications. An error says what is allowed, and never shows a password.
func Locate(setting string, getenv func(string) string) (Place, error) {
	kind, path, _ := strings.Cut(setting, ":")
	switch {
	case setting == "":
		dir, err := stateDir(runtime.GOOS, getenv)
		return Place{File: filepath.Join(dir, "todo.db")}, err
	case setting == "memory":
		return Place{}, nil
	case kind == "sqlite":
		return Place{File: path}, checkPath(path)
	}
	if strings.ContainsAny(path, "@=?") || strings.HasPrefix(path, "//") {
		setting = kind + ":…" // an address, which may hold a password
	}
	return Place{}, fmt.Errorf("store %q: allowed are %s", setting, Kinds)
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
