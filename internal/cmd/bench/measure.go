//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
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

// together lets all clients call, each as often as goOn says of the number of its
// calls, and returns how long each call took.
func together(clients []client, goOn func(calls int) bool, from int) (took []time.Duration, err error) {
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, c := range clients {
		work.Go(func() {
			var own []time.Duration
			var failed error
			for i := 0; goOn(i) && failed == nil; i++ {
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
	if _, err := os.Stat(o.program); err != nil {
		return err
	}
	if runtime.NumCPU() > 1 {
		stayOn(0)
	}
	fmt.Print("| | server | CPU µs a call | of bare | calls/s | p50 ms | p99 ms |\n|---|---|---|---|---|---|---|\n")
	for _, s := range scenarios() {
		if !strings.Contains(s.String(), o.only) {
			continue
		}
		if err := row(o, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return startTable(o)
}

// row measures all servers in one scenario, in turn.
func row(o options, s scenario) error {
	all := make([][]result, len(kinds()))
	for range o.rounds {
		for i, k := range kinds() {
			if !k.modern && s.transport == "HTTP sessionless" {
				continue
			}
			r, err := k.measure(o, s)
			if err != nil {
				return err
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
		fmt.Printf("| %s | %s | %d | %.2f | %.0f | %.2f | %.2f |\n", s, k.name, r.cpu.Microseconds(), float64(r.cpu)/float64(floor.cpu), r.rate, ms(r.p50), ms(r.p99))
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// startTable measures how long each server takes from its start to the answer to
// initialize, on stdio, and its memory then and with sessions.
func startTable(o options) error {
	fmt.Print("\n| server | start to initialize ms | of bare | memory MB | kB a session (HTTP, idle) |\n|---|---|---|---|---|\n")
	var floor time.Duration
	for i, k := range kinds() {
		took, memory, err := k.starts(o)
		if err != nil {
			return err
		}
		session, err := k.session(o)
		if err != nil {
			return err
		}
		if i == 0 {
			floor = took
		}
		fmt.Printf("| %s | %.1f | %.2f | %.1f | %.1f |\n", k.name, ms(took), float64(took)/float64(floor), float64(memory)/1e6, session/1e3)
	}
	return nil
}

// starts returns the median of the times from start to initialize, and the memory
// then.
func (k kind) starts(o options) (time.Duration, int64, error) {
	var took []time.Duration
	var memory int64
	for range max(5, o.rounds*5) {
		began := time.Now()
		p, err := k.start(o, true)
		if err != nil {
			return 0, 0, err
		}
		_, err = newPipe(p)
		took = append(took, time.Since(began))
		if err == nil {
			memory, err = p.memory()
		}
		p.stop()
		if err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(took)
	return took[len(took)/2], memory, nil
}

// session returns how many bytes a server takes for a session that does nothing.
func (k kind) session(o options) (float64, error) {
	const sessions = 2000
	p, err := k.start(o, false)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	begin := func() error {
		c, err := newHTTPClient(p, 0, 1, false)
		if err == nil {
			c.close()
		}
		return err
	}
	for range 100 {
		if err := begin(); err != nil {
			return 0, err
		}
	}
	before, err := p.memory()
	if err != nil {
		return 0, err
	}
	for range sessions {
		if err := begin(); err != nil {
			return 0, err
		}
	}
	after, err := p.memory()
	return float64(after-before) / sessions, err
}
