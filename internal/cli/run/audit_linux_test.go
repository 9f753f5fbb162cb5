package run_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// Changes by an agent, on the panel and by commands are all in the audit log. When
// its folder is renamed it goes on in a new one; as long as it cannot be written the server is not
// ready, and saves all the same.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	store, log := "sqlite:"+filepath.Join(dir, "todo.db"), filepath.Join(dir, "log", "audit.log")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Mkdir(filepath.Dir(log), 0o700))
	s := programtest.Serve(t, "--store", store, "--audit-log", log)
	write := servertest.Writer(t, s.URL, "tester")
	write(servertest.Todos("pending", "marker"))
	var lists []struct{ List string }
	servertest.GetJSON(t, s.URL+"/api/lists", &lists)
	id := lists[0].List
	if status, _, body := servertest.Post(t, s.URL+"/lists/"+id+"/edit", `{"do":"add","text":"marker two"}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	programtest.Succeeds(t, "rename", id, "marker three", "--store", store, "--audit-log", log)
	programtest.Succeeds(t, "restore", id, "1", "--store", store, "--audit-log", log)
	_, err := programtest.Try(t, programtest.Succeeds(t, "export", "--store", store), "import", "--store", "sqlite:"+filepath.Join(dir, "other.db"), "--audit-log", log)
	check(err)
	data, err := os.ReadFile(log)
	check(err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		if imported := i >= len(lines)-4; imported != strings.Contains(line, `"action":"import"`) || imported && strings.Contains(line, "tester") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if len(lines) != 8 || strings.Contains(string(data), "marker") || !strings.Contains(lines[0], `"variant":"TodoWrite"`) || !strings.Contains(lines[1], `"person":true`) {
		t.Errorf("%d lines:\n%s", len(lines), data)
	}

	check(os.Rename(filepath.Dir(log), filepath.Dir(log)+".moved"))
	awaitStatus(t, s.URL+"/readyz", http.StatusServiceUnavailable)
	if _, body := programtest.Get(t, s.URL+"/readyz"); !strings.Contains(body, "audit log") {
		t.Error(body)
	}
	write(servertest.Todos("completed", "marker"))
	check(os.Mkdir(filepath.Dir(log), 0o700))
	awaitStatus(t, s.URL+"/readyz", http.StatusOK)
	if data, err := os.ReadFile(log); err != nil || strings.Count(string(data), "\n") != 1 {
		t.Errorf("the line that waited: %v %s", err, data)
	}
	s.End(t)
}

// A log that cannot be opened stops the start of a server.
func TestAuditLogThatCannotBeOpened(t *testing.T) {
	programtest.Refuses(t, "not a file", "serve", "--store", "memory", "--addr", "127.0.0.1:0", "--audit-log", t.TempDir())
}
