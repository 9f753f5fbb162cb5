// Package metrics times what a server does, for Prometheus.
//
// Names follow the OpenTelemetry conventions for MCP and HTTP, in the
// spelling of Prometheus; what is the server's own begins with todo_. No label has
// a value that a client made up, so that the number of series is bounded, and none
// has anything of a list's content.
package metrics

import (
	"net/http"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store"
)

// Metrics is what is measured of one process. It is safe for concurrent use, but all
// gauges are added before the first scrape.
type Metrics struct {
	// MCP and HTTP time a request that was answered, for server.Config and edge.Config. Store
	// times an operation of a store; it is a [store.Observer].
	MCP, HTTP, Store func(took time.Duration, labels ...string)

	histograms []*histogram
	gauges     []gauge
}

// New returns metrics of a version of the program, of the Go runtime and of the process.
func New(version string) *Metrics {
	m := &Metrics{}
	histogram := func(name, help string, labels ...string) *histogram {
		h := &histogram{name: name, help: help, labels: labels, series: make(map[values]*series)}
		m.histograms = append(m.histograms, h)
		return h
	}
	m.MCP = histogram("mcp_server_operation_duration_seconds", "How long MCP requests took, streams until their end.",
		"error_type", "gen_ai_tool_name", "mcp_method_name", "mcp_protocol_version", "network_transport").observe
	m.HTTP = histogram("http_server_request_duration_seconds", "How long HTTP requests took, event streams aside.",
		"http_request_method", "http_response_status_code", "http_route").observe
	operations := histogram("todo_store_operation_duration_seconds", "How long the store took, by what it was asked and how that ended.",
		"operation", "outcome")
	m.Store = operations.observe
	m.gauges = append(m.gauges, gauge{"todo_build_info" + labelled([]string{"version"}, version), "Always 1; the label says which version runs.", func() float64 { return 1 }})
	// An alert sees the first write that a quota refuses only if there was none before.
	operations.series[values{"update", store.Outcome(board.ErrStoreFull)}] = &series{}
	return m
}

// Gauge adds a value that is read at each scrape. read must not block.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.gauges = append(m.gauges, gauge{name, help, read})
}

// ServeHTTP answers a scrape, in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var text page
	for _, h := range m.histograms {
		h.write(&text)
	}
	for _, g := range m.gauges {
		text.value(g.name, "gauge", g.help, g.read())
	}
	text.runtime()
	text.process()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}
