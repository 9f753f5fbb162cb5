//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running server.
type process struct {
	*exec.Cmd
	in     io.WriteCloser // nil over HTTP
	out    io.Reader
	base   string // the address of the MCP endpoint; empty on stdio
	folder string // removed by stop; empty if the caller removes it
}

// kind is one of the servers that are compared.
type kind struct {
	name string
	// args returns the command line of a server; at is "stdio" or an address.
	args  func(at, folder string) []string
	keeps bool // true for todo-mcp, which keeps lists
}

// kinds are the servers that are compared; the first two are the floors.
func kinds(o options) []kind {
	all := []kind{{"bare mcp-go", floor("bare"), false}, {"bare + one row", floor("row"), false}}
	for _, program := range o.programs() {
		all = append(all, kind{named("memory", o, program), own(program, func(string) string { return "memory" }), true},
			kind{named("SQLite", o, program), own(program, func(folder string) string { return "sqlite:" + filepath.Join(folder, "todo.db") }), true})
	}
	return all
}

// named returns the name of a row. For the other build, the name also has the file name of the build.
func named(name string, o options, program string) string {
	if program == o.program {
		return name
	}
	return name + ", " + filepath.Base(program)
}

func own(program string, store func(folder string) string) func(string, string) []string {
	return func(at, folder string) []string {
		flags := []string{"--store", store(folder), "--keep-revisions", "0"}
		if at == "stdio" {
			return append([]string{program, "stdio"}, flags...)
		}
		return append([]string{program, "serve", "--addr", at}, flags...)
	}
}

func floor(name string) func(string, string) []string {
	self, _ := os.Executable()
	return func(at, folder string) []string { return []string{self, name, at, folder} }
}

// start starts a server on stdio, or on a free port. The server runs on the last core alone.
func (k kind) start(stdio bool) (*process, error) {
	folder, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return nil, err
	}
	p := &process{folder: folder}
	at := "stdio"
	if !stdio {
		if at, err = freeAddress(); err != nil {
			return nil, err
		}
		p.base = "http://" + at + "/mcp"
	}
	args := k.args(at, folder)
	p.Cmd = exec.Command(args[0], args[1:]...)
	p.Env = append(os.Environ(), "XDG_STATE_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	if stdio {
		p.in, _ = p.StdinPipe()
		p.out, _ = p.StdoutPipe()
	}
	if err := onCore(lastCore(), p.Start); err != nil {
		return nil, err
	}
	if !stdio {
		err = p.await()
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", k.name, err)
	}
	return p, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await waits until the server answers over HTTP.
func (p *process) await() error {
	for range 1000 {
		res, err := http.Get(p.base)
		if err == nil {
			res.Body.Close()
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("it does not listen")
}

func (p *process) stop() {
	_ = p.Process.Kill()
	_ = p.Wait()
	if p.folder != "" {
		os.RemoveAll(p.folder)
	}
}

// cpu returns the CPU time that the server has used so far.
func (p *process) cpu() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Process.Pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("no threads of %d: %w", p.Process.Pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended; that is rare, since Go keeps threads
		}
		ran, err := strconv.ParseInt(string(bytes.Fields(data)[0]), 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}

// cores are the cores on which this process could run when it began.
var cores = func() (all unix.CPUSet) {
	_ = unix.SchedGetaffinity(0, &all)
	return all
}()

// lastCore returns the number of the last core.
func lastCore() int {
	last := 0
	for n := range 1024 {
		if cores.IsSet(n) {
			last = n
		}
	}
	return last
}

// onCore calls start on one core. A process that the function start begins runs only on that core.
func onCore(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	set.Set(core)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	err := start()
	return errors.Join(err, unix.SchedSetaffinity(0, &before))
}

// stayOn restricts this process to one core.
func stayOn(core int) {
	var set unix.CPUSet
	set.Set(core)
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		if id, err := strconv.Atoi(filepath.Base(thread)); err == nil {
			_ = unix.SchedSetaffinity(id, &set)
		}
	}
}
