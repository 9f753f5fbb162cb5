//go:build hosts && linux

package hosts

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// The test binary is also the program that clients start as their MCP server:
// "hosts.test record FILE SERVER [ARGUMENT…]" runs the server and appends to the
// file what goes in and out, one line each: the process id of the server, a kind
// ("env", ">", "<", "signal") and a text.
const recordMode = "record"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == recordMode {
		os.Exit(record(os.Args[2], os.Args[3], os.Args[4:]))
	}
	os.Exit(programtest.Run(m, &serverFile, &programtest.Table{}))
}

// serverFile is todo-mcp, built from this worktree.
var serverFile string

func record(file, server string, args []string) int {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// If the client kills this process, Linux kills the server; it does so when
	// the thread that started it ends.
	runtime.LockOSThread()
	cmd := exec.Command(server, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	signal.Ignore(syscall.SIGPIPE) // a client that no longer reads must not end this process
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	write := func(kind, text string) { fmt.Fprintf(log, "%d %s %s\n", cmd.Process.Pid, kind, text) }
	for _, v := range os.Environ() {
		write("env", strings.ReplaceAll(v, "\n", " "))
	}
	go func() {
		for s := range signals {
			write("signal", s.String())
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		tee(in, os.Stdin, func(line string) { write(">", line) })
		write("signal", "end of input")
		_ = in.Close()
	}()
	tee(os.Stdout, out, func(line string) { write("<", line) })
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// tee copies lines and reports each before it is passed on.
func tee(to io.Writer, from io.Reader, line func(string)) {
	for r := bufio.NewReader(from); ; {
		s, err := r.ReadString('\n')
		if s != "" {
			line(strings.TrimSuffix(s, "\n"))
			_, _ = io.WriteString(to, s)
		}
		if err != nil {
			return
		}
	}
}

// recording is what one run of a client sent and did to its servers.
type recording struct {
	sent    []string // messages to the server, variables that may name a session, and signals
	servers []string // process ids
}

// naming are variables that may name a session.
var naming = regexp.MustCompile(`^[A-Z_]*(SESSION|PROJECT|THREAD|CONVERSATION)[^=]*=`)

// read returns what was recorded in a file; nothing when it does not exist.
func read(t *testing.T, file string) (r recording) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Logf("no recording: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(part) < 3 { // a line that is being written
			continue
		}
		pid, kind, text := part[0], part[1], part[2]
		if !slices.Contains(r.servers, pid) {
			r.servers = append(r.servers, pid)
		}
		if kind == "<" || kind == "env" && !naming.MatchString(text) {
			continue
		}
		if said := kind + " " + text; !slices.Contains(r.sent, said) {
			r.sent = append(r.sent, said)
		}
	}
	return r
}
