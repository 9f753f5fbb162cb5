// Package setup has the commands that set clients up: install, uninstall, hook, token and doctor.
package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/cli/run"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

const (
	doctorTimeout = 10 * time.Second // for each topic
	clientTimeout = 3 * time.Second  // for the server of one client
	maxShown      = 100              // characters of a value that a finding shows
	lookedAt      = 500              // lists that doctor reads, since damage is found by reading
)

// DoctorName is the command that runs even with invalid settings, and reports them.
const DoctorName = "doctor"

// verdict is the mark before a finding.
type verdict string

const (
	fine    verdict = "✓"
	remark  verdict = "·" // all is well; something could be added
	warning verdict = "!" // works, but probably not as intended
	problem verdict = "✗" // does not work
)

// report prints findings as they are found.
type report struct {
	*app.App
	topic string // of the next finding; empty if the previous finding showed it
	typed string // how the user types the program's name
	found map[verdict]int
}

// add prints a finding, and below it a cure if there is one. Commands in the cure are shown as the user types them.
func (r *report) add(v verdict, cure, format string, args ...any) {
	r.found[v]++
	fmt.Fprintf(r.Stdout, "%s %-9s %s\n", v, r.topic, render.Safe(fmt.Sprintf(format, args...)))
	r.topic = ""
	if cure != "" {
		cure = strings.ReplaceAll(cure, "todo-mcp ", r.typed+" ")
		fmt.Fprintf(r.Stdout, "  %-9s → %s\n", "", render.Safe(cure))
	}
}

// must adds a problem if err is not nil, and reports whether err is nil.
func (r *report) must(err error, cure, what string) bool {
	if err != nil {
		r.add(problem, cure, "%s%v", what, err)
	}
	return err == nil
}

// Doctor checks all that lists depend on, says how to mend problems, and fails on problems. It edits no list or file.
func Doctor(ctx context.Context, a *app.App, _ []string) error {
	r := &report{App: a, found: make(map[verdict]int), typed: run.CalledBy(a)}
	err := a.Say("todo-mcp %s (%s, %s/%s)\n\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, of := range []struct {
		topic string
		look  func(context.Context)
	}{
		{"settings", r.lookAtSettings}, {"store", r.lookAtStore}, {"panel", r.lookAtServing},
		{"clients", r.lookAtClients}, {"hooks", r.lookAtHooks},
	} {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
		r.topic = of.topic
		of.look(ctx)
		cancel()
	}
	err = a.Say("\nProblems: %d, warnings: %d.\n", r.found[problem], r.found[warning])
	if err == nil && r.found[problem] > 0 {
		err = fmt.Errorf("problems: %d", r.found[problem])
	}
	return err
}

// lookAtSettings reports settings that are not defaults, with their origin, and invalid ones.
func (r *report) lookAtSettings(_ context.Context) {
	for _, err := range r.Wrong {
		r.must(err, "correct it there", "")
	}
	for _, s := range r.Rows {
		value := todo.Cut(s.Value, maxShown)
		if s.Secret {
			value = "…"
		}
		if s.From != "" {
			r.add(fine, "", "%s = %s (%s)", s.Name, value, s.From)
		}
	}
	if r.topic != "" { // nothing was added
		r.add(fine, "", "all have their defaults; a config file would be %s", cmp.Or(r.File, "named by --config"))
	}
}

