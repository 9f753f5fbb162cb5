// Package metrics measures for Prometheus how long a server's work takes.
//
// Names follow the OpenTelemetry conventions for MCP and HTTP, spelled as in Prometheus; the server's own begin with
// todo_. No label has list content, or a value that a client made up: the number of series is bounded.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store"
)

// Metrics are the measurements of one process. They are safe for concurrent use, but all gauges must be added before
// the first scrape.
type Metrics struct {
	// MCP and HTTP measure how long answered requests took: server.Config and edge.Config take them as Observe. Store
	// measures operations of a store, as a [store.Observer].
	MCP, HTTP, Store func(took time.Duration, labels ...string)

	parts []func(*page) // each writes metrics
}

// New returns metrics that include the program's version, the Go runtime and the process.
func New(version string) *Metrics {
	m := &Metrics{parts: []func(*page){(*page).process}}
	histogram := func(name, help string, labels ...string) *histogram {
		h := &histogram{name: name, help: help, labels: labels, series: make(map[values]*series)}
		m.parts = append(m.parts, h.write)
		return h
	}
	m.MCP = histogram("mcp_server_operation_duration_seconds", "How long MCP requests took, streams until their end.",
		"error_type", "gen_ai_tool_name", "mcp_method_name", "mcp_protocol_version", "network_transport").observe
	m.HTTP = histogram("http_server_request_duration_seconds", "How long HTTP requests took, event streams aside.",
		"http_request_method", "http_response_status_code", "http_route").observe
	operations := histogram("todo_store_operation_duration_seconds", "How long the store took, by what it was asked and how that ended.", "operation", "outcome")
	m.Store = operations.observe
	m.Gauge("todo_build_info"+labelled([]string{"version"}, version), "Always 1; the label says which version runs.", func() float64 { return 1 })
	m.Gauge("go_goroutines", "How many goroutines there are.", func() float64 { return float64(runtime.NumGoroutine()) })
	// An alert notices the first write that a quota refuses only if the series existed before that write.
	operations.series[values{"update", store.Outcome(board.ErrStoreFull)}] = &series{}
	return m
}

// Gauge adds a value that is read at each scrape. The function read must not block.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.parts = append(m.parts, func(p *page) { p.value(name, "gauge", help, read()) })
}

// ServeHTTP answers a scrape, in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var text page
	for _, write := range m.parts {
		write(&text)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

type page struct{ bytes.Buffer }

// value writes a metric of one value. Its name may have labels.
func (p *page) value(name, kind, help string, value float64) {
	family, _, _ := strings.Cut(name, "{")
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %[1]s %[3]s\n%[4]s %[5]v\n", family, help, kind, name, value)
}

// bounds are the upper bounds of a histogram's buckets in seconds: the conventions' bounds, finer bounds for stores,
// and infinity last.
var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, math.Inf(1)}

// histogram counts durations for each combination of its labels' values.
type histogram struct {
	name, help string
	labels     []string
	mu         sync.Mutex
	series     map[values]*series
}

// values are the values of a histogram's labels, in the order of the labels. No histogram has more than five labels.
type values [5]string

type series struct {
	within [len(bounds)]uint64 // for each bound, how many durations are above the previous bound but not above it
	sum    float64
}

func (h *histogram) observe(took time.Duration, labels ...string) {
	var key values
	copy(key[:], labels)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series[key]
	if s == nil {
		s = &series{}
		h.series[key] = s
	}
	n, _ := slices.BinarySearch(bounds[:], took.Seconds())
	s.within[n]++
	s.sum += took.Seconds()
}

func (h *histogram) write(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %[1]s histogram\n", h.name, h.help)
	for _, key := range slices.SortedStableFunc(maps.Keys(h.series), func(a, b values) int { return slices.Compare(a[:], b[:]) }) {
		s, labels := h.series[key], labelled(h.labels, key[:]...)
		bucket, total := h.name+"_bucket"+strings.TrimSuffix(labels, "}"), uint64(0)
		for n, bound := range bounds {
			total += s.within[n]
			fmt.Fprintf(p, "%s,le=\"%v\"} %d\n", bucket, bound, total)
		}
		fmt.Fprintf(p, "%s_sum%s %v\n%[1]s_count%[2]s %[4]d\n", h.name, labels, s.sum, total)
	}
}

// labelled returns labels with their values as they follow a metric's name: {operation="find",outcome="applied"}.
func labelled(labels []string, values ...string) string {
	pairs := make([]string, len(labels))
	for n, label := range labels {
		pairs[n] = fmt.Sprintf("%s=%q", label, values[n])
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// process writes metrics of the process from Linux's /proc, and leaves out those that cannot be read.
func (p *page) process() {
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // after the program's name
		number := func(column int) float64 {
			n, _ := strconv.ParseFloat(fields[column], 64)
			return n
		}
		const ticks = 100 // ticks a second, on every architecture
		p.value("process_cpu_seconds_total", "counter", "Seconds of a processor that the process took.", (number(11)+number(12))/ticks)
		p.value("process_resident_memory_bytes", "gauge", "Bytes of memory of the process.", number(21)*float64(os.Getpagesize()))
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.value("process_open_fds", "gauge", "How many file descriptors are open.", float64(len(open)-1)) // one was open to read the folder
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	_, columns, _ := strings.Cut(string(limits), "Max open files")
	var most float64
	if n, _ := fmt.Sscan(columns, &most); n == 1 { // not for the word unlimited
		p.value("process_max_fds", "gauge", "How many file descriptors may be open.", most)
	}
}
