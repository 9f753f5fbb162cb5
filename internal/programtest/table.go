//go:build linux

package programtest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// Long reports whether the long form of the tests runs (TODO_LONG).
func Long() bool { return os.Getenv("TODO_LONG") != "" }

// Size returns its second argument in the long form of the tests, and its first in the short form.
func Size(short, whenLong int) int {
	if Long() {
		return whenLong
	}
	return short
}

// Row is a line of the table: a fault, and its effect.
type Row struct {
	Fault, Tried, Times string
	Acknowledged, Lost  int
	Notes               string
}

// NotRun begins Row.Tried for a fault that this machine cannot cause. The fault's test passes, but the table says that
// it was not run.
const NotRun = "NOT RUN: "

func (r Row) cells() []string {
	if strings.HasPrefix(r.Tried, NotRun) {
		return []string{r.Fault, r.Tried, "", "", "", r.Notes}
	}
	return []string{r.Fault, r.Tried, r.Times, fmt.Sprint(r.Acknowledged), fmt.Sprint(r.Lost), r.Notes}
}

// Table collects the lines of all tests. The zero value is ready to use.
type Table struct {
	mu   sync.Mutex
	rows []Row
}

// Add puts a line into the table and into the test's log.
func (t *Table) Add(in testing.TB, r Row) {
	in.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
	in.Log(strings.Join(r.cells(), " · "))
}

// String returns the table as text; empty when there are no lines.
func (t *Table) String() string {
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
