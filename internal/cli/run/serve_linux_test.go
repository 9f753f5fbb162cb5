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

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// firstRun runs `serve --open` until it opens an address in the browser, and returns its output and the address.
func firstRun(t *testing.T, home string, args ...string) (printed, opened string) {
	t.Helper()
	asked, programs := filepath.Join(t.TempDir(), "asked"), t.TempDir()
	checktest.Check(t, syscall.Mkfifo(asked, 0o600))
	checktest.Check(t, os.WriteFile(filepath.Join(programs, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+asked+"\n"), 0o700))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		data, _ := os.ReadFile(asked)
		opened = strings.TrimSpace(string(data))
		stop()
	}()
	call := programtest.Call{Env: map[string]string{"HOME": home, "DISPLAY": ":0"}}
	printed = checktest.Must(call.Run(ctx, append([]string{"serve", "--open", "--addr", "127.0.0.1:0"}, args...)...))(t)
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
	checktest.Fails(t, "it makes a folder before there is a list", checktest.Err(os.Stat(filepath.Join(home, ".local"))))
	if printed, _ = firstRun(t, home, "--store", "memory"); !strings.Contains(printed, "  Lists   memory\n") {
		t.Errorf("of lists in memory: %s", printed)
	}
}

// If serve cannot start, the error says why and what to do about it.
func TestServeThatCannot(t *testing.T) {
	own, other := programtest.Serve(t, "--store", "memory"), httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	file := filepath.Join(t.TempDir(), "file")
	checktest.Check(t, os.WriteFile(file, nil, 0o600))
	for want, args := range map[string]string{
		"todo-mcp is served at " + own.URL + "/ already: use that one, or choose another address, such as --addr": "memory --addr " + strings.TrimPrefix(own.URL, "http://"),
		"another program has " + other.Listener.Addr().String() + ": end it, or choose another":                   "memory --addr " + other.Listener.Addr().String(),
		file + "/todo.db cannot be made":           "sqlite:" + file + "/todo.db --addr 127.0.0.1:0",
		"for a file write sqlite:/tmp/todo.db":     "/tmp/todo.db",
		"is a folder, name a file in it":           "sqlite:" + filepath.Dir(file) + " --addr 127.0.0.1:0",
		"must be an address with a port, such as ": "memory --addr localhost",
		"not a file": "memory --addr 127.0.0.1:0 --audit-log " + filepath.Dir(file),
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
	lock(t, read, "PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE") // the store can still be read
	for _, c := range []string{"rename a b", "archive a", "restore a 1", "delete a", "delete a --purge --yes", "prune --open --older-than 0 --yes"} {
		programtest.Refuses(t, "nothing was saved within 1s, another program has the store locked", append(strings.Fields(c), "--store", "sqlite:"+read, "--request-timeout", "1")...)
	}
	log := make(programtest.Lines, 100)
	programtest.Call{Log: log}.Serve(t, "--store", "sqlite:"+path)
	checktest.Has(t, "serve", log.Await("cannot be read now"), told)
}

// lock locks a store by SQL statements until the test ends.
func lock(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		checktest.Must(db.Exec(s))(t)
	}
}

// The audit log has the changes by an agent, on the panel and by commands. While the log's folder is missing, /readyz
// answers 503 and the server still saves. Once the folder exists again, the log goes on in it.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	store, log := "sqlite:"+filepath.Join(dir, "todo.db"), filepath.Join(dir, "log", "audit.log")
	checktest.Check(t, os.Mkdir(filepath.Dir(log), 0o700))
	said := make(programtest.Lines, 100)
	s := programtest.Call{Log: said}.Serve(t, "--store", store, "--audit-log", log)
	write := servertest.Writer(t, s.URL, "tester")
	write(servertest.Todos("pending", "marker"))
	var lists []struct{ List string }
	servertest.GetJSON(t, s.URL+"/api/lists", &lists)
	id := lists[0].List
	servertest.Is(t, "it is answered", http.StatusOK)(servertest.Post(t, s.URL+"/lists/"+id+"/edit", `{"do":"add","text":"marker two"}`))
	programtest.Succeeds(t, "rename", id, "marker three", "--store", store, "--audit-log", log)
	programtest.Succeeds(t, "restore", id, "1", "--store", store, "--audit-log", log)
	checktest.Must(programtest.Try(t, programtest.Succeeds(t, "export", "--store", store), "import", "--store", "sqlite:"+filepath.Join(dir, "other.db"), "--audit-log", log))(t)
	data := checktest.Must(os.ReadFile(log))(t)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		if imported := i >= len(lines)-4; imported != strings.Contains(line, `"action":"import"`) || imported && strings.Contains(line, "tester") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if len(lines) != 8 || strings.Contains(string(data), "marker") || !strings.Contains(lines[0], `"variant":"TodoWrite"`) || !strings.Contains(lines[1], `"person":true`) {
		t.Errorf("%d lines:\n%s", len(lines), data)
	}

	checktest.Check(t, os.Rename(filepath.Dir(log), filepath.Dir(log)+".moved"))
	awaitStatus(t, s.URL+"/readyz", http.StatusServiceUnavailable)
	_, body := programtest.Get(t, s.URL+"/readyz")
	checktest.Has(t, "/readyz", body, "audit log")
	write(servertest.Todos("completed", "marker"))
	checktest.Has(t, "the server's log", said.Await("the audit log cannot be written"), `"variant\":\"TodoWrite\"`)
	checktest.Check(t, os.Mkdir(filepath.Dir(log), 0o700))
	awaitStatus(t, s.URL+"/readyz", http.StatusOK)
	write(servertest.Todos("pending", "marker"))
	checktest.Has(t, "the new file", string(checktest.Must(os.ReadFile(log))(t)), `"revision":`)
	s.End(t)
}
