package metrics

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// runtime writes what the Go runtime says of itself, under the names by which
// dashboards know it.
func (p *page) runtime() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.value("go_info"+labelled([]string{"version"}, runtime.Version()), "gauge", "Always 1; the label says which version of Go built the program.", 1)
	p.value("go_goroutines", "gauge", "How many goroutines there are.", float64(runtime.NumGoroutine()))
	p.value("go_memstats_alloc_bytes_total", "counter", "Bytes of the heap ever allocated.", float64(m.TotalAlloc))
	p.value("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use, or not collected yet.", float64(m.HeapAlloc))
	p.value("go_memstats_next_gc_bytes", "gauge", "At how many bytes of the heap garbage is collected next.", float64(m.NextGC))
	p.value("go_memstats_sys_bytes", "gauge", "Bytes of memory that the runtime has from the system.", float64(m.Sys))
	p.about("go_gc_duration_seconds", "summary", "How long the program stood still to collect garbage.")
	fmt.Fprintf(p, "go_gc_duration_seconds_sum %v\ngo_gc_duration_seconds_count %d\n", time.Duration(m.PauseTotalNs).Seconds(), m.NumGC)
}

// process writes what Linux says of the process. Elsewhere, and where /proc is not to
// be read, these metrics are left out.
func (p *page) process() {
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.value("process_open_fds", "gauge", "How many file descriptors are open.", float64(len(open)-1)) // one reads the folder
	}
	if most, ok := column("/proc/self/limits", "Max open files", 0); ok {
		p.value("process_max_fds", "gauge", "How many file descriptors may be open.", most)
	}
	if pages, ok := column("/proc/self/statm", "", 1); ok {
		p.value("process_resident_memory_bytes", "gauge", "Bytes of memory of the process.", pages*float64(os.Getpagesize()))
	}
	user, ok := column("/proc/self/stat", ")", 11) // behind the name of the program
	system, _ := column("/proc/self/stat", ")", 12)
	if ok {
		const ticks = 100 // a second has, on every architecture
		p.value("process_cpu_seconds_total", "counter", "Seconds of a processor that the process took.", (user+system)/ticks)
	}
}

// column returns a number in a file of /proc: the one in a column behind the last
// occurrence of a text.
func column(path, behind string, n int) (float64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	at := bytes.LastIndex(text, []byte(behind))
	if behind == "" {
		at = 0
	}
	if at < 0 {
		return 0, false
	}
	fields := bytes.Fields(text[at+len(behind):])
	if n >= len(fields) {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(fields[n]), 64) // the word unlimited is none
	return value, err == nil
}
