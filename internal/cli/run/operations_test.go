package run_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/cli/clitest"
	"todo-mcp/server/servertest"
)

// Without --admin-addr metrics are on the main address, with it on that one alone.
func TestServeMetrics(t *testing.T) {
	plain := clitest.Serve(t, "--store", "memory")
	if status, body := clitest.Get(t, plain.URL+"/metrics"); status != http.StatusOK || !strings.Contains(body, `todo_build_info{version="v0"} 1`) {
		t.Errorf("%d %s", status, body)
	}
	log := make(clitest.Lines, 100)
	s := clitest.Call{Log: log}.Serve(t, "--store", "memory", "--admin-addr", "127.0.0.1:0")
	admin := regexp.MustCompile(`http://[0-9.:]+`).FindString(log.Await("for operators"))
	if status, _ := clitest.Get(t, s.URL+"/metrics"); status != http.StatusNotFound {
		t.Errorf("metrics on the main address: %d", status)
	}
	servertest.Writer(t, s.URL, "tester")(servertest.Todos("pending", "A"))
	status, body := clitest.Get(t, admin+"/metrics")
	for _, want := range []string{"todo_streams_open 0", "todo_watchers 0", `gen_ai_tool_name="TodoWrite"`, `operation="update",outcome="applied"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d without %s:\n%s", status, want, body)
		}
	}
	if status, body := clitest.Get(t, admin+"/readyz"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	s.End(t)
	if res, err := http.Get(admin + "/livez"); err == nil {
		res.Body.Close()
		t.Error("the address for operators outlives the server")
	}
}

// awaitStatus asks until an answer has a status.
func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); ; {
		status, body := clitest.Get(t, url)
		if status == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s answers %d %s, want %d", url, status, body, want)
		}
	}
}
