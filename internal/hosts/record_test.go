//go:build hosts && linux

package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"todo-mcp/internal/programtest"
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
	calls        []string // the messages tools/call, prompts/get and resources/read
	methods      []string
	protocol     []string // versions that the client asked for
	client       string   // clientInfo
	capabilities string
	env          []string // variables that may name a session
	signals      []string
	servers      []string // process ids
}

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
		switch kind {
		case "env":
			name, _, _ := strings.Cut(text, "=")
			named := strings.Contains(name, "SESSION") || strings.Contains(name, "PROJECT") || strings.Contains(name, "THREAD") || strings.Contains(name, "CONVERSATION")
			if named && !slices.Contains(r.env, text) {
				r.env = append(r.env, text)
			}
		case "signal":
			r.signals = append(r.signals, pid+" "+text)
		case ">":
			r.message(text)
		}
	}
	return r
}

// message adds one message from the client.
func (r *recording) message(raw string) {
	var m struct {
		Method string
		Params struct {
			ProtocolVersion string
			ClientInfo      json.RawMessage
			Capabilities    json.RawMessage
			InputResponses  json.RawMessage            // to a question of the server
			Meta            map[string]json.RawMessage `json:"_meta"`
		}
	}
	if json.Unmarshal([]byte(raw), &m) != nil || m.Method == "" {
		return
	}
	if !slices.Contains(r.methods, m.Method) {
		r.methods = append(r.methods, m.Method)
	}
	version := m.Params.ProtocolVersion
	info, capabilities := m.Params.ClientInfo, m.Params.Capabilities
	for key, value := range m.Params.Meta {
		switch {
		case strings.HasSuffix(key, "/protocolVersion"):
			version = strings.Trim(string(value), `"`)
		case strings.HasSuffix(key, "/clientInfo"):
			info = value
		case strings.HasSuffix(key, "/clientCapabilities"):
			capabilities = value
		}
	}
	if version = m.Method + " " + version; !strings.HasSuffix(version, " ") && !slices.Contains(r.protocol, version) {
		r.protocol = append(r.protocol, version)
	}
	if info != nil {
		r.client, r.capabilities = string(info), string(capabilities)
	}
	if slices.Contains([]string{"tools/call", "prompts/get", "resources/read"}, m.Method) {
		meta := []string{m.Method}
		if m.Params.InputResponses != nil {
			meta = append(meta, "inputResponses="+string(m.Params.InputResponses))
		}
		for _, key := range slices.Sorted(maps.Keys(m.Params.Meta)) {
			if !strings.HasSuffix(key, "/clientInfo") && !strings.HasSuffix(key, "/clientCapabilities") {
				meta = append(meta, key+"="+string(m.Params.Meta[key]))
			}
		}
		r.calls = append(r.calls, strings.Join(meta, " "))
	}
}
