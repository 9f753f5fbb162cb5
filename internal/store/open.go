// Package store opens the store that a setting names.
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

// Open opens "memory", "sqlite:PATH", or, when spec is empty, the file todo.db
// in dir; it keeps what keep says. Nothing is made on disk before the first save.
func Open(spec, dir string, keep todo.Keep) (todo.Store, error) {
	kind, path, _ := strings.Cut(spec, ":")
	switch {
	case spec == "":
		return sqlite.Open(filepath.Join(dir, "todo.db"), sqlite.WithKeep(keep))
	case spec == "memory":
		return memory.NewKeeping(keep), nil
	case kind == "sqlite":
		if err := checkPath(path); err != nil {
			return nil, err
		}
		return sqlite.Open(path, sqlite.WithKeep(keep))
	}
	if strings.ContainsAny(path, "@=?") || strings.HasPrefix(path, "//") {
		spec = kind + ":…" // an address, which may hold a password
	}
	return nil, fmt.Errorf("store %q: allowed are memory and sqlite:PATH", spec)
}

// checkPath refuses what is surely not meant as the path of a file.
func checkPath(path string) error {
	switch {
	case path == "" || strings.HasSuffix(path, "/"):
		return errors.New("open store: name a file: sqlite:PATH")
	case path == ":memory:":
		return errors.New("open store: to keep lists in memory the store is called memory")
	case strings.HasPrefix(path, "//") || strings.HasPrefix(path, "~/"):
		return fmt.Errorf("open store: sqlite:PATH takes a plain path, written out, not %q", path)
	}
	return nil
}

// DefaultDir is the platform's folder for an application's state, with ours in
// it. It need not exist.
func DefaultDir(getenv func(string) string) (string, error) {
	return defaultDir(runtime.GOOS, getenv)
}

func defaultDir(goos string, getenv func(string) string) (string, error) {
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
