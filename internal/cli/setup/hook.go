package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/hook"
	"todo-mcp/internal/remote"
	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
)

const (
	// hookTimeout is how long a hook may wait for the store, and silentTimeout how
	// long a silent command may take in all: its host waits for it.
	hookTimeout   = 2500 * time.Millisecond
	silentTimeout = 3 * time.Second
	// maxSilentLog is from which size in bytes on the log of silent commands is put
	// in the place of the one before it.
	maxSilentLog = 256 << 10
)

// Hook takes in what a host tells of a chat on standard input.
func Hook(fs *flag.FlagSet) app.Run {
	finish := fs.Bool("finish", false, "keep a turn from ending while items are open: once, naming them")
	server := fs.String("server", "", "pass the event on to the todo-mcp server at this `URL`, with the token in TODO_TOKEN")
	return func(ctx context.Context, a *app.App, _ []string) error { return takeIn(ctx, a, *finish, *server) }
}

// takeIn takes in one event, or passes it on to a server. With finish the end of a turn is
// kept from coming too early.
func takeIn(ctx context.Context, a *app.App, finish bool, server string) error {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	event, err := hook.Read(a.Stdin)
	if err == nil {
		event, err = event.WithTodos(ctx, a.Getenv)
	}
	if err != nil {
		return err
	}
	event = event.WithFiles()
	event.Finish, event.Language = finish, a.Language
	if server != "" {
		return passOn(ctx, a, event, server)
	}
	place, err := a.Place()
	if err != nil {
		return err
	}
	a.Once = true
	spool := hook.Spool{Folder: place.Spool(a.Getenv), Log: func(err error) { logSilently(a.Getenv, err) }}
	spool.Open = func() (todo.Lists, func(), error) {
		_, board, done, err := a.Open()
		if err != nil {
			return todo.Lists{}, nil, err
		}
		return board.As(""), done, nil
	}
	told, err := spool.Do(ctx, event)
	if err != nil || told == "" {
		return err
	}
	return app.PrintJSON(a.Stdout, event.Answer(told), "")
}

// passOn passes an event on to a server, and prints what the host is to read. Of one that is
// too large what a tool answered is left out.
func passOn(ctx context.Context, a *app.App, event hook.Event, server string) error {
	client, err := remote.New(server, a.Getenv("TODO_TOKEN"))
	if err != nil {
		return err
	}
	data, err := json.Marshal(event)
	if len(data) > todo.MaxRequest {
		event.Response = nil
		data, err = json.Marshal(event)
	}
	if err != nil {
		return fmt.Errorf("encode the event: %w", err)
	}
	answer, err := client.Hook(ctx, data, event.Finish)
	if err != nil || len(answer) <= len("{}") {
		return err
	}
	return app.PrintJSON(a.Stdout, answer, "")
}

// RunSilently runs a command that never fails, within silentTimeout. It prints what the
// command printed if that succeeded in time, and else nothing: what went wrong stands in a
// log.
func RunSilently(env app.Env, run func(app.Env) error) {
	shown := env
	var out bytes.Buffer
	shown.Stdout, shown.Stderr = &out, io.Discard
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
		if err == nil {
			_, err = out.WriteTo(env.Stdout)
		}
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
