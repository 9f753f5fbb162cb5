package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
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

// observe counts a duration.
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
	seconds := took.Seconds()
	if n, _ := slices.BinarySearch(bounds[:], seconds); n < len(bounds) {
		s.within[n]++
	}
	s.count++
	s.sum += seconds
}

// write writes the histogram, each series with its buckets.
func (h *histogram) write(p *page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.about(h.name, "histogram", h.help)
	for _, key := range slices.SortedFunc(maps.Keys(h.series), func(a, b values) int { return slices.Compare(a[:], b[:]) }) {
		s, labels := h.series[key], labelled(h.labels, key[:]...)
		bucket, total := h.name+"_bucket"+strings.TrimSuffix(labels, "}"), uint64(0)
		for n, bound := range bounds {
			total += s.within[n]
			fmt.Fprintf(p, "%s,le=\"%v\"} %d\n", bucket, bound, total)
		}
		fmt.Fprintf(p, "%s,le=\"+Inf\"} %d\n", bucket, s.count)
		fmt.Fprintf(p, "%s_sum%s %v\n%[1]s_count%[2]s %[4]d\n", h.name, labels, s.sum, s.count)
	}
}

// labelled returns labels with their values as they stand behind a name.
func labelled(labels []string, values ...string) string {
	pairs := make([]string, len(labels))
	for n, label := range labels {
		pairs[n] = fmt.Sprintf("%s=%q", label, values[n])
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// runtime writes what the Go runtime says of itself, under the names by which
// dashboards know it.
func (p *page) runtime() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.value("go_goroutines", "gauge", "How many goroutines there are.", float64(runtime.NumGoroutine()))
	p.value("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use, or not collected yet.", float64(m.HeapAlloc))
	p.value("go_memstats_sys_bytes", "gauge", "Bytes of memory that the runtime has from the system.", float64(m.Sys))
}

// process writes what Linux says of the process. Elsewhere, and where /proc is not to
// be read, these metrics are left out.
func (p *page) process() {
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // behind the name of the program
		number := func(column int) float64 {
			n, _ := strconv.ParseFloat(fields[column], 64)
			return n
		}
		const ticks = 100 // a second has, on every architecture
		p.value("process_cpu_seconds_total", "counter", "Seconds of a processor that the process took.", (number(11)+number(12))/ticks)
		p.value("process_resident_memory_bytes", "gauge", "Bytes of memory of the process.", number(21)*float64(os.Getpagesize()))
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.value("process_open_fds", "gauge", "How many file descriptors are open.", float64(len(open)-1)) // one reads the folder
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	_, columns, _ := strings.Cut(string(limits), "Max open files")
	var most float64
	if n, _ := fmt.Sscan(columns, &most); n == 1 { // the word unlimited is none
		p.value("process_max_fds", "gauge", "How many file descriptors may be open.", most)
	}
}
