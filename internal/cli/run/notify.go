package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/notify"
)

// Notify sends a test notice to each address, and says what became of it.
func Notify(ctx context.Context, a *app.App, _ []string) error {
	if len(a.Notify.Targets) == 0 {
		return app.Usagef("no address: --notify or TODO_NOTIFY has them, as ntfy://ntfy.sh/TOPIC")
	}
	var failed []error
	for _, t := range a.Notify.Targets {
		if err := notify.Send(ctx, t, notify.Test()); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		} else if err := a.Say("sent to %s\n", t); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// CheckNotify returns what is wrong with the settings for notices together. Who runs a
// server for others does not come to read their lists by it.
func CheckNotify(a *app.App) error {
	if a.Notify.Texts && signsIn(a) {
		return errors.New("--notify-texts would tell what the lists of all who sign in say: leave it out")
	}
	return nil
}

// Receivers says where notices go, without secrets; empty for nowhere.
func Receivers(a *app.App) string {
	var names []string
	for _, t := range a.Notify.Targets {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// notify tells of lists in the background until end is called or ctx ends.
func (a *service) notify(ctx context.Context, lists board.Lists) error {
	if err := CheckNotify(a.App); err != nil {
		return app.UsageError{Err: err}
	}
	if len(a.Notify.Targets) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	n := notify.New(notify.Config{Lists: lists, Targets: a.Notify.Targets,
		Texts: a.Notify.Texts, Panel: a.PublicURL, Log: a.Logger()})
	var work sync.WaitGroup
	work.Go(func() { n.Run(ctx) })
	a.ends = append(a.ends, work.Wait, stop)
	return nil
}
