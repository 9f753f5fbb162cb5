package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Plain writes lists to out as plain lines, one an event: first how each list
// stands, the last changed first, then what changes. Each line has the time, the
// title, the progress and what happened, so that it can be searched. It writes to
// errOut when the source is lost. It returns nil when ctx ends or the reader of
// out is gone, and otherwise the error of the source or of a write.
func Plain(ctx context.Context, source Source, out, errOut io.Writer, o Options) error {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o = o.withDefaults()
	p := &plain{model: newModel(o.List), out: out, clock: o.Now}
	desk := desktop{o.Getenv, o.start}
	show := func(lists []todo.Snapshot, all bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if all {
			// Without it the lists are shown as far as they tell themselves.
			p.standings, _ = source.Standings(ctx, lists)
		}
		notices, err := p.print(lists, all)
		if err != nil {
			cancel(err)
		}
		for _, text := range notices {
			if o.Notify {
				desk.notify(ctx, text)
			}
		}
	}
	var polling sync.WaitGroup
	defer polling.Wait()
	defer cancel(nil)
	polling.Go(func() {
		const every = 200 * time.Millisecond
		for n := 1; wait(ctx, every); n++ {
			// A list may not change for hours, and until then no write would fail.
			if f, ok := out.(*os.File); ok && readerGone(f) {
				cancel(nil)
			}
			if n%int(standingEvery/every) != 0 {
				continue
			}
			if err := p.printStates(ctx, source); err != nil {
				cancel(err)
			}
		}
	})
	err := source.Follow(ctx, show, func(err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost = err
		fmt.Fprintf(errOut, "todo-mcp: %s: not live, reconnecting (%s)\n", render.Safe(o.Where), rootCause(err))
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if parent.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// wait waits, and returns false if ctx ends before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// plain prints the lists that the viewer would show.
type plain struct {
	mu sync.Mutex // guards all
	*model
	out   io.Writer
	clock func() time.Time
}

// print writes a line for each list that is new and for each change of one, and
// returns what a person wants to be told.
func (p *plain) print(lists []todo.Snapshot, all bool) (notices []string, err error) {
	previous := maps.Clone(p.lists) // receiveLists changes them
	first := !p.loaded
	p.now = p.clock()
	p.receiveLists(lists, all)
	notices = p.take().notices
	var b strings.Builder
	switch {
	case first && p.filter != "":
		fmt.Fprintf(&b, "Several lists may be meant by %q; give more of the name, or an id.\n", render.Safe(p.wanted))
	case first && p.wanted != "":
		fmt.Fprintf(&b, "No list is called %q yet; waiting for it.\n", render.Safe(p.wanted))
	}
	for _, l := range lists {
		before, known := previous[l.List.ID]
		if known && before.Revision >= l.Revision || !p.shouldPrint(l, known) {
			continue
		}
		for _, event := range p.events(before, l, known, first) {
			b.WriteString(p.line(l, event))
		}
	}
	if b.Len() > 0 {
		_, err = io.WriteString(p.out, b.String())
	}
	return notices, err
}

// printStates asks the source how the open lists stand, and writes a line for
// each that stands differently although nothing was written: its agent has left,
// came back or is idle.
func (p *plain) printStates(ctx context.Context, source Source) error {
	p.mu.Lock()
	open := p.openLists()
	p.mu.Unlock()
	standings, err := source.Standings(ctx, open)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.lost != nil {
		return nil // the source says itself when it is lost
	}
	before, known := p.familyStates(), p.standings
	p.now, p.standings = p.clock(), standings
	var b strings.Builder
	now := p.familyStates()
	for _, l := range open {
		id := l.List.ID
		if known[id].State != "" && standings[id].State != "" && now[id] != before[id] && p.shouldPrint(l, false) {
			l.Updated = p.now // the time of the line
			b.WriteString(p.line(l, string(now[id])))
		}
	}
	if b.Len() > 0 {
		_, err = io.WriteString(p.out, b.String())
	}
	return err
}

// familyStates returns how the lists stand, a main list as its family does.
func (p *plain) familyStates() map[string]todo.State {
	states := p.states(slices.Collect(maps.Values(p.lists))...)
	for _, f := range p.families() {
		states[f.Main.List.ID] = f.State()
	}
	return states
}

// shouldPrint reports whether to print a list: only the one the user asked for,
// or else every list on the board, and what takes one away from it.
func (p *plain) shouldPrint(l todo.Snapshot, known bool) bool {
	if p.wanted != "" || p.opened != "" {
		return l.List.ID == p.opened
	}
	return known || l.OnBoard(p.now) && !l.Deleted
}

// line returns the line of an event.
func (p *plain) line(l todo.Snapshot, event string) string {
	return fmt.Sprintf("%s  %s  %s  %s\n", l.Updated.In(p.now.Location()).Format("2006-01-02 15:04:05"), listName(l), progress(l), event)
}

// events says what happened to a list, or how it stands if it is new.
func (p *plain) events(before, l todo.Snapshot, known, first bool) (events []string) {
	if !known {
		word, item := "begun", todo.Item{}
		if i := focusIndex(l); i < len(l.Items) && l.Open() {
			item = l.Items[i]
		}
		if first || l.Revision > 1 {
			f := p.family(l)
			word = string(f.State())
			if _, awaited, ok := f.Waits(); ok {
				item = awaited
			}
		}
		if item.ID != "" {
			word += ": " + render.Safe(item.Title())
		}
		return []string{word}
	}
	events = append(render.Besides(before, l, p.lists[l.ReplacedBy]), render.Diff(before, l)...)
	if l.Settled() && !before.Settled() {
		events = append(events, "finished")
	}
	return events
}
