//go:build !race

// The race detector allocates as well, so `make test` runs this file without it.

package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

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

// tolerated is the factor by which a call may allocate more than the golden file says: one more allocation for each
// item is too much. The number of allocations is the same in every run; bytes vary by up to one percent.
func tolerated() cost { return cost{Allocations: 1.02, Bytes: 1.05} }

const worthwhile = 0.9

// costOf returns what a call costs. While it counts, nothing else runs and no garbage is collected: pools would
// allocate again what the collector frees.
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

var allocations = flag.Bool("allocations", false, "rewrite what a call allocates; -update leaves that, so that no more goes unseen")

// A whole call allocates no more than testdata/allocations.json says, in multiples of a call to a bare mcp-go server in
// the same run.
func TestAllocations(t *testing.T) {
	path := filepath.Join("..", "testdata", "allocations.json")
	got := make(map[string]cost)
	said := make(map[string]string)
	for _, c := range comparisons() {
		floor := costOf(c.floor(t))
		for store, at := range servertest.Stores(t) {
			name := fmt.Sprintf("%s, %s", store, c)
			own := costOf(c.own(t, at))
			got[name] = own.over(floor)
			said[name] = fmt.Sprintf("%s, bare mcp-go %s", own, floor)
		}
	}
	if *allocations {
		data := checktest.Must(json.MarshalIndent(got, "", "  "))(t)
		checktest.Check(t, os.WriteFile(path, append(data, '\n'), 0o644))
	}
	data := checktest.Must(os.ReadFile(path))(t)
	var golden map[string]cost
	if err := json.Unmarshal(data, &golden); err != nil || len(golden) != len(got) {
		t.Fatalf("%s has %d kinds of calls, want %d, %v", path, len(golden), len(got), err)
	}
	for name, is := range got {
		compareCost(t, name+" ("+said[name]+")", is, golden[name])
	}
}

func compareCost(t *testing.T, call string, is, was cost) {
	const repeat = "`go test ./server -run TestAllocations -allocations`"
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

// caller makes the n-th call with a plan that advances by one item each time, and checks the answer.
type caller func(n int)

type comparison struct {
	transport string // "stdio" or "HTTP"
	items     int
}

func comparisons() []comparison {
	return []comparison{{"stdio", 10}, {"stdio", 50}, {"HTTP", 10}, {"HTTP", 50}}
}

func (c comparison) String() string { return fmt.Sprintf("%s, %d items", c.transport, c.items) }

func (c comparison) floor(t testing.TB) caller {
	floor := servertest.Floor()
	if c.transport == "stdio" {
		return c.overPipe(t, servertest.ServePipe(t, mcpserver.NewStdioServer(floor).Listen))
	}
	return c.overHTTP(t, mcpserver.NewStreamableHTTPServer(floor))
}

func (c comparison) own(t testing.TB, store board.Store) caller {
	s := servertest.New(t, store, func(c *server.Config) { c.Publish = []string{"auto"} })
	if c.transport == "stdio" {
		return c.overPipe(t, servertest.NewPipe(t, s))
	}
	h := servertest.Handler(t, s, nil)
	t.Cleanup(h.Close)
	return c.overHTTP(t, h)
}

// calls returns a caller that uses send, which sends a message and returns the answer; the answer is valid until the
// next message.
func (c comparison) calls(t testing.TB, send func(message []byte) []byte) caller {
	messages := make([][]byte, c.items)
	for n := range messages {
		messages[n] = []byte(servertest.Call(n+1, "TodoWrite", servertest.Plan(c.items, n)))
	}
	return func(n int) {
		if answer := send(messages[n%c.items]); !bytes.Contains(answer, []byte("Todo list updated")) {
			t.Fatalf("answered %.300s", answer)
		}
	}
}

func (c comparison) overPipe(t testing.TB, p *servertest.Pipe) caller {
	var answer []byte
	go p.Send(servertest.Initialize(0, "tester"), initialized)
	p.Read()
	return c.calls(t, func(message []byte) []byte {
		answer = append(append(answer[:0], message...), '\n')
		checktest.Must(p.In.Write(answer))(t)
		answer = answer[:0]
		for {
			part, err := p.Out.ReadSlice('\n')
			if answer = append(answer, part...); err == nil {
				return answer
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				t.Fatal(err)
			}
		}
	})
}

func (c comparison) overHTTP(t testing.TB, h http.Handler) caller {
	request := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	w := httptest.NewRecorder()
	send := func(message []byte) []byte {
		r := *request
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
		w.Body.Reset()
		clear(w.Header())
		h.ServeHTTP(w, &r)
		return w.Body.Bytes()
	}
	send([]byte(servertest.Initialize(0, "tester")))
	request.Header["Mcp-Session-Id"] = []string{w.Header().Get("Mcp-Session-Id")}
	request.Header["Mcp-Protocol-Version"] = []string{servertest.Legacy}
	send([]byte(initialized))
	return c.calls(t, send)
}

// BenchmarkCall compares a whole call with one to a bare server of mcp-go.
func BenchmarkCall(b *testing.B) {
	for _, c := range comparisons() {
		bench := func(name string, call func(b *testing.B) caller) {
			b.Run(fmt.Sprint(c, "/", name), func(b *testing.B) {
				call := call(b)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					call(n)
				}
			})
		}
		bench("floor", func(b *testing.B) caller { return c.floor(b) })
		for name, store := range servertest.Stores(b) {
			bench(name, func(b *testing.B) caller { return c.own(b, store) })
		}
	}
}
