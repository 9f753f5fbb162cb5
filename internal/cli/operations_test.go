package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/cli"
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

// stdioCall makes one call on stdio and returns what the process logs until it has
// ended. Variables are given as names and values.
func stdioCall(t *testing.T, variables ...string) (log string) {
	t.Helper()
	for i := 0; i < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
	var stdout, stderr bytes.Buffer
	in := strings.NewReader(servertest.Initialize(1, "tester") + "\n" + servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")) + "\n")
	err := cli.Run(t.Context(), []string{"todo-mcp", "stdio", "--store", "memory"}, cli.Env{Stdin: in, Stdout: &stdout, Stderr: &stderr, Getenv: os.Getenv, Version: "v0"})
	if err != nil || !strings.Contains(stdout.String(), "Todo list updated") {
		t.Errorf("%v, %s", err, &stdout)
	}
	return stderr.String()
}

// The standard variables turn traces on, on stdio too; the last ones are sent
// before the process ends. A variable that is not supported, and a collector that
// is not there, cost a line in the log and nothing else.
func TestTraces(t *testing.T) {
	received := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- r.URL.Path + string(body)
	}))
	defer collector.Close()
	if log := stdioCall(t); log != "" || len(received) > 0 {
		t.Errorf("without a variable: %s", log)
	}
	if log := stdioCall(t, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL); log != "" || len(received) != 1 {
		t.Fatalf("%d traces: %s", len(received), log)
	}
	if got := <-received; !strings.HasPrefix(got, "/v1/traces") || !strings.Contains(got, "tools/call TodoWrite") {
		t.Errorf("%q", got)
	}
	if log := stdioCall(t, "OTEL_TRACES_EXPORTER", "zipkin"); strings.Count(log, "\n") != 1 || !strings.Contains(log, "otlp and none") {
		t.Errorf("an exporter that is not there: %s", log)
	}
	collector.Close()
	if log := stdioCall(t, "OTEL_TRACES_EXPORTER", "otlp"); !strings.Contains(log, "traces") {
		t.Errorf("a collector that is not there: %s", log)
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
