//go:build linux

package programtest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Run builds the program, sets *program to its path, runs the tests, prints the report that the tests filled, and
// returns the exit code.
func Run(m *testing.M, program *string, report *Table) (code int) {
	dir, err := os.MkdirTemp("", "todo-mcp-program-")
	if err == nil {
		defer os.RemoveAll(dir)
		*program = filepath.Join(dir, "todo-mcp")
		err = build(dir, *program)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	fmt.Print(report)
	return code
}

// Build builds the program for one test and returns its path.
func Build(t testing.TB) (program string) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "todo-mcp")
	if err := build(dir, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// build builds the program and links it at program, a path in dir. All test packages share one built file, which the go
// command does not rebuild while no source changes. TODO_PROGRAM may name another program to link instead, as in
// .ci/windows.
func build(dir, program string) error {
	// Tests may run the program as another user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if other := os.Getenv("TODO_PROGRAM"); other != "" {
		return os.Symlink(other, program)
	}
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	shared := filepath.Join(os.TempDir(), fmt.Sprintf("todo-mcp-tested-%x", sha256.Sum256(module))[:40])
	if err := os.MkdirAll(shared, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(shared, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	built := filepath.Join(shared, "todo-mcp")
	// The flags of a release, so that the tests of releases need not compile it anew.
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.version=v0", "-o", built, "github.com/todo-mcp/todo-mcp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	// A link, not a copy: for a moment nobody could run a file that this process had open for writing.
	return os.Link(built, program)
}

// Process is a running todo-mcp.
type Process struct {
	Cmd   *exec.Cmd
	In    *os.File // its standard input
	Out   *bufio.Reader
	Log   *Log // its standard error
	Ended chan struct{}
	err   error // the result of Wait; read it after Ended is closed
}

// Log keeps what a process writes to standard error.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// User is the account that a process runs as; nil is the test's own.
type User = syscall.Credential

// Start starts the program with arguments, and kills it at the end of the test. dir is its working and home folder, so
// that it finds no settings of the person who runs the tests.
func Start(t testing.TB, program, dir string, as *User, args ...string) (*Process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TODO_LOG_LEVEL=error"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	inR, inW, err1 := os.Pipe()
	outR, outW, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p := &Process{Cmd: cmd, In: inW, Out: bufio.NewReaderSize(outR, 64<<10), Log: &Log{}, Ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, p.Log
	err := cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		return nil, fmt.Errorf("start todo-mcp: %w", err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.Ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		inW.Close()
		outR.Close()
	})
	return p, nil
}

// Kill ends the process as kill -9 does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Ended
}

// Memory returns a value of the process's /proc status in bytes: VmRSS is its memory, VmHWM the highest VmRSS so far,
// and RssAnon the part of its memory that no file backs.
func (p *Process) Memory(what string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(what + `:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("no %s in %s", what, status)
	}
	kB, err := strconv.Atoi(string(found[1]))
	return kB << 10, err
}

// Terminate asks the process to end, as an operator does.
func (p *Process) Terminate() error { return p.Cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits until the process has ended by itself and returns its error. After atMost it returns another error.
func (p *Process) Wait(atMost time.Duration) error {
	select {
	case <-p.Ended:
		return p.err
	case <-time.After(atMost):
		return fmt.Errorf("it still runs after %s", atMost)
	}
}

// ErrEnded means that a process ended before it listened.
var ErrEnded = errors.New("the process ended")

// URL returns the address of a process that serves, as soon as it listens, and discards the rest of its output.
func (p *Process) URL() (url string, err error) {
	if url, err = addressIn(p.Out); err != nil {
		err = fmt.Errorf("%w: %s", ErrEnded, p.Log)
	}
	return url, err
}

// Await calls isSo again and again until it returns true. After 30 seconds it fails the test.
func Await(t testing.TB, what string, isSo func() bool) {
	t.Helper()
	late, look := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for !isSo() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("never so: %s", what)
		}
	}
}
