package metrics

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
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
