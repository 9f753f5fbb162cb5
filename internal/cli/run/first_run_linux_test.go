package run_test

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/cli/clitest"
)

// firstRun runs `serve` and returns what it prints until the browser was asked to open
// an address, and that address.
func firstRun(t *testing.T, home string, args ...string) (printed, opened string) {
	t.Helper()
	asked := filepath.Join(t.TempDir(), "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+asked+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out strings.Builder
	done := make(chan error, 1)
	go func() {
		done <- cli.Run(ctx, append([]string{"todo-mcp", "serve", "--open", "--addr", "127.0.0.1:0"}, args...), cli.Env{Stdout: &out, Stderr: io.Discard, Version: "v0",
			Getenv: func(name string) string { return map[string]string{"HOME": home, "DISPLAY": ":0"}[name] }})
	}()
	data, err := os.ReadFile(asked)
	stop()
	if ended := <-done; ended != nil || err != nil {
		t.Fatal(ended, err)
	}
	return out.String(), strings.TrimSpace(string(data))
}

// serve says where the panel and the lists are and how clients reach them, over HTTP
// and over stdio, and --open opens the panel.
func TestFirstRun(t *testing.T) {
	home := t.TempDir()
	printed, opened := firstRun(t, home)
	url := strings.TrimSuffix(opened, "/")
	for _, want := range []string{
		"  Panel   " + opened + "\n", "  Lists   ~/.local/state/todo-mcp/todo.db\n", " install --http " + url + "/mcp`",
		"claude mcp add --transport http todo " + url + "/mcp\n", "claude mcp add todo -- todo-mcp\n", "(after `make build`",
	} {
		if !strings.Contains(printed, want) || !strings.HasPrefix(opened, "http://127.0.0.1:") {
			t.Errorf("without %q (%q):\n%s", want, opened, printed)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("it makes a folder before there is a list")
	}
	if printed, _ = firstRun(t, home, "--store", "sqlite:"+home+"/ann's $(id).db"); !strings.Contains(printed, `--store 'sqlite:`+home+`/ann'\''s $(id).db'`+"\n") {
		t.Errorf("a shell would not read this: %s", printed)
	}
	if printed, _ = firstRun(t, home, "--store", "memory"); strings.Contains(printed, "over stdio") || !strings.Contains(printed, "  Lists   memory\n") {
		t.Errorf("of lists in memory: %s", printed)
	}
}

// What keeps serve from serving is told with what to do about it.
func TestServeThatCannot(t *testing.T) {
	own := clitest.Serve(t, "--store", "memory")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"todo-mcp is served at " + own.URL + "/ already: use that one, or take another address": {"--store", "memory", "--addr", strings.TrimPrefix(own.URL, "http://")},
		"another program has " + other.Listener.Addr().String() + ": end it, or take another":   {"--store", "memory", "--addr", other.Listener.Addr().String()},
		file + "/todo.db cannot be made":           {"--addr", "127.0.0.1:0", "--store", "sqlite:" + file + "/todo.db"},
		"for a file write sqlite:/tmp/todo.db":     {"--store", "/tmp/todo.db"},
		"is a folder, name a file in it":           {"--addr", "127.0.0.1:0", "--store", "sqlite:" + filepath.Dir(file)},
		"must be an address with a port, such as ": {"--addr", "localhost"},
	} {
		err := cli.Run(t.Context(), append([]string{"todo-mcp", "serve"}, args...), cli.Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// BAD-INPUT 72: a store that another program has locked is told as that, by serve, which
// goes on, and by commands, which give up.
func TestLockedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	clitest.Run(t, "TodoWrite", `{"todos":[{"content":"A","status":"pending","activeForm":"A"}]}`, "--store", "sqlite:"+path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "CREATE TABLE other (x)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	told := "another program has " + path + " locked; end it, or name another store"
	getenv := func(name string) string { return map[string]string{"TODO_REQUEST_TIMEOUT": "1"}[name] }
	err = cli.Run(t.Context(), []string{"todo-mcp", "lists", "--store", "sqlite:" + path}, cli.Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: getenv})
	if err == nil || !strings.Contains(err.Error(), told) {
		t.Errorf("lists: %v", err)
	}
	log := make(clitest.Lines, 100)
	clitest.ServeLogging(t, log, "--store", "sqlite:"+path)
	if line := log.Await("cannot be read now"); !strings.Contains(line, told) {
		t.Errorf("serve: %s", line)
	}
}
