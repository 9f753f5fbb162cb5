package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// maxSilentLog is from which size in bytes on the log of silent commands is put in the place
// of the one before it.
const maxSilentLog = 256 << 10

// SilentLog returns the path of the log of silent commands; empty where there is no
// place for one.
func SilentLog(getenv func(string) string) string {
	place, err := store.Locate("", getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(place.File), "hook.log")
}

// LogSilently writes an error that is not nil to the log of silent commands, if
// there is a place for one.
func LogSilently(getenv func(string) string, err error) {
	path := SilentLog(getenv)
	if err == nil || path == "" {
		return
	}
	info, missing := os.Lstat(path)
	switch {
	case missing == nil && !info.Mode().IsRegular():
		return // a pipe would be waited for
	case missing == nil && info.Size() >= maxSilentLog:
		_ = os.Rename(path, path+".old")
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	f, failed := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if failed != nil {
		return
	}
	defer f.Close()
	level := slog.LevelError
	if errors.Is(err, hook.ErrNotNeeded) {
		level = slog.LevelInfo
	}
	slog.New(slog.NewTextHandler(f, nil)).Log(context.Background(), level, "hook", "error", todo.Cut(err.Error(), MaxShownError))
}

// MaxShownError is the maximum length of an error in a log, in characters.
const MaxShownError = 1000
