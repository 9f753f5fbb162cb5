//go:build !race

// The race detector allocates as well, so `make test` runs this file by itself.

package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// cost is what a call allocates; compared with the floor, how many times as much.
type cost struct {
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
}

func (c cost) String() string {
	return fmt.Sprintf("%.0f allocations, %.0f bytes", c.Allocations, c.Bytes)
}

func (c cost) over(floor cost) cost {
	two := func(x float64) float64 { return math.Round(100*x) / 100 }
	return cost{two(c.Allocations / floor.Allocations), two(c.Bytes / floor.Bytes)}
}

// tolerated is how many times as much as in the golden file a call may allocate: one
// more allocation for each item is too much. It allocates the same number in every run,
// and bytes to one percent.
func tolerated() cost { return cost{Allocations: 1.02, Bytes: 1.05} }

// worthwhile is from how many times as much on the golden file is worth lowering.
const worthwhile = 0.9

// costOf returns what a call costs. While it counts nothing else runs, and no garbage
// is collected, since what the collector frees some pools allocate again.
func costOf(call caller) cost {
	const warmUp, counted = 100, 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for n := range warmUp {
		call(n)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range counted {
		call(warmUp + n)
	}
	runtime.ReadMemStats(&after)
	return cost{float64(after.Mallocs-before.Mallocs) / counted, float64(after.TotalAlloc-before.TotalAlloc) / counted}
}

// A whole call allocates no more than it did, as a multiple of what one to a bare
// server of mcp-go allocates in the same run.
func TestAllocations(t *testing.T) {
	path := filepath.Join("..", "testdata", "allocations.json")
	got := make(map[string]cost)
	said := make(map[string]string)
	for _, c := range comparisons() {
		floor := costOf(c.floor(t))
		for store, at := range chattest.Stores(t) {
			name := fmt.Sprintf("%s, %s", store, c)
			own := costOf(c.own(t, at))
			got[name] = own.over(floor)
			said[name] = fmt.Sprintf("%s, bare mcp-go %s", own, floor)
		}
	}
	if *update {
		data := servertest.Must(json.MarshalIndent(got, "", "  "))(t)
		servertest.Check(t, os.WriteFile(path, append(data, '\n'), 0o644))
	}
	data := servertest.Must(os.ReadFile(path))(t)
	var golden map[string]cost
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) != len(got) {
		t.Fatalf("%s has %d kinds of calls, want %d, %v", path, len(golden), len(got), err)
	}
	for name, is := range got {
		compareCost(t, name+" ("+said[name]+")", is, golden[name])
	}
}

func compareCost(t *testing.T, call string, is, was cost) {
	const repeat = "`go test ./server -run TestAllocations -update`"
	for kind, of := range map[string]struct{ is, was, tolerated float64 }{
		"allocations": {is.Allocations, was.Allocations, tolerated().Allocations},
		"bytes":       {is.Bytes, was.Bytes, tolerated().Bytes},
	} {
		said := fmt.Sprintf("%s: %.2f times the %s, and %.2f in testdata/allocations.json", call, of.is, kind, of.was)
		switch {
		case of.is > of.was*of.tolerated:
			t.Errorf("%s. `go test -run '^$' -bench Call -memprofile mem.out ./server` finds what allocates; if it has to: %s", said, repeat)
		case of.is < of.was*worthwhile:
			t.Logf("%s, which can be lowered: %s", said, repeat)
		}
	}
}
