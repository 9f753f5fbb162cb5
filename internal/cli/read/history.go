package read

import (
	"context"
	"fmt"
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
	since       time.Duration // 0 is any
}

// History shows what changed in a list.
func History(fs *flag.FlagSet) app.Run {
	var o historyOptions
	fs.BoolVar(&o.json, "json", false, "print JSON, one revision a line")
	fs.BoolVar(&o.brief, "brief", false, "one line a revision, without its changes")
	fs.DurationVar(&o.since, "since", 0, "only revisions of the last `TIME`, such as 90m or 48h")
	return func(ctx context.Context, a *app.App, args []string) error {
		return a.OnList(ctx, args, func(lists todo.Lists, list todo.Snapshot) error { return history(ctx, a, lists, list, o) })
	}
}

// history prints the revisions of a list since a time.
func history(ctx context.Context, a *app.App, lists todo.Lists, list todo.Snapshot, o historyOptions) error {
	_, line, err := standing(ctx, lists, list)
	if err != nil {
		return err
	}
	saw, err := lists.Saw(ctx, list)
	if err != nil {
		return err
	}
	if !o.json {
		if err := a.Say("%s\n%s\n\n", render.Heading(list, render.ListTitle(list)), line); err != nil {
			return err
		}
	}
	hand := account.HandOf(saw, list)
	before := todo.Snapshot{}
	for r, err := range lists.Revisions(ctx, list.List.ID, 0) {
		if err == nil && (o.since == 0 || time.Since(r.Updated) <= o.since) {
			err = printRevision(a, before, r, hand, o)
		}
		if err != nil {
			return err
		}
		before = r
	}
	return nil
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
	if o.json {
		items, order := account.Overrode(before, r)
		out := revised{ListDocument: render.Document(r), Fate: fate, Overrode: make(map[string]string), OverrodeOrder: order}
		for _, i := range items {
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
	return a.Say("%s", text)
}
