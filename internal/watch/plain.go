package watch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Plain writes lists to out as lines: first the state of each list, then each event. A line has the time, the title,
// the progress and the event. It reports a lost source to errOut. It returns nil when ctx ends, else the error of the
// source or of a write: without an event it does not notice that the reader of out is gone.
func Plain(ctx context.Context, source Source, out, errOut io.Writer, o Options) error {
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	m := newModel(o)
	err := source.Follow(following, func(lists []todo.Snapshot, all bool) {
		states, _ := source.Standings(following, lists) // an error only makes states less exact
		said, stood := byList(states), maps.Clone(m.standings)
		for _, l := range lists {
			m.standings[l.List.ID] = said[l.List.ID]
		}
		m.now = o.Now()
		text := m.print(lists, stood, all)
		if o.List != "" && m.opened == "" {
			stop(fmt.Errorf("there is no list %q, or there are several; see `todo-mcp lists`", o.List))
		} else if text != "" {
			if _, err := io.WriteString(out, text); err != nil {
				stop(err)
			}
		}
	}, func(err error) {
		m.lost = err
		fmt.Fprintf(errOut, "todo-mcp: %s: not live, reconnecting (%s)\n", m.sourceName, rootCause(err))
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case following.Err() != nil:
		return context.Cause(following)
	}
	return err
}

// print returns the lines for new and changed lists: the named one, or all that are or were on the board.
func (m *model) print(lists []todo.Snapshot, stood map[string]account.ListState, all bool) string {
	previous := maps.Clone(m.lists)
	m.receiveLists(lists, all)
	var b strings.Builder
	for _, l := range lists {
		before, known := previous[l.List.ID]
		wanted := known || l.OnBoard(m.now) && !l.Deleted
		if m.opened != "" {
			wanted = l.List.ID == m.opened
		}
		if l.Revision < before.Revision || !wanted {
			continue
		}
		for _, event := range m.events(before, l, stood[l.List.ID], known) {
			b.WriteString(m.plainLine(l, event))
		}
	}
	return b.String()
}

func (m *model) plainLine(l todo.Snapshot, event string) string {
	return fmt.Sprintf("%s  %s  %s  %s\n", l.Updated.In(m.now.Location()).Format(time.DateTime), render.ListTitle(l), progress(l), event)
}

// events returns what happened to a list, or its state if it is new.
func (m *model) events(before, l todo.Snapshot, stood account.ListState, known bool) []string {
	if known {
		events, stands := render.Diff(before, l, m.lists[l.ReplacedBy]), m.standings[l.List.ID]
		switch {
		case l.Settled() && !before.Settled():
			events = append(events, string(m.standing(l).State))
		case l.Settled(), stands.Standing == stood.Standing:
		case stands.Asks != "":
			events = append(events, "asks: "+render.Safe(stands.Asks))
		case stood.State != "" && stands.State != "" && (len(events) == 0 || stands.State == todo.Idle):
			events = append(events, string(stands.State))
		}
		return events
	}
	f := m.group(l)
	at, _ := l.At()
	return []string{strings.TrimSuffix(string(f.State())+": "+cmp.Or(render.Question(f), render.Safe(at.Title())), ": ")}
}
