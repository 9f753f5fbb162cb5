//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wait is an operation that a person waits for, such as a start or a hook.
type wait struct {
	name string
	once func() (time.Duration, error)
}

// startRows measures all waits, and starts of programs that do nothing, in turn. It returns a row for each.
func startRows(o options) (rows [][]string, err error) {
	folder, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	empty := filepath.Join(folder, "empty")
	source := empty + ".go"
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("go", "build", "-o", empty, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	self, _ := os.Executable()
	alone := []wait{
		{"an empty Go program", func() (time.Duration, error) { return runIn(folder, exec.Command(empty)) }},
		{"one with mcp-go and SQLite in it, which does nothing", func() (time.Duration, error) { return runIn(folder, exec.Command(self, "nothing")) }},
	}
	for n, program := range o.programs() {
		store := filepath.Join(folder, fmt.Sprintf("beside-%d", n))
		p, err := startIn(store, program, "stdio")
		if err != nil {
			return nil, err
		}
		defer p.stop()
		if err := p.writes(); err != nil {
			return nil, err
		}
		for _, w := range waits(program, filepath.Join(folder, fmt.Sprintf("alone-%d", n))) {
			w.name = named(w.name, o, program)
			alone = append(alone, w)
		}
		for _, w := range waits(program, store) {
			if strings.HasPrefix(w.name, "hook") {
				w.name = named(w.name+", beside a server", o, program)
				alone = append(alone, w)
			}
		}
	}
	took := make([][]float64, len(alone))
	for range max(15, o.rounds*10) {
		for i, w := range alone {
			t, err := w.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			took[i] = append(took[i], ms(t))
		}
	}
	for i, w := range alone {
		slices.Sort(took[i])
		n := len(took[i])
		rows = append(rows, []string{w.name, fmt.Sprintf("%.1f", took[i][n/2]), fmt.Sprintf("%.1f–%.1f", took[i][n/4], took[i][n*3/4])})
	}
	return rows, nil
}

// waits returns the operations of a program that a person waits for. The program keeps its store in a folder.
func waits(program, folder string) []wait {
	n := 0
	hook := func(event string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			n++
			c := exec.Command(program, "hook")
			c.Stdin = strings.NewReader(fmt.Sprintf(event, n%items, n))
			return runIn(folder, c)
		}
	}
	toInitialize := func(args ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			began := time.Now()
			p, err := startIn(folder, args...)
			if err != nil {
				return 0, err
			}
			defer p.stop()
			_, err = newPipeClient(p, nil)
			return time.Since(began), err
		}
	}
	self, _ := os.Executable()
	return []wait{
		{"version", func() (time.Duration, error) { return runIn(folder, exec.Command(program, "version")) }},
		{"bare mcp-go on stdio, to initialize", toInitialize(self, "bare", "stdio", folder)},
		{"stdio, to initialize", toInitialize(program, "stdio")},
		{"hook that tells of a plan", hook(`{"session_id":"s1","cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"One","status":"in_progress","activeForm":"a"},{"content":"Step %d","status":"pending","activeForm":"a"}]},"tool_response":{},"tool_use_id":"t%d"}`)},
		{"hook of a prompt, which writes what that left", hook(`{"session_id":"s1","cwd":"/tmp","hook_event_name":"UserPromptSubmit","prompt":"%d %d"}`)},
		{"hook of a step", hook(`{"session_id":"s1","cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"go test -run %d"},"tool_response":{},"tool_use_id":"u%d"}`)},
	}
}

func environ(folder string) []string {
	return append(os.Environ(), "HOME="+folder, "XDG_STATE_HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder, "XDG_RUNTIME_DIR="+folder)
}

func runIn(folder string, c *exec.Cmd) (time.Duration, error) {
	c.Env = environ(folder)
	var said bytes.Buffer
	c.Stderr = &said
	began := time.Now()
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return time.Since(began), nil
}

// startIn starts a server on stdio, with its files in a folder.
func startIn(folder string, args ...string) (p *process, err error) {
	p = &process{Cmd: exec.Command(args[0], args[1:]...)}
	p.Env = environ(folder)
	p.in, _ = p.StdinPipe()
	p.out, _ = p.StdoutPipe()
	return p, p.Start()
}

// writes connects to a server on stdio as a client and writes a plan.
func (p *process) writes() error {
	c, err := newPipeClient(p, scenarios[0].calls(0))
	if err == nil {
		_, err = c.call(0)
	}
	return err
}

// untilRest is the time from a server's last call until it is at rest.
const untilRest = 12 * time.Second

// idle returns the memory in MB of ten servers on stdio together. Each has written a list and rests. Memory that
// several processes share is divided among them (PSS).
func idle(program string) (mb float64, err error) {
	folder, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	var all []*process
	for range 10 {
		p, err := startIn(folder, program, "stdio")
		if err != nil {
			return 0, err
		}
		defer p.stop()
		if err := p.writes(); err != nil {
			return 0, err
		}
		all = append(all, p)
	}
	time.Sleep(untilRest)
	for _, p := range all {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.Process.Pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(data), "\nPss:")
		kb, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			return 0, err
		}
		mb += float64(kb) * 1024 / 1e6
	}
	return mb, nil
}
