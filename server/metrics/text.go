package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// page is what a scrape is answered: the text format of Prometheus.
type page struct{ bytes.Buffer }

// about begins a metric.
func (p *page) about(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// value writes a metric of one value. Its name may have labels.
func (p *page) value(name, kind, help string, value float64) {
	family, _, _ := strings.Cut(name, "{")
	p.about(family, kind, help)
	fmt.Fprintf(p, "%s %v\n", name, value)
}

// gauge is a value that is read at each scrape.
type gauge struct {
	name, help string
	read       func() float64
}

// bounds are the upper bounds of a histogram's buckets, in seconds: what the
// conventions advise, and finer ones where a store answers.
var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// histogram counts durations for each combination of its labels' values.
type histogram struct {
	name, help string
	labels     []string
	mu         sync.Mutex
	series     map[values]*series
}

// values are the values of a histogram's labels, in their order; no histogram has more.
type values [5]string

// series is what was counted for some values.
type series struct {
	within [len(bounds)]uint64 // by the lowest bound that a duration does not exceed
	count  uint64
	sum    float64
}

func newHistogram(name, help string, labels ...string) *histogram {
	return &histogram{name: name, help: help, labels: labels, series: make(map[values]*series)}
}

// observe counts a duration.
func (h *histogram) observe(took time.Duration, labels ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, seconds := h.of(labels...), took.Seconds()
	if n, _ := slices.BinarySearch(bounds[:], seconds); n < len(bounds) {
		s.within[n]++
	}
	s.count++
	s.sum += seconds
}

// of returns the series of some values, which is there from then on.
func (h *histogram) of(labels ...string) *series {
	var key values
	copy(key[:], labels)
	s := h.series[key]
	if s == nil {
		s = &series{}
		h.series[key] = s
	}
	return s
}

// write writes the histogram, each series with its buckets.
func (h *histogram) write(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.about(h.name, "histogram", h.help)
	for _, key := range slices.SortedFunc(maps.Keys(h.series), func(a, b values) int { return slices.Compare(a[:], b[:]) }) {
		s, of := h.series[key], key[:len(h.labels)]
		within, total := append(slices.Clone(h.labels), "le"), uint64(0)
		for n, bound := range bounds {
			total += s.within[n]
			fmt.Fprintf(p, "%s_bucket%s %d\n", h.name, labelled(within, append(slices.Clone(of), fmt.Sprint(bound))...), total)
		}
		fmt.Fprintf(p, "%s_bucket%s %d\n", h.name, labelled(within, append(slices.Clone(of), "+Inf")...), s.count)
		labels := labelled(h.labels, of...)
		fmt.Fprintf(p, "%s_sum%s %v\n%[1]s_count%[2]s %[4]d\n", h.name, labels, s.sum, s.count)
	}
}

// labelled returns labels with their values as they stand behind a name.
func labelled(labels []string, values ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	pairs := make([]string, len(labels))
	for n, label := range labels {
		pairs[n] = label + `="` + escape.Replace(values[n]) + `"`
	}
	return "{" + strings.Join(pairs, ",") + "}"
}
