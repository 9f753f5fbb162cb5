//go:build linux

package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"todo-mcp/internal/cmd/page"
)

// scenario is a row of the table: how many clients call, how, with how many items.
type scenario struct {
	transport string // "stdio", "HTTP session" or "HTTP sessionless"
	clients   int
	items     int
}

func (s scenario) String() string {
	clients := "1 client"
	if s.clients > 1 {
		clients = fmt.Sprintf("%d clients", s.clients)
	}
	return fmt.Sprintf("%s, %s, %d items", s.transport, clients, s.items)
}

func scenarios() (all []scenario) {
	for _, items := range []int{10, 50} {
		for _, transport := range []string{"HTTP session", "HTTP sessionless", "stdio"} {
			for _, clients := range []int{1, 16} {
				all = append(all, scenario{transport, clients, items})
			}
		}
	}
	return all
}

// result is what one server did in one scenario.
type result struct {
	cpu      time.Duration // a call
	rate     float64       // calls a second
	p50, p99 time.Duration
}

// warm is how many calls each client makes before it is measured.
const warm = 50

// measure lets clients call a server for a while.
func (k kind) measure(o options, s scenario) (r result, err error) {
	p, err := k.start(o, s.transport == "stdio")
	if err != nil {
		return r, err
	}
	defer p.stop()
	clients, err := s.connect(p)
	if err != nil {
		return r, fmt.Errorf("%s: %w", k.name, err)
	}
	if _, err := together(clients, func(i int) bool { return i < warm }, 0); err != nil {
		return r, fmt.Errorf("%s: %w", k.name, err)
	}
	before, err := p.cpu()
	if err != nil {
		return r, err
	}
	began := time.Now()
	took, err := together(clients, func(int) bool { return time.Since(began) < o.time }, warm)
	if err != nil {
		return r, fmt.Errorf("%s: %w", k.name, err)
	}
	lasted := time.Since(began)
	after, err := p.cpu()
	if err != nil {
		return r, err
	}
	slices.Sort(took)
	n := len(took)
	return result{cpu: (after - before) / time.Duration(n), rate: float64(n) / lasted.Seconds(), p50: took[n/2], p99: took[n*99/100]}, nil
}

