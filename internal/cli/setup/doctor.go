// Package setup has the commands that set clients up: install, uninstall, hook, token and doctor.
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
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
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

// must adds a problem if err is not nil, and reports whether it is nil.
func (r *report) must(err error, cure, what string) bool {
	if err != nil {
		r.add(problem, cure, "%s%v", what, err)
	}
	return err == nil
}

// doctorTimeout limits the time for each topic.
const doctorTimeout = 10 * time.Second

// Doctor checks all that lists depend on and says how to mend what is wrong. It returns an error if there are
// problems. It changes nothing.
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

// maxShown limits the characters that are shown of a value.
const maxShown = 100

// lookAtSettings reports settings that are not defaults, with their origin, and invalid ones.
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

// lookedAt is how many lists doctor reads, since damage is found by reading.
const lookedAt = 500

// lookAtStore reads lists and writes to the store. It does not read all of it, as `check` does.
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

// lookAtServing checks what `serve` needs, and whether it runs now.
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

// lookAtHooks reports the last failure of a hook within a day.
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
