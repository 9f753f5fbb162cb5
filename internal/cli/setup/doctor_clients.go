package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/cli/run"
	"todo-mcp/internal/install"
	"todo-mcp/internal/store"
)

// lookAtClients says which clients are here, how each reaches the server, and whether
// that works.
func lookAtClients(ctx context.Context, a *app.App, r *report) {
	m, err := install.ThisMachine(a.Getenv)
	if err != nil {
		r.add(remark, "", "none can be looked for: %v", err)
		return
	}
	var looks sync.WaitGroup
	found := make([]report, len(install.Clients()))
	for i, c := range install.Clients() {
		found[i].topic = r.topic
		looks.Go(func() { lookAtClient(ctx, a, &found[i], m, c) })
	}
	looks.Wait()
	before := len(r.Findings)
	for _, of := range found {
		r.Findings = append(r.Findings, of.Findings...)
	}
	if len(r.Findings) == before {
		r.add(remark, "`todo-mcp install --list` shows which are known", "none is found on this machine")
	}
}

// lookAtClient adds nothing to the report for a client that is not here.
func lookAtClient(ctx context.Context, a *app.App, r *report, m install.Machine, c install.Client) {
	s, err := c.Look(m, install.Options{})
	again := "todo-mcp install " + c.Name
	where := c.Title + ": " + s.Server.String() + " (" + m.Short(s.File) + ")"
	switch {
	case !s.Found && s.Name == "":
		return
	case err != nil:
		r.must(err, "correct the file; `todo-mcp install --print --hooks "+c.Name+"` shows what is needed in it", c.Title+": ")
		return
	case s.Name == "":
		r.add(remark, again, "%s: here, without the server", c.Title)
	case s.Disabled:
		r.add(warning, "turn it on there", "%s is turned off", where)
	case s.Server.URL != "":
		lookAtAddress(ctx, a, r, where, s.Server.URL)
	default:
		lookAtCommand(ctx, a, r, m, where, again, s.Server)
	}
	if s.Hooks == install.HooksOutdated {
		r.add(warning, "todo-mcp install --hooks "+c.Name, "%s: its hooks run another program than this one, or not at every event", c.Title)
	}
}

// lookAtCommand looks at the program that a client starts, and if it is a todo-mcp,
// starts it as the client does.
func lookAtCommand(ctx context.Context, a *app.App, r *report, m install.Machine, where, again string, s install.Server) {
	path, err := m.LookPath(s.Command)
	isThis := install.IsSameFile(path, m.Executable)
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		r.add(problem, again, "%s: there is no such program", where)
	case !r.must(err, again, where+": "):
	case keepsElsewhere(a, s.Args):
		r.add(warning, "the same --store for all, or none", "%s keeps its lists in another store than the one above", where)
	case !isThis && strings.TrimSuffix(filepath.Base(path), ".exe") != "todo-mcp":
		r.add(fine, "", "%s, which was not started here", where)
	default:
		server, _, err := probeStdio(ctx, a, path, s.Args, os.Environ())
		if r.must(err, again+" --args ''", where+" gives it no answer: ") && isThis {
			r.add(fine, "", "%s answers", where)
		} else if err == nil {
			r.add(remark, "", "%s answers; it is another one than this: %s", where, server)
		}
	}
}

// keepsElsewhere reports whether the arguments of a command name another store than
// the settings do.
func keepsElsewhere(a *app.App, args []string) bool {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.ParseErrorsWhitelist.UnknownFlags = true
	value := fs.String("store", "", "")
	if fs.Parse(args) != nil || !fs.Changed("store") {
		return false
	}
	theirs, err := store.Locate(*value, a.Getenv)
	ours, ourErr := a.Place()
	return err == nil && ourErr == nil && theirs != ours
}

// addressTimeout is how long the server may take that a client calls.
const addressTimeout = 3 * time.Second

