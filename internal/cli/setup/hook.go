package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/hook"
	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
)

const (
	// hookTimeout is how long a hook may wait for the store, and silentTimeout how
	// long a silent command may take in all: its host waits for it.
	hookTimeout   = 2 * time.Second
	silentTimeout = 3 * time.Second
	// maxSilentLog is from which size in bytes on the log of silent commands is put
	// in the place of the one before it.
	maxSilentLog = 256 << 10
)

// Hook takes in what a host tells of a chat on standard input.
func Hook(ctx context.Context, a *app.App, _ []string) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	if err != nil {
		return err
	}
	return hook.Do(ctx, event, func() (todo.Lists, func(), error) {
		_, board, done, err := a.Open()
		if err != nil {
			return todo.Lists{}, nil, err
		}
		return board.As(""), done, nil
	})
}

// RunSilently runs a command that prints nothing and never fails, within
// silentTimeout. What goes wrong stands in a log.
func RunSilently(env app.Env, run func(app.Env) error) {
	shown := env
	shown.Stdout, shown.Stderr = io.Discard, io.Discard
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				ended <- fmt.Errorf("panic: %v", v)
			}
		}()
		ended <- run(shown)
	}()
	select {
	case err := <-ended:
		logSilently(env.Getenv, err)
	case <-time.After(silentTimeout):
		logSilently(env.Getenv, fmt.Errorf("gave up after %s", silentTimeout))
	}
}

// silentLog returns the path of the log of silent commands; empty where there is no
// place for one.
func silentLog(getenv func(string) string) string {
	place, err := store.Locate("", getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(place.File), "hook.log")
}

// logSilently writes an error that is not nil to the log of silent commands, if
// there is a place for one.
func logSilently(getenv func(string) string, err error) {
	path := silentLog(getenv)
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
	slog.New(slog.NewTextHandler(f, nil)).Log(context.Background(), level, "hook", "error", todo.Cut(err.Error(), maxShownError))
}

// maxShownError is the maximum length of an error in a log, in characters.
const maxShownError = 1000
