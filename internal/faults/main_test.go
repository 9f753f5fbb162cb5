//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// program is the path of the real binary, and report what the tests found; both
// are of one run of the tests.
var (
	program string
	report  table
)

// TestMain builds the binary, runs the tests, and prints what they found.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "todo-mcp-faults-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Other users run it too: see TestReadOnly.
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	program = filepath.Join(dir, "todo-mcp")
	build := exec.Command("go", "build", "-o", program, "todo-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	code = m.Run()
	fmt.Print(&report)
	return code, nil
}

// long reports whether the long form runs, and size returns how much of something
// the form that runs does.
func long() bool { return os.Getenv("TODO_LONG") != "" }

func size(short, whenLong int) int {
	if long() {
		return whenLong
	}
	return short
}

// row is what one fault did: a line of the table.
type row struct {
	fault, tried, times string
	acknowledged, lost  int
	notes               string
}

// notRun is the line of a fault that this machine has no means for. The test
// passes, but the table says it.
func notRun(t *testing.T, fault, why string) {
	t.Helper()
	report.add(t, row{fault: fault, tried: "NOT RUN: " + why})
}

func (r row) cells() []string {
	if strings.HasPrefix(r.tried, "NOT RUN") {
		return []string{r.fault, r.tried, "", "", "", r.notes}
	}
	return []string{r.fault, r.tried, r.times, fmt.Sprint(r.acknowledged), fmt.Sprint(r.lost), r.notes}
}

// table collects the lines of all tests. The zero value is ready to use.
type table struct {
	mu   sync.Mutex
	rows []row
}

// add puts a line into the table and into the test's log.
func (t *table) add(in *testing.T, r row) {
	in.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
	in.Log(strings.Join(r.cells(), " · "))
}

// String returns the table as text; empty when there are no lines.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	lines := [][]string{{"FAULT", "TRIED", "HOW OFTEN", "ACKNOWLEDGED", "LOST", "NOTES"}}
	for _, r := range t.rows {
		lines = append(lines, r.cells())
	}
	for _, cells := range lines {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	b.WriteString("\n")
	return b.String()
}
