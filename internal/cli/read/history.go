package read

import (
	"context"
	"fmt"
	"io"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/account"
	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// historyOptions are the flags of `history`.
type historyOptions struct {
	json, brief bool
	since       string
}

func History(fs *flag.FlagSet) func(context.Context, *app.App, []string) error {
	var o historyOptions
	fs.BoolVar(&o.json, "json", false, "print JSON, one revision a line")
	fs.BoolVar(&o.brief, "brief", false, "one line a revision, without its changes")
	fs.StringVar(&o.since, "since", "", "only revisions since a `TIME`: 2h, 2026-11-20 or as in RFC 3339")
	return func(ctx context.Context, a *app.App, args []string) error {
		since, err := parseSince(o.since, time.Now())
		if err != nil {
			return err
		}
		return a.OnList(ctx, args, func(lists todo.Lists, list todo.Snapshot) error { return history(ctx, a, lists, list, since, o) })
	}
}

// history prints the revisions of a list since a time.
func history(ctx context.Context, a *app.App, lists todo.Lists, list todo.Snapshot, since time.Time, o historyOptions) error {
	if err := printTitle(ctx, a, lists, list, o); err != nil {
		return err
	}
	saw, err := lists.Saw(ctx, list)
	if err != nil {
		return err
	}
	hand := account.HandOf(saw, list)
	before, shown := todo.Snapshot{}, 0
	for r, err := range lists.Revisions(ctx, list.List.ID, 0) {
		if err != nil {
			return err
		}
		if !r.Updated.Before(since) {
			shown++
			if err := printRevision(a, before, r, hand, o); err != nil {
				return err
			}
		}
		before = r
	}
	switch {
	case o.json:
		return nil
	case shown == 0:
		_, err := fmt.Fprintf(a.Stdout, "Nothing changed since then; the last change was %s.\n", list.Updated.Local().Format(time.DateTime))
		return err
	case o.brief:
		return nil
	}
	return printDurations(a, list)
}

// printTitle prints what history is of: the list's title, its counts and how it
// stands.
func printTitle(ctx context.Context, a *app.App, lists todo.Lists, list todo.Snapshot, o historyOptions) error {
	if o.json {
		return nil
	}
	family, err := familyOf(ctx, lists, list)
	if err != nil {
		return err
	}
	line, err := standing(ctx, lists, &family)
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s\n%s\n\n", render.Heading(list, render.ListTitle(list)), line)
	}
	return err
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

// revised is a revision as JSON with what a person had to do with it.
type revised struct {
	render.ListDocument
	Fate account.Fate `json:"fate,omitempty"` // what became of it, if a person made it
	// Overrode has what of a person's an agent overrode with it: items, by id with the
	// person's text, and whether it overrode the order.
	Overrode      map[string]string `json:"overrode,omitempty"`
	OverrodeOrder bool              `json:"overrode_order,omitempty"`
}

// printRevision prints one revision; before is the revision before it, from
// which it differs, and hand what became of what people changed.
func printRevision(a *app.App, before, r todo.Snapshot, hand account.Hand, o historyOptions) error {
	var fate account.Fate
	if account.Told(before, r) {
		fate = hand.OfRevision(r.Revision)
	}
	items, order := account.Overrode(before, r)
	if o.json {
		out := revised{ListDocument: render.Document(r), Fate: fate, OverrodeOrder: order}
		for _, i := range items {
			if out.Overrode == nil {
				out.Overrode = make(map[string]string)
			}
			out.Overrode[i.ID] = i.Hand.Text
		}
		return app.PrintLine(a.Stdout, out)
	}
	by := render.Writer(r.Writer, render.Client(r.Writer.Client), render.Client(r.Writer.Client))
	if r.Writer.Variant != "" {
		by += " " + render.Safe(r.Writer.Variant)
	}
	for _, note := range []string{string(fate), render.AgainstHand(before, r)} {
		if note != "" {
			by += "  " + note
		}
	}
	text := fmt.Sprintf("revision %d  %s  %s\n", r.Revision, r.Updated.Local().Format(time.DateTime), by)
	if !o.brief {
		for _, line := range append(render.Besides(before, r), render.Diff(before, r)...) {
			text += "  " + line + "\n"
		}
		text += "\n"
	}
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// printDurations prints how long each item took, or has been in progress so
// far. Items that were never in progress are left out.
func printDurations(a *app.App, list todo.Snapshot) error {
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
