//go:build linux

package main

import (
	"fmt"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"slices"
	"time"
)

// speeds is the time and memory that a contender takes.
type speeds struct {
	start, memory []float64 // one for each start: ms until initialize is answered, and MB then
	ten, fifty    written
	synced        [2]string // how often files are synced for a plan of ten steps, and for an update of it
}

// written has the times to write a plan and to update it, in ms, one for each run.
type written struct {
	plan, update []float64
	bytes        int // of the answers to the calls that write the plan
}

// beside measures the contenders and returns the sections that need the servers from npm.
func (m *meter) beside(own, peers string, runs int) ([]page.Section, error) {
	all, err := contenders(own, peers)
	if err != nil {
		return nil, err
	}
	measured, err := speed(all, runs)
	if err != nil {
		return nil, err
	}
	var uses []use
	var tokens, times [][]string
	for i, c := range all {
		used, err := m.use(c.program, c.way())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		uses = append(uses, used)
		tokens = append(tokens, besideCells(c.name, used))
		times = append(times, append([]string{c.name}, measured[i].cells()...))
	}
	machine, err := machine(peers, runs)
	return []page.Section{
		{Name: "conclusion-peers", Text: peersInShort(uses, measured)},
		{Name: "machine", Text: machine},
		{Name: "peers", Text: page.Table(append(append([]string{"server"}, useHead()...), "instructions:"), tokens)},
		{Name: "speed", Text: page.Table(speedHead(), times)},
	}, err
}

// besideCells returns the cells of a contender in the table of tokens.
func besideCells(name string, u use) []string {
	return append(append([]string{name}, u.cells()...), page.Number(u.instructions.tokens))
}

// peersInShort sums up the tables of contenders. The first contender is todo-mcp.
func peersInShort(uses []use, measured []speeds) string {
	var listing, session []int
	var start, memory []float64
	for i, u := range uses[1:] {
		listing = append(listing, u.listing.tokens)
		if u.session.tokens > 0 {
			session = append(session, u.session.tokens)
		}
		start = append(start, median(measured[i+1].start)/median(measured[0].start))
		memory = append(memory, median(measured[i+1].memory)/median(measured[0].memory))
	}
	return fmt.Sprintf("The other servers that were measured beside it list tools of %s to %s tokens; the same session takes %s to %s with them. They take %.0f to %.0f times as long to start and %.0f to %.0f times the memory.\n",
		page.Number(slices.Min(listing)), page.Number(slices.Max(listing)), page.Number(slices.Min(session)), page.Number(slices.Max(session)),
		slices.Min(start), slices.Max(start), slices.Min(memory), slices.Max(memory))
}

func speedHead() []string {
	return []string{"server", "start:", "memory MB:", "plan of 10:", "plan of 50:", "update of 10:", "update of 50:", "answers of 10, bytes:", "answers of 50, bytes:", "syncs, plan:", "syncs, update:"}
}

func (s speeds) cells() []string {
	cells := []string{decimal(s.start), decimal(s.memory)}
	if s.ten.bytes == 0 {
		return append(cells, slices.Repeat([]string{"–"}, len(speedHead())-3)...)
	}
	return append(cells, decimal(s.ten.plan), decimal(s.fifty.plan), decimal(s.ten.update), decimal(s.fifty.update),
		page.Number(s.ten.bytes), page.Number(s.fifty.bytes), s.synced[0], s.synced[1])
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// decimal returns the median of numbers, with a digit after the point if it is below 100.
func decimal(all []float64) string {
	if m := median(all); m < 100 {
		return fmt.Sprintf("%.1f", m)
	}
	return page.Number(int(median(all) + 0.5))
}

// speed measures the contenders in turn; runs is the number of rounds.
func speed(all []contender, runs int) ([]speeds, error) {
	measured := make([]speeds, len(all))
	for range runs {
		for i, c := range all {
			if err := measured[i].run(c); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	for i, c := range all {
		var err error
		if measured[i].synced, err = c.syncs(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return measured, nil
}

// run measures a contender once.
func (s *speeds) run(c contender) error {
	if err := s.write(c, 10, &s.ten); err != nil {
		return err
	}
	return s.write(c, 50, &s.fifty)
}

// write starts a contender and writes two plans of n steps: the first warms it up, the second is measured.
func (s *speeds) write(c contender, n int, w *written) error {
	running, err := c.start(unknown())
	if err != nil {
		return err
	}
	defer running.stop()
	bytes, err := running.memory()
	s.start, s.memory = append(s.start, ms(running.started)), append(s.memory, float64(bytes)/1e6)
	way := c.way()
	if err != nil || way.begin == nil {
		return err
	}
	t, err := way.timed(running, n)
	w.bytes, w.plan, w.update = t.bytes, append(w.plan, ms(t.written.Sub(t.began))), append(w.update, ms(t.advanced.Sub(t.written)))
	return err
}

// timing has the times before a plan was written, after it was written, and after it was advanced by a step, and the
// bytes of the answers to the writing calls.
type timing struct {
	began, written, advanced time.Time
	bytes                    int
}

// timed writes a plan to warm the server up, then writes a second plan, and advances the second by a step.
func (w way) timed(c *connection, n int) (t timing, err error) {
	if err := w.begin(c, plan(0, n)); err != nil {
		return t, err
	}
	items := plan(1, n)
	c.calls, t.began = nil, time.Now()
	if err := w.begin(c, items); err != nil {
		return t, err
	}
	t.bytes, t.written = answered(c.calls), time.Now()
	err = w.advance(c, items, 0)
	t.advanced = time.Now()
	return t, err
}

// answered returns how many bytes the answers to calls have.
func answered(calls []call) (bytes int) {
	for _, c := range calls {
		bytes += c.bytes
	}
	return bytes
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
