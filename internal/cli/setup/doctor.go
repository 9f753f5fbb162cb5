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

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/cli/run"
	"todo-mcp/internal/install"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// DoctorName is the command that runs also where settings are wrong, and says so.
const DoctorName = "doctor"

// Doctor looks at everything that must work, and says what to do about what does not.
func Doctor(fs *flag.FlagSet) app.Run {
	asJSON := fs.Bool("json", false, "print JSON")
	return func(ctx context.Context, a *app.App, _ []string) error { return doctor(ctx, a, *asJSON) }
}

// verdict says what a finding means to the user.
type verdict string

const (
	fine    verdict = "ok"
	remark  verdict = "note"    // nothing is wrong; something could be added
	warning verdict = "warning" // it works, but probably not as it is meant
	problem verdict = "problem" // it does not work
)

// finding is one thing that was looked at.
type finding struct {
	Topic   string  `json:"topic"`
	Verdict verdict `json:"verdict"`
	Text    string  `json:"text"`
	Cure    string  `json:"cure,omitempty"` // what to do about it
}

// report is all that was found.
type report struct {
	Version  string    `json:"version"`
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`

	topic string // of the next findings
	typed string // how this program is called here
}

// add adds a finding. A cure may be empty; a command of todo-mcp in it is told as it works
// here.
func (r *report) add(v verdict, cure, format string, args ...any) {
	cure = strings.ReplaceAll(cure, "todo-mcp ", cmp.Or(r.typed, "todo-mcp")+" ")
	r.Findings = append(r.Findings, finding{r.topic, v, fmt.Sprintf(format, args...), cure})
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

// doctor looks at everything that must work for lists to be kept and seen, and says
// what to do about what does not. A problem is an error; nothing is changed.
func doctor(ctx context.Context, a *app.App, asJSON bool) error {
	r := &report{Version: a.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if m, err := install.ThisMachine(a.Getenv); err == nil {
		r.typed = m.Typed()
	}
	for _, of := range []struct {
		topic string
		look  func(context.Context, *app.App, *report)
	}{
		{"settings", lookAtSettings}, {"store", lookAtStore}, {"panel", lookAtServing},
		{"clients", lookAtClients}, {"hooks", lookAtHooks},
	} {
		ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
		r.topic = of.topic
		of.look(ctx, a, r)
		cancel()
	}
	for _, f := range r.Findings {
		switch f.Verdict {
		case problem:
			r.Problems++
		case warning:
			r.Warnings++
		}
	}
	err := ctx.Err()
	switch {
	case err != nil:
	case asJSON:
		err = app.PrintJSON(a.Stdout, r, "  ")
	default:
		err = a.Say("%s", r.String())
	}
	if err == nil && r.Problems > 0 {
		err = fmt.Errorf("problems: %d", r.Problems)
	}
	return err
}

// String returns the report as people read it.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "todo-mcp %s (%s, %s)\n\n", r.Version, r.Go, r.Platform)
	before, marks := "", map[verdict]string{fine: "✓", remark: "·", warning: "!", problem: "✗"}
	for _, f := range r.Findings {
		topic := f.Topic
		if topic == before {
			topic = ""
		}
		before = f.Topic
		fmt.Fprintf(&b, "%s %-9s %s\n", marks[f.Verdict], topic, render.Safe(f.Text))
		if f.Cure != "" {
			fmt.Fprintf(&b, "  %-9s → %s\n", "", render.Safe(f.Cure))
		}
	}
	fmt.Fprintf(&b, "\nProblems: %d, warnings: %d.\n", r.Problems, r.Warnings)
	return b.String()
}

// maxShown is how much of a value the report shows, in characters.
const maxShown = 100

// lookAtSettings says which settings are not the defaults, where each came from, and
// which are wrong.
func lookAtSettings(_ context.Context, a *app.App, r *report) {
	for _, err := range a.Wrong {
		r.must(err, "correct it there", "")
	}
	for _, s := range a.Set {
		value := todo.Cut(s.Value, maxShown)
		if s.Secret {
			value = "…"
		}
		r.add(fine, "", "%s = %s (%s)", s.Name, value, s.From)
	}
	if len(a.Set) == 0 && a.Wrong == nil {
		r.add(fine, "", "all as by default; a config file would be %s", cmp.Or(a.File, "named by --config"))
	}
	known := []string{"TODO_CONFIG", "TODO_TOKEN"}
	for _, row := range app.NewSettings().Rows {
		known = append(known, row.Variable())
	}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "TODO_") || value == "" || slices.Contains(known, name) {
			continue
		}
		if meant := app.Nearest(name, known); meant != "" {
			r.add(warning, "did you mean "+meant+"?", "the variable %s is no setting", name)
		}
	}
}

// lookAtStore reads and writes the store. Reading the whole of it is what `check` does.
func lookAtStore(ctx context.Context, a *app.App, r *report) {
	place, err := a.Place()
	if !r.must(err, "name another by --store or TODO_STORE", "") {
		return
	}
	name := place.String(a.Getenv("HOME"))
	if place.Memory() {
		r.add(warning, "leave --store away, or name a file: --store sqlite:PATH", "in memory: lists end with the process, and no other process sees them")
		return
	}
	info, err := os.Stat(place.File)
	if place.File != "" && errors.Is(err, os.ErrNotExist) {
		if r.must(place.CheckFolder(), "", "") {
			r.add(fine, "", "%s: not there yet; the first list makes it", name)
		}
		return
	}
	began := time.Now()
	err = a.OnLists(func(lists todo.Lists) error { return lists.TryWrite(ctx) })
	cure := ""
	if errors.Is(err, context.DeadlineExceeded) {
		cure = "another program may have it locked: end it, or name another store with --store"
	}
	if !r.must(err, cure, name+": ") {
		return
	}
	r.add(fine, "", "%s: opened, read and written in %s", name, time.Since(began).Round(time.Millisecond))
	if most := a.Keep.Bytes; place.File != "" && most > 0 && info.Size() >= most/10*9 {
		r.add(warning, "`todo-mcp prune`, or a larger --max-size",
			"the file has %d MB of the %d that it may take: no new lists are begun", info.Size()/1e6, most/1e6)
	}
}

// lookAtServing looks at what `serve` needs, and who serves the panel now.
func lookAtServing(ctx context.Context, a *app.App, r *report) {
	r.must(run.CheckSignIn(a), "", "`todo-mcp serve` would not start: ")
	_, err := run.LoadTLS(a)
	r.must(err, "", "")
	url := run.Scheme(a) + "://" + a.Addr + "/"
	if a.TLSCert == "" && run.IsOwnPanel(ctx, a.Addr) {
		r.add(fine, "", "served at %s", url)
		return
	}
	l, err := net.Listen("tcp", a.Addr)
	switch {
	case err == nil:
		_ = l.Close()
		r.add(remark, "`todo-mcp serve --open`, or --panel in the command of a client", "nobody serves it now; it would be at %s", url)
	case a.TLSCert != "":
		r.add(remark, "", "something serves %s (%v)", url, err)
	default:
		r.add(warning, "end that program, or take another address with --addr or TODO_ADDR", "%s cannot be served: %v, by another program", url, err)
	}
}

// lookAtHooks says whether hooks failed lately.
func lookAtHooks(_ context.Context, a *app.App, r *report) {
	path := silentLog(a.Getenv)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) > 24*time.Hour {
		return
	}
	data, _ := os.ReadFile(path) // none of it cannot be told from no failure
	for _, line := range slices.Backward(strings.Split(string(data), "\n")) {
		if strings.Contains(line, " level=ERROR ") {
			r.add(warning, "all of it is in "+path, "the last one that failed: %s", todo.Cut(line, maxShownError))
			return
		}
	}
}
