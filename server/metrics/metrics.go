// Package metrics counts and times what a server does, for Prometheus.
//
// Names are those of the OpenTelemetry conventions for MCP and HTTP in the
// spelling of Prometheus; what is the server's own begins with todo_. No label has
// a value that a client made up, so that the number of series is bounded, and none
// tells anything of a list's content.
package metrics

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// Metrics is what is measured of one process. It is safe for concurrent use.
type Metrics struct {
	registry   *prometheus.Registry
	operations *prometheus.HistogramVec
	requests   *prometheus.HistogramVec
	store      *prometheus.HistogramVec
}

var _ server.Observer = (*Metrics)(nil)

// buckets are upper bounds in seconds: those that the conventions advise, and finer
// ones where a store answers.
func buckets() []float64 {
	return []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
}

// New returns metrics of a version of the program, with those of the Go runtime and
// of the process.
func New(version string) *Metrics {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets()}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		operations: histogram("mcp_server_operation_duration_seconds", "How long MCP requests took, streams until their end.",
			"mcp_method_name", "gen_ai_tool_name", "error_type", "mcp_protocol_version", "network_transport"),
		requests: histogram("http_server_request_duration_seconds", "How long HTTP requests took, event streams aside.",
			"http_request_method", "http_route", "http_response_status_code"),
		store: histogram("todo_store_operation_duration_seconds", "How long the store took, by what it was asked and how that ended.",
			"operation", "outcome"),
	}
	m.registry.MustRegister(m.operations, m.requests, m.store, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Gauge("todo_build_info", "Always 1; the label says which version runs.", func() float64 { return 1 }, "version", version)
	return m
}

// Gauge adds a value that is read at each scrape, with constant labels given as name
// and value. read must not block.
func (m *Metrics) Gauge(name, help string, read func() float64, labels ...string) {
	constant := prometheus.Labels{}
	for i := 0; i+1 < len(labels); i += 2 {
		constant[labels[i]] = labels[i+1]
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: constant}, read))
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// Begin implements server.Observer.
func (m *Metrics) Begin(ctx context.Context, o *server.Operation) (context.Context, func()) {
	began := time.Now()
	return ctx, func() {
		m.operations.WithLabelValues(o.Method, o.Tool, o.ErrorType, o.Protocol, o.Transport).Observe(time.Since(began).Seconds())
	}
}

// HTTP times a request that was answered. route is the pattern that it matched,
// empty for none.
func (m *Metrics) HTTP(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(known(method), route, strconv.Itoa(status)).Observe(took.Seconds())
}

// known returns a method of HTTP that some route has, and _OTHER for all else: a
// client may send any word.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodPut, http.MethodPatch:
		return method
	}
	return "_OTHER"
}

// Store returns the observer that times a store.
func (m *Metrics) Store() store.Observer {
	// An alert sees the first write that a quota refuses only if there was none before.
	m.store.WithLabelValues("update", store.Outcome(todo.ErrStoreFull))
	return storeObserver{m.store}
}

type storeObserver struct{ took *prometheus.HistogramVec }

func (s storeObserver) Begin(ctx context.Context, operation string) (context.Context, func(error)) {
	began := time.Now()
	return ctx, func(err error) {
		s.took.WithLabelValues(operation, store.Outcome(err)).Observe(time.Since(began).Seconds())
	}
}
