package watch

import (
	"fmt"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// notices returns what a person wants to be told of lists that have just come
// from the source, before they are in the model: what finished, failed, is
// blocked or waits. A list that is not known yet counts as new, so that one that
// began and ended unseen is told of; the lists of the start are not. What a person
// did is not told.
func (m *model) notices(lists []todo.Snapshot) (out []string) {
	if !m.loaded {
		return nil
	}
	for _, l := range lists {
		before := m.lists[l.List.ID]
		if l.Revision <= before.Revision || l.Writer.Person || l.Deleted || l.Archived {
			continue
		}
		if text := notice(before, l); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// notice returns what to tell a person of a change: the most important thing, in
// one safe line; "" if there is none.
func notice(before, after todo.Snapshot) string {
	name := render.Cut(listName(after), 80)
	p := after.Progress()
	switch newly := newlyIn(before, after); {
	case after.Settled() && !before.Settled() && p.Failed > 0:
		return fmt.Sprintf("Finished: %s (%d of %d, %d failed)", name, p.Done, p.Total, p.Failed)
	case after.Settled() && !before.Settled() && after.List.Agent == "":
		return fmt.Sprintf("Finished: %s (%d of %d)", name, p.Done, p.Total)
	case newly[todo.Blocked] != nil:
		what := "Blocked: "
		if _, current := after.Current(); !current {
			what = "Waits for you: "
		}
		return what + name + ": " + reasonOf(*newly[todo.Blocked])
	case newly[todo.Failed] != nil:
		return "Failed: " + name + ": " + render.Cut(render.Safe(newly[todo.Failed].Text), 120)
	}
	return ""
}

// newlyIn returns by status an item that has come into it, of the statuses that
// a person is told of.
func newlyIn(before, after todo.Snapshot) map[todo.Status]*todo.Item {
	out := map[todo.Status]*todo.Item{}
	for _, item := range after.Items {
		if item.Status != todo.Blocked && item.Status != todo.Failed {
			continue
		}
		if old, ok := before.Item(item.ID); !ok || old.Status != item.Status {
			out[item.Status] = &item
		}
	}
	return out
}

// reasonOf returns why an item is blocked, and its text if nobody said why.
func reasonOf(i todo.Item) string {
	if i.Reason == "" {
		return render.Cut(render.Safe(i.Text), 120)
	}
	return render.Cut(render.Safe(i.Reason), 120)
}
