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
	p := &plain{session: newSession(source, o), out: out}
	show := func(ctx context.Context, lists []todo.Snapshot, all bool) {
		var standings map[string]Standing
		if all {
			// Without it the lists are shown as far as they tell themselves.
			standings, _ = source.Standings(ctx, lists)
		}
		p.update(ctx, func() {
			if all {
				p.standings = standings
			}
			p.print(lists, all)
		})
	}
	lost := func(err error) {
		p.lose(err)
		fmt.Fprintf(errOut, "todo-mcp: %s: not live, reconnecting (%s)\n", p.sourceName, rootCause(err))
	}
	err := p.follow(ctx, show, lost, p.loop)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

// plain prints the lists that the viewer would show.
type plain struct {
	*session
	out io.Writer
	err error // of the last write
}

// loop prints what happens until ctx ends, the reader is gone or a write fails.
func (p *plain) loop(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for p.err == nil {
		p.askStandings(ctx, p.printStates)
		select {
		case <-ctx.Done():
			return nil
		case change := <-p.changes:
			change()
			p.notify(ctx, p.take().notices)
		case <-tick.C:
			// A list may not change for hours, and until then no write would fail.
			if f, ok := p.out.(*os.File); ok && readerGone(f) {
				return nil
			}
		}
	}
	return p.err
}

func (p *plain) write(text string) {
	if text != "" && p.err == nil {
		_, p.err = io.WriteString(p.out, text)
	}
}

// print writes a line for each list that is new and for each change of one.
func (p *plain) print(lists []todo.Snapshot, all bool) {
	previous := maps.Clone(p.lists) // receiveLists changes them
	first := !p.loaded
	p.now = p.Now()
	p.receiveLists(lists, all)
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
	p.write(b.String())
}

// printStates takes over how the open lists stand, and writes a line for each that stands
// differently although nothing was written: its agent has left, came back or is idle.
func (p *plain) printStates(open []todo.Snapshot, standings map[string]Standing) {
	before, known := p.familyStates(), p.standings
	p.now, p.standings = p.Now(), standings
	now := p.familyStates()
	var b strings.Builder
	for _, l := range open {
		id := l.List.ID
		if known[id].State != "" && standings[id].State != "" && now[id] != before[id] && p.shouldPrint(l, false) {
			l.Updated = p.now // the time of the line
			b.WriteString(p.line(l, string(now[id])))
		}
	}
	p.write(b.String())
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
		if l.Open() {
			item = focusItem(l)
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