// lookAtAddress makes the handshake with the server that a client calls.
func lookAtAddress(ctx context.Context, a *app.App, r *report, where, url string) {
	ctx, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	server, _, err := probeHTTP(ctx, a, url)
	var refused *net.OpError
	switch {
	case err == nil:
		r.add(fine, "", "%s: %s answers", where, server)
	case errors.Is(err, transport.ErrAuthorizationRequired):
		r.add(remark, "", "%s asks for sign-in", where)
	case errors.As(err, &refused):
		r.add(problem, "`todo-mcp serve`, and let it run", "%s: nobody answers there", where)
	case errors.Is(err, context.DeadlineExceeded):
		r.add(problem, "", "%s: no answer within %s", where, addressTimeout)
	default:
		r.must(err, "the address of a todo-mcp ends in /mcp", where+": ")
	}
}

// lookAtStdio starts this program as a client does, and writes a list in its memory.
func lookAtStdio(ctx context.Context, a *app.App, r *report) {
	self, err := os.Executable()
	if !r.must(err, "", "") {
		return
	}
	env := os.Environ()
	for _, s := range a.Set {
		env = append(env, s.Variable()+"="+s.Value)
	}
	if _, err := os.Stat(a.File); err == nil {
		env = append(env, "TODO_CONFIG="+a.File)
	}
	began := time.Now()
	server, tools, err := probeStdio(ctx, a, self, []string{"stdio"}, env)
	if r.must(err, "", "a client gets no answer: ") {
		r.add(fine, "", "%s, tools: %s; a first list took %s", server, strings.Join(tools, ", "), time.Since(began).Round(time.Millisecond))
	}
}

// maxAnswer is how much of an answer is read of a server that may be any other, in
// bytes.
const maxAnswer = 1 << 20

// boundedAnswers reads at most maxAnswer of an answer.
type boundedAnswers struct{}

func (boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxAnswer)
	}
	return res, err
}

// probeHTTP makes the handshake with a server and has it list its tools. An error
// does not show the address, whose query may be secret.
func probeHTTP(ctx context.Context, a *app.App, address string) (server string, tools []string, err error) {
	c, err := client.NewStreamableHttpClient(address,
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
		transport.WithHTTPBasicClient(&http.Client{Transport: boundedAnswers{}}))
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	server, tools, err = probe(ctx, a, c)
	if whole := (*url.Error)(nil); errors.As(err, &whole) {
		err = whole.Err
	}
	return server, tools, err
}

// probeStdio probes a process of its own, which keeps its lists in memory, and writes a list
// of one item. The process has the name todo-mcp, whatever the file is called.
func probeStdio(ctx context.Context, a *app.App, program string, args, env []string) (server string, tools []string, err error) {
	var said bytes.Buffer // complete when the client is closed
	c := client.NewClient(transport.NewStdioWithOptions(program, nil, nil,
		transport.WithCommandFunc(func(ctx context.Context, program string, _, _ []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, program)
			cmd.Args = slices.Concat([]string{"todo-mcp"}, args, []string{"--store", "memory", "--audit-log", ""})
			cmd.Env = env
			cmd.Stderr = &said
			return cmd, nil
		})))
	server, tools, err = probe(ctx, a, c)
	if err == nil {
		_, err = run.WriteTodos(ctx, c, "", run.Todo{Content: "Look after todo-mcp", ActiveForm: "Looking after todo-mcp", Status: "in_progress"})
	}
	ended := c.Close()
	if err == nil && ended != nil {
		err = fmt.Errorf("its end: %w", ended)
	}
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%w; it said: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return server, tools, err
}

// probe makes the handshake and has the server list its tools. It returns its version of MCP,
// its name and its version.
func probe(ctx context.Context, a *app.App, c *client.Client) (server string, tools []string, err error) {
	hello, err := run.Handshake(ctx, a, c, "todo-mcp doctor")
	if err != nil {
		return "", nil, fmt.Errorf("initialize: %w", err)
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return "", nil, fmt.Errorf("tools/list: %w", err)
	}
	for _, tool := range listed.Tools {
		tools = append(tools, tool.Name)
	}
	slices.Sort(tools)
	return fmt.Sprintf("%s %s (MCP %s)", hello.ServerInfo.Name, hello.ServerInfo.Version, hello.ProtocolVersion), tools, nil
}
