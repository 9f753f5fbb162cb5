package run_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"todo-mcp/internal/cli"
	"todo-mcp/internal/cli/clitest"
	"todo-mcp/server/servertest"
)

// Changes by an agent, on the panel and by commands are all in the audit log. After
// SIGHUP it goes on in a new file; as long as it cannot be written the server is not
// ready, and saves all the same.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	store, log := "sqlite:"+filepath.Join(dir, "todo.db"), filepath.Join(dir, "log", "audit.log")
	if err := os.Mkdir(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	s := clitest.Serve(t, "--store", store, "--audit-log", log)
	write := servertest.Writer(t, s.URL, "tester")
	write(servertest.Todos("pending", "marker"))
	var lists []struct{ List string }
	servertest.GetJSON(t, s.URL+"/api/lists", &lists)
	id := lists[0].List
	if status, _, body := servertest.Post(t, s.URL+"/lists/"+id+"/edit", `{"do":"add","text":"marker two"}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	clitest.Run(t, "rename", id, "marker three", "--store", store, "--audit-log", log)
	clitest.Run(t, "restore", id, "1", "--store", store, "--audit-log", log)
	export := filepath.Join(dir, "export")
	if err := os.WriteFile(export, []byte(clitest.Run(t, "export", "--store", store)), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Run(t, "import", export, "--store", "sqlite:"+filepath.Join(dir, "other.db"), "--audit-log", log)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		if imported := i >= len(lines)-4; imported != strings.Contains(line, `"action":"import"`) || imported && strings.Contains(line, "tester") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if len(lines) != 8 || strings.Contains(string(data), "marker") || !strings.Contains(lines[0], `"variant":"TodoWrite"`) || !strings.Contains(lines[1], `"person":true`) {
		t.Errorf("%d lines:\n%s", len(lines), data)
	}
	breakAuditLog(t, s.URL, log, write)
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Error(err)
	}
}

// breakAuditLog makes the audit log of a server one that cannot be written, and mends
// it again, with a write in the meantime.
func breakAuditLog(t *testing.T, url, log string, write func(args string)) {
	t.Helper()
	if err := os.Rename(filepath.Dir(log), filepath.Dir(log)+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, url+"/readyz", http.StatusServiceUnavailable)
	if _, body := clitest.Get(t, url+"/readyz"); !strings.Contains(body, "audit log") {
		t.Error(body)
	}
	write(servertest.Todos("completed", "marker"))
	if err := os.Mkdir(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, url+"/readyz", http.StatusOK)
	if data, err := os.ReadFile(log); err != nil || strings.Count(string(data), "\n") != 1 {
		t.Errorf("the line that waited: %v %s", err, data)
	}
}

// A log that cannot be opened stops the start of a server.
func TestAuditLogThatCannotBeOpened(t *testing.T) {
	err := cli.Run(t.Context(), []string{"todo-mcp", "serve", "--store", "memory", "--addr", "127.0.0.1:0", "--audit-log", t.TempDir()},
		cli.Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
	if err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
}
