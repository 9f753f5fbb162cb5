package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/metrics"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// MCP and HTTP requests and store operations are counted by outcome, under the names of the conventions, in both eras
// of the protocol.
func TestMetrics(t *testing.T) {
	_, _, base := measured(t, storetest.NewMemory())
	id := servertest.NewSession(t, base+"/mcp", "tester")
	legacy := []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", servertest.Legacy}
	servertest.Post(t, base+"/mcp", servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), legacy...)
	servertest.Post(t, base+"/mcp", servertest.Call(2, "TodoWrite", `{"todos":7}`), legacy...)
	servertest.Post(t, base+"/mcp", `{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"none"}}`, legacy...)
	servertest.Post(t, base+"/mcp", servertest.ModernCall(4, "TodoWrite", servertest.Todos("pending", "A", "B")), servertest.ModernHeaders("tools/call", "TodoWrite")...)
	servertest.GetJSON(t, base+"/api/lists/none", nil)
	servertest.Is(t, "/metrics", 200,
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="",mcp_method_name="initialize",mcp_protocol_version="",network_transport="tcp"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="TodoWrite",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_transport="tcp"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="tool_error",gen_ai_tool_name="TodoWrite",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25",network_transport="tcp"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="-32602",gen_ai_tool_name="",mcp_method_name="prompts/get",mcp_protocol_version="2025-11-25",network_transport="tcp"} 1`,
		`mcp_server_operation_duration_seconds_count{error_type="",gen_ai_tool_name="TodoWrite",mcp_method_name="tools/call",mcp_protocol_version="2026-07-28",network_transport="tcp"} 1`,
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/mcp"} 5`,
		`http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="404",http_route="/api/lists/{id}"} 1`,
		`todo_store_operation_duration_seconds_count{operation="update",outcome="applied"} 2`,
		`todo_store_operation_duration_seconds_count{operation="update",outcome="full"} 0`, // alerts need a first value
		`todo_build_info{version="v1"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	)(servertest.Ask(t, http.MethodGet, base+"/metrics", ""))
}

// BAD-INPUT 28: a call that its client cancels or leaves does not count as a failure in metrics and log.
func TestCancelledCalls(t *testing.T) {
	for name, cancel := range map[string]func(base, session string, hangUp func()){
		"cancels": func(base, session string, _ func()) {
			_, _, _, _ = servertest.TryPost(base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`), "Mcp-Session-Id", session)
		},
		"hangs up": func(_, _ string, hangUp func()) { hangUp() },
	} {
		st := servertest.Slow{Store: storetest.NewMemory(), Saving: make(chan string), Let: make(chan struct{})}
		m, log, base := measured(t, st)
		session := servertest.NewSession(t, base+"/mcp", "tester")
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		go func() {
			<-st.Saving
			cancel(base, session, hangUp)
		}()
		call := strings.NewReader(servertest.Call(7, "TodoWrite", servertest.Todos("pending", "A")))
		req := checktest.Must(http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", call))(t)
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
		}
		var got string
		for got == "" { // the call is counted when its handler ends
			got = failed(m)
		}
		if lines := log.Take(); got != "cancelled 1\n" || lines != nil {
			t.Errorf("28: who %s: failed calls %q, log %q", name, got, lines)
		}
	}
}

func measured(t *testing.T, st board.Store) (m *metrics.Metrics, log *servertest.Log, base string) {
	t.Helper()
	m, log = metrics.New("v1"), &servertest.Log{}
	s := servertest.New(t, &store.Opened{Store: st, Observer: m.Store}, func(c *server.Config) { c.Observe, c.Log = m.MCP, log.Logger() })
	return m, log, servertest.Serve(t, s, func(c *edge.Config) { c.Observe, c.Metrics = m.HTTP, m }).URL
}

func failed(m *metrics.Metrics) string {
	got := httptest.NewRecorder()
	m.ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	calls := regexp.MustCompile(`(?m)^mcp_server_operation_duration_seconds_count\{error_type="(.*?)",.*mcp_method_name="tools/call",.*\} (\d+)$`)
	text := ""
	for _, m := range calls.FindAllStringSubmatch(got.Body.String(), -1) {
		text += m[1] + " " + m[2] + "\n"
	}
	return text
}

