package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// historyOptions are the flags of `history`.
type historyOptions struct {
	json, diff, durations bool
	since                 string
}

func historyFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	var o historyOptions
	fs.BoolVar(&o.json, "json", false, "print JSON, one revision a line")
	fs.BoolVar(&o.diff, "diff", true, "show what changed in each revision")
	fs.BoolVar(&o.durations, "durations", true, "show how long each item took")
	fs.StringVar(&o.since, "since", "", "only revisions since then: 2h, 2026-11-20 or an RFC 3339 time")
	return func(ctx context.Context, a *app, args []string) error { return a.history(ctx, args, o) }
}

func (a *app) history(ctx context.Context, args []string, o historyOptions) error {
	since, err := parseSince(o.since, time.Now())
	if err != nil {
		return err
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	list, err := a.findList(ctx, lists, args)
	if err != nil {
		return err
	}
	before := todo.Snapshot{}
	for r, err := range lists.Revisions(ctx, list.List.ID, 0) {
		if err != nil {
			return err
		}
		if !r.Updated.Before(since) {
			if err := a.printRevision(before, r, o); err != nil {
				return err
			}
		}
		before = r
	}
	if o.json || !o.durations {
		return nil
	}
	return a.printDurations(list)
}

// parseSince returns the time that text means: now minus a duration, the start
// of a day in now's location, or an RFC 3339 time. It returns the zero time for
// "".
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("--since %q: must be a duration (2h), a day (2026-11-20) or an RFC 3339 time", text)
	}
	return t, nil
}

// printRevision prints one revision; before is the revision before it, from
// which it differs.
func (a *app) printRevision(before, r todo.Snapshot, o historyOptions) error {
	if o.json {
		return printLine(a.Stdout, render.Document(r))
	}
	by := render.Safe(r.Writer.Client)
	if r.Writer.Variant != "" {
		by += " " + render.Safe(r.Writer.Variant)
	}
	text := fmt.Sprintf("revision %d  %s  %s\n", r.Revision, r.Updated.Local().Format("2006-01-02 15:04:05"), by)
	if o.diff {
		text += indent(render.Diff(before, r)) + "\n"
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// printDurations prints how long each item took, or has been in progress so
// far. Items that were never in progress are left out.
func (a *app) printDurations(list todo.Snapshot) error {
	text := ""
	for _, i := range list.Items {
		switch {
		case i.Started.IsZero():
		case !i.Ended.IsZero():
			text += fmt.Sprintf("  %s  %s\n", render.Took(i.Ended.Sub(i.Started)), render.Safe(i.Text))
		case i.Status == todo.InProgress:
			text += fmt.Sprintf("  %s so far  %s\n", render.Took(time.Since(i.Started)), render.Safe(i.ActiveText()))
		}
	}
	if text == "" {
		return nil
	}
	_, err := io.WriteString(a.Stdout, "took\n"+text)
	return err
}
