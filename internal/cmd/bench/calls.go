//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// scenario is a row of the table: how many clients call, and how.
type scenario struct {
	name        string
	transport   transport
	clients     int
	isOneList   bool // all clients write the same list
	isUnnamed   bool // calls do not name their chat
	isUnchanged bool // each call repeats the list as it is
}

type transport int

const (
	onStdio transport = iota
	inSessions
	sessionless
)

var scenarios = []scenario{
	{name: "stdio, 1 chat", transport: onStdio, clients: 1},
	{name: "stdio, 1 chat, nothing changes", transport: onStdio, clients: 1, isUnchanged: true},
	{name: "HTTP session, 1 chat", transport: inSessions, clients: 1},
	{name: "HTTP session, 16 chats", transport: inSessions, clients: 16},
	{name: "HTTP sessionless, 1 chat", transport: sessionless, clients: 1},
	{name: "HTTP sessionless, 16 chats", transport: sessionless, clients: 16},
	{name: "HTTP sessionless, 16 writers on one list", transport: sessionless, clients: 16, isOneList: true},
	{name: "HTTP sessionless, 16 chats that nothing names", transport: sessionless, clients: 16, isUnnamed: true},
}

// items is how many items each plan has.
const items = 10

// calls returns the calls of one client, which repeats them in a cycle. Each has the same plan with another step in
// progress. No step is completed: where calls do not name the chat, a plan after a completed plan begins a new list.
func (s scenario) calls(client int) (all []call) {
	turn, first, name := items, 0, client
	if s.isUnchanged {
		turn = 1
	}
	if s.isOneList {
		first, name = client*7, 0
	}
	for now := range turn {
		var b strings.Builder
		for i := range items {
			status := "pending"
			if i == (now+first)%items {
				status = "in_progress"
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"content":"Step %d: change what the plan of client %d says","activeForm":"Changing what the plan of client %d says in step %d","status":%q}`, i+1, name, name, i+1, status)
		}
		all = append(all, call{[]byte(b.String()), s.meta(client)})
	}
	return all
}

// meta returns the beginning of a call's _meta, as hosts send it; [call.message] adds the rest, with the call's number.
func (s scenario) meta(client int) string {
	if s.transport != sessionless {
		return ""
	}
	meta := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},`, modern)
	switch {
	case s.isUnnamed:
	case s.isOneList:
		meta += `"todo-mcp/conversation":"all",`
	default:
		meta += fmt.Sprintf(`"todo-mcp/conversation":"client-%d",`, client)
	}
	return meta
}

// call is one write of a whole plan: its items, and the beginning of _meta.
type call struct {
	todos []byte
	meta  string
}

// message appends the call to a buffer as a message of JSON-RPC. As Claude Code does, it sends a tool use id, a new one
// with each call.
func (c call) message(to []byte, client, id int) []byte {
	to = fmt.Appendf(to, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"todos":[`, id, toolName)
	to = append(to, c.todos...)
	return fmt.Appendf(to, `]},"_meta":{%s"progressToken":%d,"claudecode/toolUseId":"toolu_%d_%d"}}}`, c.meta, id, client, id)
}

// result is the measurement of one server in one scenario.
type result struct {
	cpu      time.Duration // per call
	saves    float64       // per call
	rate     float64       // calls per second
	p50, p99 time.Duration
}

// warm is how many calls each client makes before it is measured.
const warm = 50

// measure measures a server that clients call for o.time.
func (k kind) measure(o options, s scenario) (r result, err error) {
	p, err := k.start(s.transport == onStdio)
	if err != nil {
		return r, err
	}
	defer p.stop()
	var clients []client
	for i := range s.clients {
		c, err := s.connect(p, i)
		if err != nil {
			return r, err
		}
		clients = append(clients, c)
	}
	if _, _, err := together(clients, 0, func(i int) bool { return i < warm }); err != nil {
		return r, err
	}
	before, err := p.cpu()
	if err != nil {
		return r, err
	}
	began := time.Now()
	took, unchanged, err := together(clients, warm, func(int) bool { return time.Since(began) < o.time })
	if err != nil {
		return r, err
	}
	lasted := time.Since(began)
	after, err := p.cpu()
	if err != nil {
		return r, err
	}
	slices.Sort(took)
	n := len(took)
	r = result{cpu: (after - before) / time.Duration(n), rate: float64(n) / lasted.Seconds(), p50: took[n/2], p99: took[n*99/100]}
	if k.keeps {
		r.saves = 1 - float64(unchanged)/float64(n)
	}
	return r, nil
}

// together lets all clients call at once. Each client stops when the function more returns false for its number of
// calls so far. together returns the duration of each call, and the number of answers that said “no change”.
func together(clients []client, from int, more func(calls int) bool) (took []time.Duration, unchanged int, err error) {
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, c := range clients {
		work.Go(func() {
			var own []time.Duration
			var failed error
			same := 0
			for i := 0; more(i) && failed == nil; i++ {
				began := time.Now()
				var answer []byte
				answer, failed = c.call(from + i)
				own = append(own, time.Since(began))
				if failed == nil && !bytes.Contains(answer, []byte("Todo list updated")) {
					failed = fmt.Errorf("answered %.300s", answer)
				}
				if bytes.Contains(answer, []byte("(no change)")) {
					same++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			unchanged += same
			err = errors.Join(err, failed)
		})
	}
	work.Wait()
	return took, unchanged, err
}

// rows measures all servers in one scenario, in turn, and returns a row for each.
func (s scenario) rows(o options) (rows [][]string, err error) {
	kinds := kinds(o)
	all := make([][]result, len(kinds))
	for range o.rounds {
		for i, k := range kinds {
			r, err := k.measure(o, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k.name, err)
			}
			all[i] = append(all[i], r)
		}
	}
	times := func(i, floor int) string {
		var ratios []float64
		for round, r := range all[i] {
			ratios = append(ratios, float64(r.cpu)/float64(all[floor][round].cpu))
		}
		slices.Sort(ratios)
		return fmt.Sprintf("%.2f (%.2f–%.2f)", median(ratios), ratios[0], ratios[len(ratios)-1])
	}
	for i, k := range kinds {
		of := func(f func(r result) float64) float64 {
			var values []float64
			for _, r := range all[i] {
				values = append(values, f(r))
			}
			return median(values)
		}
		row := []string{s.name, k.name, fmt.Sprintf("%.0f", of(func(r result) float64 { return float64(r.cpu.Microseconds()) })), times(i, 0), "", "",
			fmt.Sprintf("%.0f", of(func(r result) float64 { return r.rate })), fmt.Sprintf("%.2f", of(func(r result) float64 { return ms(r.p50) })), fmt.Sprintf("%.2f", of(func(r result) float64 { return ms(r.p99) }))}
		if k.keeps {
			row[4], row[5] = times(i, 1), fmt.Sprintf("%.2f", of(func(r result) float64 { return r.saves }))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
