package setup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
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
		r.add(remark, "`todo-mcp help install` names those that are known", "none is found on this machine")
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
		lookAtAddress(ctx, r, where, s.Server.URL)
	default:
		lookAtCommand(ctx, a, r, m, where, again, s.Server)
	}
	switch s.Hooks {
	case install.HooksThere:
		r.add(fine, "", "%s: its hooks run this program", c.Title)
	case install.HooksOutdated:
		r.add(warning, "todo-mcp install --hooks "+c.Name,
			"%s: its hooks run another program than this one, or not at every event", c.Title)
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
		server, err := probeStdio(ctx, path, s.Args)
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

// errSignIn is the error of a server that asks who calls.
var errSignIn = errors.New("asks for sign-in")

// lookAtAddress makes the handshake with the server that a client calls.
func lookAtAddress(ctx context.Context, r *report, where, address string) {
	ctx, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	server, err := probeHTTP(ctx, address)
	switch {
	case err == nil:
		r.add(fine, "", "%s: %s answers", where, server)
	case errors.Is(err, errSignIn):
		r.add(remark, "", "%s %v", where, err)
	default:
		r.must(err, "let `todo-mcp serve` run there; the address of a todo-mcp ends in /mcp", where+": ")
	}
}

// hello begins a handshake.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"todo-mcp doctor","version":"1"}}}` + "\n"

// maxAnswer is how much of an answer is read of a server that may be any other, in
// bytes.
const maxAnswer = 1 << 20

// probeHTTP begins the handshake with a server and returns its name and version. An error
// does not show the address, whose query may be secret.
func probeHTTP(ctx context.Context, address string) (server string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(hello))
	if err != nil {
		return "", errors.New("this is no address")
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	res, err := http.DefaultClient.Do(req)
	if whole := (*url.Error)(nil); errors.As(err, &whole) {
		return "", whole.Err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusUnauthorized {
		return "", errSignIn
	}
	server, err = readAnswer(io.LimitReader(res.Body, maxAnswer))
	return server, cmp.Or(ctx.Err(), err)
}

// probeStdio begins the handshake with a process of its own, which keeps its lists in memory,
// and returns its name and version. The process has the name todo-mcp, whatever the file is
// called.
func probeStdio(ctx context.Context, program string, args []string) (server string, err error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = slices.Concat([]string{"todo-mcp"}, args, []string{"--store", "memory", "--audit-log", ""})
	cmd.Stdin = strings.NewReader(hello)
	out, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%w; it said: %s", err, bytes.TrimSpace(ended.Stderr))
	}
	if err != nil {
		return "", err
	}
	return readAnswer(bytes.NewReader(out))
}

// readAnswer returns the name and version of a server by its answer to the handshake.
func readAnswer(in io.Reader) (server string, err error) {
	var a struct {
		Result struct {
			ServerInfo struct{ Name, Version string }
		}
		Error *struct{ Message string }
	}
	switch err := json.NewDecoder(in).Decode(&a); {
	case err == nil && a.Error != nil:
		return "", errors.New(a.Error.Message)
	case err != nil || a.Result.ServerInfo.Name == "":
		return "", errors.New("this is no answer of an MCP server")
	}
	return a.Result.ServerInfo.Name + " " + a.Result.ServerInfo.Version, nil
}