// lookAtStore reads lists and writes to the store. Unlike `check`, it does not read the whole store.
func (r *report) lookAtStore(ctx context.Context) {
	place, err := r.Place()
	if !r.must(err, "name another by --store or TODO_STORE", "") {
		return
	}
	name := place.String(r.Getenv("HOME"))
	if place.Memory() {
		r.add(warning, "leave --store away, or name a file: --store sqlite:PATH", "in memory: lists end with the process, and no other process sees them")
		return
	}
	_, err = os.Stat(place.File)
	if place.File != "" && errors.Is(err, os.ErrNotExist) {
		if r.must(place.CheckFolder(), "", "") {
			r.add(fine, "", "%s: not there yet; the first list makes it", name)
		}
		return
	}
	began := time.Now()
	st, b, done, err := r.Open()
	if err == nil {
		defer done()
		lists := b.Everyone()
		if _, err = lists.Find(ctx, board.Query{Limit: lookedAt}); err == nil {
			err = lists.TryWrite(ctx)
		}
	}
	cure := ""
	if errors.Is(err, context.DeadlineExceeded) {
		cure = "another program may have it locked: end it, or name another store with --store"
	}
	if !r.must(err, cure, name+": ") {
		return
	}
	r.add(fine, "", "%s: opened, read and written in %s", name, time.Since(began).Round(time.Millisecond))
	if unsafe, _ := st.Unsafe(ctx); unsafe != "" {
		r.add(warning, "set it on: ALTER SYSTEM SET … and reload; docs/operations.md", "%s", unsafe)
	}
	if full := r.Filling(st.Bytes()); full != "" {
		r.add(warning, "`todo-mcp prune` removes old lists; or allow more with --max-size", "%s", full)
	}
	if damaged := st.Damaged(); len(damaged) > 0 {
		r.add(warning, app.SeeDamage, "%s damaged: %s", app.Rows(damaged), damaged[0])
	}
}

// lookAtServing checks the settings that `serve` needs, and whether a server runs now.
func (r *report) lookAtServing(ctx context.Context) {
	r.must(run.CheckSignIn(r.App), "", "`todo-mcp serve` would not start: ")
	_, err := edge.LoadCertificate(r.TLSCert, r.TLSKey, r.Logger())
	r.must(err, "", "")
	if to := run.Receivers(r.App); r.must(run.CheckNotify(r.App), "", "nobody would be notified: ") && to != "" {
		r.add(fine, "`todo-mcp notify` sends a test", "notices go to %s", to)
	}
	url := run.Scheme(r.App) + "://" + r.Addr + "/"
	if r.TLSCert == "" && run.IsOwnPanel(ctx, r.Addr) {
		r.add(fine, "", "served at %s", url)
		return
	}
	l, err := net.Listen("tcp", r.Addr)
	switch {
	case err == nil:
		_ = l.Close()
		r.add(remark, "`todo-mcp serve --open`, or --panel in the command of a client", "it is not served now; it would be at %s", url)
	case r.TLSCert != "":
		r.add(remark, "", "something serves %s (%v)", url, err)
	default:
		r.add(warning, "end that program, or choose another address with --addr or TODO_ADDR", "%s cannot be served: %v, by another program", url, err)
	}
}

// lookAtHooks reports the last failure in the log of hooks, if the log has changed within a day.
func (r *report) lookAtHooks(_ context.Context) {
	path := app.SilentLog(r.Getenv)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > 24*time.Hour {
		return
	}
	data, _ := os.ReadFile(path) // without a readable log no failure is known
	for _, line := range slices.Backward(strings.Split(string(data), "\n")) {
		if strings.Contains(line, " level=ERROR ") {
			r.add(warning, "all of it is in "+path, "the last one that failed: %s", todo.Cut(line, app.MaxShownError))
			return
		}
	}
}

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
		r.add(remark, again, "%s: found; its file is not read, so it is not known whether it has the server", c.Title)
	case s.Name == "":
		r.add(remark, again, "%s: found, without the server", c.Title)
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
		r.add(warning, again+" --hooks="+cmp.Or(strings.Join(s.Kinds, ","), "all"),
			"%s: its hooks run another program, or miss some events", c.Title)
	}
}

// lookAtCommand checks the program that a client starts, and runs it with the client's arguments if it is a todo-mcp.
func (r *report) lookAtCommand(ctx context.Context, m install.Machine, where, again string, s install.Server) {
	path, err := m.LookPath(s.Command)
	isThis := install.IsSameFile(path, m.Executable)
	switch {
	case !r.must(err, again, where+": "):
	case r.keepsElsewhere(s.Args):
		r.add(warning, "give all clients the same --store, or none", "%s keeps its lists in another store than the one above", where)
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

// start starts a server as a client does, with lists in memory. The server ends at once, since its input is empty. Its
// argv[0] is todo-mcp, whatever the file is called: under the name TodoWrite it would run that command.
func start(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = slices.Concat([]string{"todo-mcp"}, args, []string{"--store", "memory", "--audit-log", ""})
	_, err := cmd.Output()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%w; it said: %s", err, bytes.TrimSpace(ended.Stderr))
	}
	return err
}
