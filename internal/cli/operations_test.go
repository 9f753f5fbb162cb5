package cli_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/servertest"
)

// get returns the status and the body of an address.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// operated starts a server with an address for operators, and returns that too.
func operated(t *testing.T, args ...string) (s *runningServer, admin string) {
	t.Helper()
	log := make(lines, 100)
	s = serveLogging(t, log, append(args, "--admin-addr", "127.0.0.1:0")...)
	return s, regexp.MustCompile(`http://[0-9.:]+`).FindString(log.await("for operators"))
}

// Without --admin-addr metrics are on the main address, with it on that one alone.
func TestServeMetrics(t *testing.T) {
	plain := serve(t, "--store", "memory")
	if status, body := get(t, plain.url+"/metrics"); status != http.StatusOK || !strings.Contains(body, `todo_build_info{version="v0"} 1`) {
		t.Errorf("%d %s", status, body)
	}
	s, admin := operated(t, "--store", "memory")
	if status, _ := get(t, s.url+"/metrics"); status != http.StatusNotFound {
		t.Errorf("metrics on the main address: %d", status)
	}
	servertest.Writer(t, s.url, "tester")(servertest.Todos("pending", "A"))
	status, body := get(t, admin+"/metrics")
	for _, want := range []string{"todo_streams_open 0", "todo_watchers 0", `gen_ai_tool_name="TodoWrite"`, `operation="update",outcome="applied"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d without %s:\n%s", status, want, body)
		}
	}
	if status, body := get(t, admin+"/readyz"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	if res, err := http.Get(admin + "/livez"); err == nil {
		res.Body.Close()
		t.Error("the address for operators outlives the server")
	}
}

// awaitStatus asks until an answer has a status.
func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	late := time.After(20 * time.Second)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		status, body := get(t, url)
		if status == want {
			return
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s answers %d %s, want %d", url, status, body, want)
		}
	}
}