// Only the server's own failures are logged as errors and have the error type -32603, for which there is an alert. A
// caller's mistakes have neither.
func TestWhoseFailureACallIs(t *testing.T) {
	for err, want := range map[error]struct {
		kind, level string
	}{
		&todo.InputError{Problems: []todo.Problem{{Message: "too long"}}}: {"tool_error", ""}, board.ErrNotFound: {"tool_error", ""},
		&todo.TakenError{}: {"tool_error", ""}, todo.ErrCycle: {"tool_error", ""}, todo.ErrMirrored: {"tool_error", ""},
		board.ErrOperationReused: {"tool_error", ""}, &board.FullError{Err: board.ErrTooManyLists}: {"tool_error", ""},
		&board.FullError{Err: board.ErrStoreFull}: {"tool_error", ""}, todo.ErrItemGone: {"item_gone", "INFO"}, board.ErrReadOnly: {"read_only", "INFO"},
		board.ErrUnknownOutcome: {"-32603", "ERROR"}, board.ErrTooNew: {"-32603", "ERROR"}, context.DeadlineExceeded: {"-32603", "ERROR"},
		context.Canceled: {"-32603", "ERROR"}, servertest.ErrDisk: {"-32603", "ERROR"}, board.ErrUnavailable: {"-32603", "ERROR"},
	} {
		st := &servertest.Failing{Store: storetest.NewMemory(), Fault: func(method, _ string) error {
			if method != "Update" {
				return nil
			}
			return fmt.Errorf("update: %w", err)
		}}
		m, log, base := measured(t, st)
		servertest.Post(t, base+"/mcp", servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A")), servertest.ModernHeaders("tools/call", "TodoWrite")...)
		lines := log.Take()
		if got := failed(m); got != want.kind+" 1\n" {
			t.Errorf("%v: failed calls %q, want %s", err, got, want.kind)
		}
		if want.level == "" && lines != nil || want.level != "" && (len(lines) != 1 || !strings.Contains(lines[0], "level="+want.level)) {
			t.Errorf("%v: log %q, want level %s", err, lines, want.level)
		}
	}
}

// BAD-INPUT 88: Methods, tools, ids and texts made up by clients → None becomes a label of a metric
func TestMetricsHaveNoWordsOfClients(t *testing.T) {
	_, _, base := measured(t, storetest.NewMemory())
	id := servertest.NewSession(t, base+"/mcp", "marker-client")
	session := []string{"Mcp-Session-Id", id}
	for _, message := range []string{
		servertest.Call(1, "marker-tool", `{}`), `{"jsonrpc":"2.0","id":2,"method":"marker/method"}`, servertest.Call("marker-id", "TodoWrite", servertest.Todos("pending", "marker-text")),
		servertest.Call(3, "TodoWrite", `{"marker-argument":1}`), `{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"todo://lists/marker"}}`,
	} {
		servertest.Post(t, base+"/mcp", message, session...)
	}
	for _, target := range []string{"/marker", "/lists/marker", "/lists/marker/edit?marker=1"} {
		for _, method := range []string{"MARKER", "GET", "POST"} {
			servertest.Ask(t, method, base+target, "")
		}
	}
	_, _, got := servertest.Ask(t, http.MethodGet, base+"/metrics", "")
	for line := range strings.Lines(got) {
		if strings.Contains(strings.ToLower(line), "marker") {
			t.Error(line)
		}
	}
	checktest.Has(t, "/metrics", got, `mcp_method_name="_OTHER"`, `http_request_method="_OTHER"`)
}

// Buckets are cumulative, and a label's value is escaped as the format asks.
func TestTextFormat(t *testing.T) {
	m := metrics.New("a\"b\\c\nd")
	for _, took := range []time.Duration{time.Millisecond, 3 * time.Millisecond, time.Minute} {
		m.Store(took, "load", "applied")
	}
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, nil)
	checktest.Has(t, "/metrics", answer.Body.String(),
		`{operation="load",outcome="applied",le="0.0005"} 0`, `{operation="load",outcome="applied",le="0.001"} 1`, `{operation="load",outcome="applied",le="0.005"} 2`,
		`{operation="load",outcome="applied",le="30"} 2`, `{operation="load",outcome="applied",le="+Inf"} 3`,
		`_sum{operation="load",outcome="applied"} 60.004`, "# TYPE todo_store_operation_duration_seconds histogram\n", `todo_build_info{version="a\"b\\c\nd"} 1`,
	)
}
