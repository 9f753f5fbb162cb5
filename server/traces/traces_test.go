package traces_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"todo-mcp/internal/store"
	"todo-mcp/internal/store/memory"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/server/traces"
)

// receiver is a collector: it receives spans as OTLP over HTTP.
type receiver struct {
	url string

	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body io.Reader = req.Body
		if req.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(req.Body)
		}
		data, err := io.ReadAll(body)
		batch := &collector.ExportTraceServiceRequest{}
		if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(data, batch) != nil {
			t.Errorf("received %s %v", req.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, batch)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// spans returns the spans received, by name, and all that was received as text.
func (r *receiver) spans() (spans map[string][]*trace.Span, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans = make(map[string][]*trace.Span)
	for _, batch := range r.requests {
		text += prototext.Format(batch)
		for _, resource := range batch.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					spans[s.Name] = append(spans[s.Name], s)
				}
			}
		}
	}
	return spans, text
}

// attributes returns attributes by name.
func attributes(list []*common.KeyValue) map[string]string {
	out := make(map[string]string)
	for _, a := range list {
		out[a.Key] = a.Value.GetStringValue()
	}
	return out
}

// traced serves a server whose traces a receiver gets, and returns its address. end
// sends what waits.
func traced(t *testing.T, r *receiver) (base string, end func()) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.url)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tr, err := traces.New(t.Context(), "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.New(t, store.Observed(memory.New(), tr.Store()), func(c *server.Config) { c.Observers = []server.Observer{tr} })
	return servertest.Serve(t, s, nil).URL, func() {
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	metaTrace   = "0af7651916cd43dd8448eb211c80319c"
	metaSpan    = "b7ad6b7169203331"
	headerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	headerSpan  = "00f067aa0ba902b7"
)

// checkSpan checks the attributes of a span, and that its status fits its error.type.
func checkSpan(t *testing.T, span *trace.Span, want map[string]string) {
	t.Helper()
	got := attributes(span.Attributes)
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s of %s is %q, want %q", name, span.Name, got[name], value)
		}
	}
	if failed := want["error.type"] != ""; failed != (span.Status.GetCode() == trace.Status_STATUS_CODE_ERROR) {
		t.Errorf("status of %s: %v", span.Name, span.Status)
	}
}

// A call has a span as the conventions for MCP say: below the one that _meta names,
// linked to that of the header, and above those of the store.
func TestSpans(t *testing.T) {
	r := newReceiver(t)
	base, end := traced(t, r)
	session := []string{"Mcp-Session-Id", servertest.Session(t, base+"/mcp", "tester"), "MCP-Protocol-Version", servertest.Legacy}
	inHeader := append(session, "traceparent", "00-"+headerTrace+"-"+headerSpan+"-01")
	call := servertest.Call(7, "TodoWrite", servertest.Todos("pending", "marker-text"))
	servertest.Post(t, base+"/mcp", servertest.WithMeta(call, `"traceparent":"00-`+metaTrace+`-`+metaSpan+`-01","tracestate":"vendor=1","baggage":"a=b"`), inHeader...)
	servertest.Post(t, base+"/mcp", servertest.Call("two", "TodoWrite", `{"todos":[{"content":"marker-text","status":"wrong"}]}`), inHeader...)
	servertest.Post(t, base+"/mcp", `{"jsonrpc":"2.0","id":8,"method":"prompts/get","params":{"name":"none"}}`, session...)
	end()
	spans, text := r.spans()
	calls := spans["tools/call TodoWrite"]
	if len(calls) != 2 || len(spans["prompts/get"]) != 1 || len(spans["initialize"]) != 1 || len(spans["store update"]) != 1 {
		t.Fatal(text)
	}
	first, second := calls[0], calls[1]
	if hex.EncodeToString(first.TraceId) != metaTrace || hex.EncodeToString(first.ParentSpanId) != metaSpan || first.TraceState != "vendor=1" ||
		len(first.Links) != 1 || hex.EncodeToString(first.Links[0].SpanId) != headerSpan || first.Kind != trace.Span_SPAN_KIND_SERVER {
		t.Errorf("the parent is that of _meta, the header's is linked: %v", first)
	}
	if hex.EncodeToString(second.TraceId) != headerTrace || hex.EncodeToString(second.ParentSpanId) != headerSpan || len(second.Links) != 0 {
		t.Errorf("without _meta the header's is the parent: %v", second)
	}
	if update := spans["store update"][0]; string(update.ParentSpanId) != string(first.SpanId) || attributes(update.Attributes)["todo.store.outcome"] != "applied" {
		t.Errorf("the update is not below its call: %v", update)
	}
	checkSpan(t, first, map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "TodoWrite", "gen_ai.operation.name": "execute_tool",
		"mcp.protocol.version": servertest.Legacy, "jsonrpc.request.id": "7", "network.transport": "tcp", "error.type": ""})
	checkSpan(t, second, map[string]string{"jsonrpc.request.id": "two", "error.type": "tool_error"})
	checkSpan(t, spans["prompts/get"][0], map[string]string{"mcp.method.name": "prompts/get", "error.type": "-32602"})
	about := attributes(r.requests[0].ResourceSpans[0].Resource.Attributes)
	if about["service.name"] != "todo-mcp" || about["service.version"] != "v1" || about["deployment.environment.name"] != "test" {
		t.Errorf("resource %v", about)
	}
	for _, secret := range []string{"marker", session[1]} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in a trace", secret)
		}
	}
}

// A context of a trace that is none is as if it were not there (BAD-INPUT 90).
func TestBadContext(t *testing.T) {
	r := newReceiver(t)
	base, end := traced(t, r)
	session := []string{"Mcp-Session-Id", servertest.Session(t, base+"/mcp", "tester"), "traceparent", "00-zz-" + strings.Repeat("x", 5000)}
	for _, parent := range []string{`"00-0-0-0"`, `7`, `{"a":1}`, `"` + strings.Repeat("f", 100_000) + `"`, `null`} {
		message := servertest.WithMeta(servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")), `"traceparent":`+parent+`,"tracestate":7,"baggage":"=;,"`)
		if status, _, body := servertest.Post(t, base+"/mcp", message, session...); status != http.StatusOK || strings.Contains(body, `"error"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	end()
	spans, _ := r.spans()
	for _, s := range spans["tools/call TodoWrite"] {
		if len(s.ParentSpanId) != 0 || len(s.Links) != 0 {
			t.Errorf("a parent out of nothing: %v", s)
		}
	}
}

// The standard variables turn traces on and off, and what is not supported is said.
func TestWanted(t *testing.T) {
	for _, c := range []struct {
		set  string
		want bool
		err  string
	}{
		{"", false, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://x", true, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x", true, ""},
		{"OTEL_TRACES_EXPORTER=otlp", true, ""},
		{"OTEL_TRACES_EXPORTER=none OTEL_EXPORTER_OTLP_ENDPOINT=http://x", false, ""},
		{"OTEL_SDK_DISABLED=true OTEL_EXPORTER_OTLP_ENDPOINT=http://x", false, ""},
		{"OTEL_SERVICE_NAME=todo", false, ""},
		{"OTEL_TRACES_EXPORTER=console", false, "OTEL_TRACES_EXPORTER"},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc", false, "http/protobuf"},
		{"OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf", true, ""},
	} {
		variables := make(map[string]string)
		for _, pair := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(pair, "=")
			variables[name] = value
		}
		got, err := traces.Wanted(func(name string) string { return variables[name] })
		if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v", c.set, got, err)
		}
	}
}
