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
// in dir. Nothing is made on disk before the first save.
func Open(spec, dir string) (todo.Store, error) {
	kind, path, _ := strings.Cut(spec, ":")
	switch {
	case spec == "":
		return sqlite.Open(filepath.Join(dir, "todo.db"))
	case spec == "memory":
		return memory.New(), nil
	case kind == "sqlite" && path != "":
		return sqlite.Open(path)
	}
	return nil, fmt.Errorf("store %q: allowed are memory and sqlite:PATH", spec)
}

// DefaultDir is the platform's folder for an application's state, with ours in
// it. It need not exist.
func DefaultDir(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	switch runtime.GOOS {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "todo-mcp"), nil
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
