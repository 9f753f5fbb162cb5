// Package setup has the commands that set clients up and look after them: install,
// uninstall, hook, token and doctor.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/cli/run"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// DoctorName is the command that runs also where settings are wrong, and says so.
const DoctorName = "doctor"

// verdict says what a finding means to the user, by the mark before it.
type verdict string

const (
	fine    verdict = "✓"
	remark  verdict = "·" // nothing is wrong; something could be added
	warning verdict = "!" // it works, but probably not as it is meant
	problem verdict = "✗" // it does not work
)

// report prints what is found, as it is found.
type report struct {
	*app.App
	topic string // of the next finding; empty if the one before has it
	typed string // how this program is called here
	found map[verdict]int
}

// add prints a finding. A cure, which says what to do about it, may be empty; a command of
// todo-mcp in it is told as it works here.
func (r *report) add(v verdict, cure, format string, args ...any) {
	r.found[v]++
	fmt.Fprintf(r.Stdout, "%s %-9s %s\n", v, r.topic, render.Safe(fmt.Sprintf(format, args...)))
	r.topic = ""
	if cure != "" {
		cure = strings.ReplaceAll(cure, "todo-mcp ", cmp.Or(r.typed, "todo-mcp")+" ")
		fmt.Fprintf(r.Stdout, "  %-9s → %s\n", "", render.Safe(cure))
	}
}

// must adds a problem if there is an error, and reports whether there is none.
func (r *report) must(err error, cure, what string) bool {
	if err != nil {
		r.add(problem, cure, "%s%v", what, err)
	}
	return err == nil
}

// doctorTimeout is how long each thing may take that `doctor` looks at.
const doctorTimeout = 10 * time.Second

// Doctor looks at everything that must work for lists to be kept and seen, and says
// what to do about what does not. A problem is an error; nothing is changed.
func Doctor(ctx context.Context, a *app.App, _ []string) error {
	r := &report{App: a, found: make(map[verdict]int)}
	if m, err := install.ThisMachine(a.Getenv); err == nil {
		r.typed = m.Typed()
	}
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

// maxShown is how much of a value the report shows, in characters.
const maxShown = 100

// lookAtSettings says which settings are not the defaults, where each came from, and
// which are wrong.
func (r *report) lookAtSettings(_ context.Context) {
	for _, err := range r.Wrong {
		r.must(err, "correct it there", "")
	}
	for _, s := range r.Set {
		value := todo.Cut(s.Value, maxShown)
		if s.Secret {
			value = "…"
		}
		r.add(fine, "", "%s = %s (%s)", s.Name, value, s.From)
	}
	if len(r.Set) == 0 && r.Wrong == nil {
		r.add(fine, "", "all as by default; a config file would be %s", cmp.Or(r.File, "named by --config"))
	}
}

// tryStore writes the store, and reads the last lists.
func (r *report) tryStore(ctx context.Context, lists board.Lists) error {
	err := app.IsReadable(lists, r.Request)
	if err == nil {
		err = lists.TryWrite(ctx)
	}
	if err == nil {
		_, err = lists.Find(ctx, board.Query{Limit: lookedAt})
	}
	return err
}

// lookedAt is how many lists doctor reads.
const lookedAt = 500

// lookAtStore reads and writes the store. Reading the whole of it is what `check` does.
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
		err = r.tryStore(ctx, b.Everyone())
	}
	cure := ""
	if errors.Is(err, context.DeadlineExceeded) {
		cure = "another program may have it locked: end it, or name another store with --store"
	}
	if !r.must(err, cure, name+": ") {
		return
	}
	r.add(fine, "", "%s: opened, read and written in %s", name, time.Since(began).Round(time.Millisecond))
	if unsafe := app.Unsafe(ctx, st); unsafe != "" {
		r.add(warning, "set it on: ALTER SYSTEM SET … and reload; docs/operations.md", "%s", unsafe)
	}
	if full := r.Filling(st.Bytes()); full != "" {
		r.add(warning, "`todo-mcp prune` removes old lists; or allow more with --max-size", "%s", full)
	}
	if damaged := st.Damaged(); len(damaged) > 0 {
		r.add(warning, app.SeeDamage, "%s damaged: %s", app.Rows(damaged), damaged[0])
	}
}

// lookAtServing looks at what `serve` needs, and who serves the panel now.
func (r *report) lookAtServing(ctx context.Context) {
	r.must(run.CheckSignIn(r.App), "", "`todo-mcp serve` would not start: ")
	_, err := run.LoadTLS(r.App)
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
		r.add(remark, "`todo-mcp serve --open`, or --panel in the command of a client", "nobody serves it now; it would be at %s", url)
	case r.TLSCert != "":
		r.add(remark, "", "something serves %s (%v)", url, err)
	default:
		r.add(warning, "end that program, or take another address with --addr or TODO_ADDR", "%s cannot be served: %v, by another program", url, err)
	}
}

// lookAtHooks says whether hooks failed lately.
func (r *report) lookAtHooks(_ context.Context) {
	path := app.SilentLog(r.Getenv)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > 24*time.Hour {
		return
	}
	data, _ := os.ReadFile(path) // none of it cannot be told from no failure
	for _, line := range slices.Backward(strings.Split(string(data), "\n")) {
		if strings.Contains(line, " level=ERROR ") {
			r.add(warning, "all of it is in "+path, "the last one that failed: %s", todo.Cut(line, app.MaxShownError))
			return
		}
	}
}
