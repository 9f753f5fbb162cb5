package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"syscall"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Plain writes lists as lines: first those there are, the last changed first,
// then each that changes with what changed, until ctx ends or the reader of out
// goes away, both without an error. Trouble with the source is told on side.
func Plain(ctx context.Context, source Source, out, side io.Writer, o Options) error {
	asked := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f, ok := out.(*os.File); ok {
		stop := leaveWith(f, func() { cancel(nil) })
		defer stop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &plain{model: newModel(o.List), out: out, clock: o.Now}
	show := func(lists []todo.Snapshot, all bool) {
		if err := p.print(lists, all); err != nil {
			cancel(err)
		}
	}
	err := source.Follow(ctx, show, func(err error) {
		fmt.Fprintf(side, "todo-mcp: %s: reconnecting (%s)\n", o.Where, cause(err))
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if asked.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// leaveWith calls gone when nobody reads a file any more: a list may not change
// for hours, and no write would tell.
func leaveWith(f *os.File, gone func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if abandoned(f) {
					gone()
					return
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

// plain prints what the model would show.
type plain struct {
	*model
	out   io.Writer
	clock func() time.Time
}

// print writes each list that is news, with what changed in it.
func (p *plain) print(lists []todo.Snapshot, all bool) error {
	known := maps.Clone(p.lists) // show changes them
	first := !p.loaded
	p.now = p.clock()
	p.show(lists, all)
	if first && p.wanted != "" && p.opened == "" {
		if _, err := fmt.Fprintf(p.out, "No list is called %q yet; waiting for it.\n", render.Safe(p.wanted)); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, l := range lists {
		before, ok := known[l.List.ID]
		if ok && before.Revision >= l.Revision && (!all || before.Seq == l.Seq) || !p.admits(l) {
			continue
		}
		b.WriteString(p.text(before, l, ok))
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// admits reports whether a list is to be printed: the wanted one, else all that
// the viewer would show.
func (p *plain) admits(l todo.Snapshot) bool {
	if p.wanted != "" {
		return l.List.ID == p.opened
	}
	return p.current(l)
}

// text is a list as of now, under a line of when and by whom; and what changed,
// if it was known before.
func (p *plain) text(before, l todo.Snapshot, known bool) string {
	header := l.Updated.In(p.now.Location()).Format("2006-01-02 15:04:05")
	if w := writer(l.Writer); w != "" {
		header += " " + w
	}
	changes := ""
	if known {
		for line := range strings.Lines(render.Diff(before, l)) {
			changes += "  " + line
		}
	}
	return header + "\n" + changes + render.Plain(l) + "\n"
}
