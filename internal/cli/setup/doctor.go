// Package setup has the commands that set clients up and look after them: install,
// uninstall, hook, token and doctor.
package setup

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
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

// mark returns the sign by which people see a verdict.
func (v verdict) mark() string {
	return map[verdict]string{fine: "✓", remark: "·", warning: "!", problem: "✗"}[v]
}

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
}

// add adds a finding. A cure may be empty.
func (r *report) add(v verdict, cure, format string, args ...any) {
	r.Findings = append(r.Findings, finding{r.topic, v, fmt.Sprintf(format, args...), cure})
}

// doctorTimeout is how long each thing may take that `doctor` looks at.
const doctorTimeout = 10 * time.Second

// doctor looks at everything that must work for lists to be kept and seen, and says
// what to do about what does not. A problem is an error; nothing is changed.
func doctor(ctx context.Context, a *app.App, asJSON bool) error {
	r := &report{Version: a.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, of := range []struct {
		topic string
		look  func(context.Context, *app.App, *report)
	}{
		{"program", lookAtProgram}, {"settings", lookAtSettings}, {"store", lookAtStore}, {"panel", lookAtServing},
		{"clients", lookAtClients}, {"hooks", lookAtHooks}, {"stdio", lookAtStdio},
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
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := printReport(a, r, asJSON); err != nil {
		return err
	}
	if r.Problems > 0 {
		return fmt.Errorf("problems: %d", r.Problems)
	}
	return nil
}

func printReport(a *app.App, r *report, asJSON bool) error {
	if asJSON {
		return app.PrintJSON(a.Stdout, r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "todo-mcp %s (%s, %s)\n\n", r.Version, r.Go, r.Platform)
	before := ""
	for _, f := range r.Findings {
		topic := f.Topic
		if topic == before {
			topic = ""
		}
		before = f.Topic
		fmt.Fprintf(&b, "%s %-9s %s\n", f.Verdict.mark(), topic, render.Safe(f.Text))
		if f.Cure != "" {
			fmt.Fprintf(&b, "  %-9s → %s\n", "", render.Safe(f.Cure))
		}
	}
	fmt.Fprintf(&b, "\nProblems: %d, warnings: %d.\n", r.Problems, r.Warnings)
	return a.Say("%s", b.String())
}
