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

// Plain writes lists to out as plain lines: first all lists, the last changed
// first, then each list that changes, with what changed. It writes to errOut when
// the source is lost. It returns nil when ctx ends or the reader of out is gone,
// and otherwise the error of the source or of a write.
func Plain(ctx context.Context, source Source, out, errOut io.Writer, o Options) error {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f, ok := out.(*os.File); ok {
		stop := whenReaderGone(f, func() { cancel(nil) })
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
		fmt.Fprintf(errOut, "todo-mcp: %s: reconnecting (%s)\n", render.Safe(o.Where), rootCause(err))
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if parent.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// whenReaderGone polls f and calls onGone once its reader is gone, until stop: a
// list may not change for hours, and until then no write would fail.
func whenReaderGone(f *os.File, onGone func()) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if readerGone(f) {
					onGone()
					return
				}
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// plain prints the lists that the viewer would show.
type plain struct {
	*model
	out   io.Writer
	clock func() time.Time
}

// print writes each list that is new or has changed, with what changed in it.
func (p *plain) print(lists []todo.Snapshot, all bool) error {
	previous := maps.Clone(p.lists) // receiveLists changes them
	first := !p.loaded
	p.now = p.clock()
	p.receiveLists(lists, all)
	if first && p.wanted != "" && p.opened == "" {
		if _, err := fmt.Fprintf(p.out, "No list is called %q yet; waiting for it.\n", render.Safe(p.wanted)); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, l := range lists {
		before, ok := previous[l.List.ID]
		if ok && before.Revision >= l.Revision && (!all || before.Seq == l.Seq) || !p.shouldPrint(l) {
			continue
		}
		b.WriteString(p.format(before, l, ok))
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// shouldPrint reports whether to print a list: only the one the user asked for,
// or else every list that the overview would show.
func (p *plain) shouldPrint(l todo.Snapshot) bool {
	if p.wanted != "" {
		return l.List.ID == p.opened
	}
	return p.inOverview(l)
}

// format returns a list under a line with its time and writer; and, if
// seenBefore, with what changed since before.
func (p *plain) format(before, l todo.Snapshot, seenBefore bool) string {
	header := l.Updated.In(p.now.Location()).Format("2006-01-02 15:04:05")
	if w := writer(l.Writer); w != "" {
		header += " " + w
	}
	changes := ""
	if seenBefore {
		for line := range strings.Lines(render.Diff(before, l)) {
			changes += "  " + line
		}
	}
	return header + "\n" + changes + render.Plain(l) + "\n"
}
