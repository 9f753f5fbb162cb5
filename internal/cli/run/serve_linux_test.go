package run_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// firstRun runs `serve` and returns what it prints until the browser was asked to open
// an address, and that address.
func firstRun(t *testing.T, home string, args ...string) (printed, opened string) {
	t.Helper()
	asked, programs := filepath.Join(t.TempDir(), "asked"), t.TempDir()
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+asked+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		data, _ := os.ReadFile(asked)
		opened = strings.TrimSpace(string(data))
		stop()
	}()
	call := programtest.Call{Env: map[string]string{"HOME": home, "DISPLAY": ":0"}}
	printed, err := call.Run(ctx, append([]string{"serve", "--open", "--addr", "127.0.0.1:0"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return printed, opened
}

// serve says where the panel and the lists are and how clients reach them, and --open
// opens the panel.
func TestFirstRun(t *testing.T) {
	home := t.TempDir()
	printed, opened := firstRun(t, home)
	url := strings.TrimSuffix(opened, "/")
	for _, want := range []string{
		"  Panel   " + opened + "\n", "  Lists   ~/.local/state/todo-mcp/todo.db\n", " install --http " + url + "/mcp`",
		`{"url": "` + url + `/mcp"}`,
	} {
		if !strings.Contains(printed, want) || !strings.HasPrefix(opened, "http://127.0.0.1:") {
			t.Errorf("without %q (%q):\n%s", want, opened, printed)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local")); err == nil {
		t.Error("it makes a folder before there is a list")
	}
	if printed, _ = firstRun(t, home, "--store", "memory"); !strings.Contains(printed, "  Lists   memory\n") {
		t.Errorf("of lists in memory: %s", printed)
	}
}

// What keeps serve from serving is told with what to do about it.
func TestServeThatCannot(t *testing.T) {
	own, other := programtest.Serve(t, "--store", "memory"), httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string]string{
		"todo-mcp is served at " + own.URL + "/ already: use that one, or take another address, as --addr": "memory --addr " + strings.TrimPrefix(own.URL, "http://"),
		"another program has " + other.Listener.Addr().String() + ": end it, or take another":              "memory --addr " + other.Listener.Addr().String(),
		file + "/todo.db cannot be made":           "sqlite:" + file + "/todo.db --addr 127.0.0.1:0",
		"for a file write sqlite:/tmp/todo.db":     "/tmp/todo.db",
		"is a folder, name a file in it":           "sqlite:" + filepath.Dir(file) + " --addr 127.0.0.1:0",
		"must be an address with a port, such as ": "memory --addr localhost",
	} {
		programtest.Refuses(t, want, append([]string{"serve", "--store"}, strings.Fields(args)...)...)
	}
}

// BAD-INPUT 72: An edit or restore on the panel while another program has the store locked → 503
// within ten seconds, and not applied later
func TestLockedStore(t *testing.T) {
	t.Parallel() // most of it waits
	path := filepath.Join(t.TempDir(), "todo.db")
	programtest.Succeeds(t, "TodoWrite", servertest.Todos("pending", "A"), "--store", "sqlite:"+path)
	lock(t, path, "PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "CREATE TABLE other (x)")
	told := "another program has " + path + " locked; end it, or name another store"
	programtest.Refuses(t, told, "lists", "--store", "sqlite:"+path, "--request-timeout", "1")
	read := filepath.Join(t.TempDir(), "todo.db")
	programtest.Succeeds(t, "TodoWrite", "--list", "a", servertest.Todos("pending", "A"), "--store", "sqlite:"+read)
	lock(t, read, "PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE") // it can be read
	for _, c := range []string{"rename a b", "archive a", "restore a 1", "delete a", "delete a --purge --yes", "prune --open --older-than 0 --yes"} {
		programtest.Refuses(t, "nothing was saved within 1s, another program has the store locked", append(strings.Fields(c), "--store", "sqlite:"+read, "--request-timeout", "1")...)
	}
	log := make(programtest.Lines, 100)
	programtest.Call{Log: log}.Serve(t, "--store", "sqlite:"+path)
	if line := log.Await("cannot be read now"); !strings.Contains(line, told) {
		t.Errorf("serve: %s", line)
	}
}

// lock holds a store locked by statements until the test ends.
func lock(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}
