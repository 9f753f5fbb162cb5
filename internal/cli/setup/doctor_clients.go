package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/cli/run"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/store"
)

// clientTimeout limits the time for the server of one client.
const clientTimeout = 3 * time.Second

// lookAtClients reports which clients are installed, how each reaches the server, and whether that works.
func (r *report) lookAtClients(ctx context.Context) {
	m, err := install.ThisMachine(r.Getenv)
	if err != nil {
		r.add(remark, "", "none can be looked for: %v", err)
		return
	}
	for _, c := range install.Clients() {
		ctx, cancel := context.WithTimeout(ctx, clientTimeout)
		r.lookAtClient(ctx, m, c)
		cancel()
	}
	if r.topic != "" { // nothing was added
		r.add(remark, "`todo-mcp install` names those that are known", "none is found on this machine")
	}
}

// lookAtClient reports on a client that is installed.
func (r *report) lookAtClient(ctx context.Context, m install.Machine, c install.Client) {
	s, err := c.Look(m, install.Options{})
	again := "todo-mcp install " + c.Name
	where := c.Title + ": " + s.Server.String() + " (" + m.Short(s.File) + ")"
	switch {
	case !s.Found && s.Name == "":
		return
	case err != nil:
		r.must(err, "`todo-mcp install --print --hooks "+c.Name+"` shows what is needed in it", c.Title+": ")
		return
	case c.ByHand():
		r.add(remark, again, "%s: here; its file is not read, so that nobody knows whether it has the server", c.Title)
	case s.Name == "":
		r.add(remark, again, "%s: here, without the server", c.Title)
	case s.Disabled:
		r.add(warning, "turn it on there", "%s is turned off", where)
	case s.Server.URL != "":
		r.lookAtAddress(ctx, where, s.Server.URL)
	default:
		r.lookAtCommand(ctx, m, where, again, s.Server)
	}
	switch {
	case s.Name == "" || c.Allow.Path == "":
	case s.Allowed:
		r.add(fine, "", "%s: its tools are allowed", c.Title)
	default:
		r.add(remark, again+" --allow", "%s: it asks each time before its agent writes a list", c.Title)
	}
	switch s.Hooks {
	case install.HooksPending:
		r.add(warning, "open "+c.Title+" once, and trust them", "%s: its hooks run this program, trust pending: until then none is run", c.Title)
	case install.HooksThere:
		r.add(fine, "", "%s: its hooks run this program (%s)", c.Title, strings.Join(s.Kinds, ", "))
	case install.HooksOutdated:
		flag := "--hooks"
		if len(s.Kinds) > 0 {
			flag += "=" + strings.Join(s.Kinds, ",")
		}
		r.add(warning, "todo-mcp install "+flag+" "+c.Name,
			"%s: its hooks run another program than this one, or not at every event", c.Title)
	}
}

// lookAtCommand checks the program that a client starts. If it is a todo-mcp, it starts it as the client does.
func (r *report) lookAtCommand(ctx context.Context, m install.Machine, where, again string, s install.Server) {
	path, err := m.LookPath(s.Command)
	isThis := install.IsSameFile(path, m.Executable)
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		r.add(problem, again, "%s: there is no such program", where)
	case !r.must(err, again, where+": "):
	case r.keepsElsewhere(s.Args):
		r.add(warning, "the same --store for all, or none", "%s keeps its lists in another store than the one above", where)
	case !isThis && strings.TrimSuffix(filepath.Base(path), ".exe") != "todo-mcp":
		r.add(fine, "", "%s, which was not started here", where)
	default:
		err := start(ctx, path, s.Args)
		if r.must(err, again+" --args ''", where+" does not run: ") && isThis {
			r.add(fine, "", "%s runs", where)
		} else if err == nil {
			r.add(remark, "", "%s runs; it is another file than this program", where)
		}
	}
}

// keepsElsewhere reports whether a command's arguments name another store than the settings.
func (r *report) keepsElsewhere(args []string) bool {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.ParseErrorsWhitelist.UnknownFlags = true
	value := fs.String("store", "", "")
	if fs.Parse(args) != nil || !fs.Changed("store") {
		return false
	}
	theirs, err := store.Locate(*value, r.Getenv)
	ours, ourErr := r.Place()
	return err == nil && ourErr == nil && theirs != ours
}

// lookAtAddress reports whether a todo-mcp answers at the URL that a client has.
func (r *report) lookAtAddress(ctx context.Context, where, address string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http":
		r.add(fine, "", "%s, which was not called from here", where)
	case run.IsOwnPanel(ctx, u.Host):
		r.add(fine, "", "%s: a todo-mcp answers there", where)
	default:
		r.add(problem, "`todo-mcp serve`, and let it run", "%s: no todo-mcp answers there", where)
	}
}

// start starts a server as a client does, with lists in memory, and lets it end by closed input. Its argv[0] is
// todo-mcp, whatever the file is called: as TodoWrite it would be another command.
func start(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = slices.Concat([]string{"todo-mcp"}, args, []string{"--store", "memory", "--audit-log", ""})
	_, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%w; it said: %s", err, bytes.TrimSpace(ended.Stderr))
	}
	return err
}