func (s scenario) connect(p *process) (clients []client, err error) {
	var shared *pipe
	if s.transport == "stdio" {
		if shared, err = newPipe(p); err != nil {
			return nil, err
		}
	}
	for i := range s.clients {
		if shared != nil {
			clients = append(clients, &pipeClient{shared, i, s.items, make(chan []byte, 1)})
			continue
		}
		c, err := newHTTPClient(p, i, s.items, s.transport == "HTTP sessionless")
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// together lets all clients call, each as often as more says of the number of its
// calls, and returns how long each call took.
func together(clients []client, more func(calls int) bool, from int) (took []time.Duration, err error) {
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, c := range clients {
		work.Go(func() {
			var own []time.Duration
			var failed error
			for i := 0; more(i) && failed == nil; i++ {
				began := time.Now()
				failed = c.call(from + i)
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if failed != nil {
				err = failed
			}
		})
	}
	work.Wait()
	return took, err
}

// median returns the results' medians, one by one.
func median(all []result) result {
	at := func(less func(a, b result) int) result {
		sorted := slices.SortedFunc(slices.Values(all), less)
		return sorted[len(sorted)/2]
	}
	return result{
		cpu:  at(func(a, b result) int { return int(a.cpu - b.cpu) }).cpu,
		rate: at(func(a, b result) int { return int(a.rate - b.rate) }).rate,
		p50:  at(func(a, b result) int { return int(a.p50 - b.p50) }).p50,
		p99:  at(func(a, b result) int { return int(a.p99 - b.p99) }).p99,
	}
}

func run(o options) error {
	about, err := machine(o)
	if err != nil {
		return err
	}
	if runtime.NumCPU() > 1 {
		stayOn(0)
	}
	var rows [][]string
	for _, s := range scenarios() {
		if !strings.Contains(s.String(), o.only) {
			continue
		}
		of, err := s.rows(o)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		rows = append(rows, of...)
	}
	starts, err := startRows(o)
	if err != nil {
		return err
	}
	sections := []page.Section{
		{Name: "machine", Text: about},
		{Name: "calls", Text: page.Table([]string{"", "server", "CPU µs a call:", "of bare:", "calls/s:", "p50 ms:", "p99 ms:"}, rows)},
		{Name: "start", Text: page.Table([]string{"server", "start to initialize ms:", "of bare:", "memory MB:", "kB a session (HTTP, idle):"}, starts)},
	}
	if o.document != "" {
		return page.Write(o.document, sections)
	}
	for _, s := range sections {
		fmt.Println(s.Text)
	}
	return nil
}

// machine says when, where, with which versions and how it is measured.
func machine(o options) (string, error) {
	where, err := page.Machine()
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(o.program)
	if err != nil {
		return "", err
	}
	own, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("no build information")
	}
	version := func(path string) string {
		for _, module := range append(info.Deps, own.Deps...) {
			if module.Path == path {
				return module.Version
			}
		}
		return "?"
	}
	return fmt.Sprintf("%s, %s, mcp-go %s, Go SDK %s, modernc.org/sqlite %s; medians of %d rounds of %s.\n", where, info.GoVersion,
		version("github.com/mark3labs/mcp-go"), version("github.com/modelcontextprotocol/go-sdk"), version("modernc.org/sqlite"), o.rounds, o.time), nil
}

// rows measures all servers in one scenario, in turn.
func (s scenario) rows(o options) (rows [][]string, err error) {
	all := make([][]result, len(kinds()))
	for range o.rounds {
		for i, k := range kinds() {
			if !k.modern && s.transport == "HTTP sessionless" {
				continue
			}
			r, err := k.measure(o, s)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], r)
		}
	}
	floor := median(all[0])
	for i, k := range kinds() {
		if len(all[i]) == 0 {
			continue
		}
		r := median(all[i])
		rows = append(rows, []string{s.String(), k.name, fmt.Sprint(r.cpu.Microseconds()), fmt.Sprintf("%.2f", float64(r.cpu)/float64(floor.cpu)),
			fmt.Sprintf("%.0f", r.rate), fmt.Sprintf("%.2f", ms(r.p50)), fmt.Sprintf("%.2f", ms(r.p99))})
	}
	return rows, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// startRows measures how long each server takes from its start to the answer to
// initialize, on stdio, and its memory then and with sessions.
func startRows(o options) (rows [][]string, err error) {
	took, memory, err := starts(o)
	if err != nil {
		return nil, err
	}
	for i, k := range kinds() {
		session, err := k.session(o)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{k.name, fmt.Sprintf("%.1f", ms(took[i])), fmt.Sprintf("%.2f", float64(took[i])/float64(took[0])),
			fmt.Sprintf("%.1f", float64(memory[i])/1e6), fmt.Sprintf("%.1f", session/1e3)})
	}
	return rows, nil
}

// starts returns the medians of the times from start to initialize, by server, and
// the memory then. The servers start in turn.
func starts(o options) (medians []time.Duration, memory []int64, err error) {
	took := make([][]time.Duration, len(kinds()))
	memory = make([]int64, len(kinds()))
	for range max(15, o.rounds*10) {
		for i, k := range kinds() {
			t, m, err := k.startOnce(o)
			if err != nil {
				return nil, nil, err
			}
			took[i], memory[i] = append(took[i], t), m
		}
	}
	for _, all := range took {
		slices.Sort(all)
		medians = append(medians, all[len(all)/2])
	}
	return medians, memory, nil
}

func (k kind) startOnce(o options) (took time.Duration, memory int64, err error) {
	began := time.Now()
	p, err := k.start(o, true)
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	if _, err := newPipe(p); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	memory, err = p.memory()
	return took, memory, err
}

// session returns how many bytes a server takes for a session that does nothing. As
// many begin before, so that what waits for the collector is there already.
func (k kind) session(o options) (float64, error) {
	const sessions = 3000
	p, err := k.start(o, false)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	memory := func() (int64, error) {
		for range sessions {
			c, err := newHTTPClient(p, 0, 1, false)
			if err != nil {
				return 0, err
			}
			c.close()
		}
		return p.memory()
	}
	before, err := memory()
	if err != nil {
		return 0, err
	}
	after, err := memory()
	return float64(after-before) / sessions, err
}
