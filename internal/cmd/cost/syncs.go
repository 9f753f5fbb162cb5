//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// syncs returns how often a contender asks the kernel to put a file on the disk while it writes a plan of ten steps,
// and while it advances the plan: data that is not synced may be lost in a power failure. It returns "?" without strace
// or [way.begin].
func (c contender) syncs() (synced [2]string, err error) {
	if _, err := exec.LookPath("strace"); err != nil || c.way().begin == nil {
		return [2]string{"?", "?"}, nil
	}
	dir, err := os.MkdirTemp("", "cost-*")
	if err != nil {
		return synced, err
	}
	defer os.RemoveAll(dir)
	trace := filepath.Join(dir, "syncs")
	traced := c.program
	traced.command = append([]string{"strace", "-f", "-qq", "-ttt", "-e", "trace=fsync,fdatasync,sync,syncfs,msync,sync_file_range", "-o", trace}, c.command...)
	t, err := c.way().traced(traced)
	if err != nil {
		return synced, err
	}
	data, err := os.ReadFile(trace)
	return [2]string{countSyncs(data, t.began, t.written), countSyncs(data, t.written, t.advanced)}, err
}

// traced starts a server, calls [way.timed] for ten steps and stops it.
func (w way) traced(p program) (t timing, err error) {
	running, err := p.start(unknown())
	if err != nil {
		return t, err
	}
	defer running.stop()
	return w.timed(running, 10)
}

// countSyncs counts the calls that began between two times in the output of strace, with lines such as
// `1234 1763768000.123456 fsync(12) = 0`.
func countSyncs(trace []byte, from, to time.Time) string {
	n := 0
	for line := range strings.Lines(string(trace)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.Contains(fields[2], "(") { // no call, or only the end of a call
			continue
		}
		at, err := strconv.ParseFloat(fields[1], 64)
		if seconds := func(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }; err == nil && at >= seconds(from) && at < seconds(to) {
			n++
		}
	}
	return fmt.Sprint(n)
}
