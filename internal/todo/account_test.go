package todo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A list's title is the one it was given, else its name, else the text of the first item
// that is open, or of the last one when none is.
func TestTitle(t *testing.T) {
	items := func(statuses ...todo.Status) (items []todo.Item) {
		for n, status := range statuses {
			items = append(items, todo.Item{Text: fmt.Sprint("Step ", n+1), Active: "Stepping", Status: status})
		}
		return items
	}
	for _, c := range []struct {
		list todo.Snapshot
		want string
	}{
		{todo.Snapshot{}, todo.Untitled},
		{todo.Snapshot{Items: items(todo.Pending, todo.InProgress)}, "Step 1"},
		{todo.Snapshot{Items: items(todo.Completed, todo.Failed, todo.Blocked, todo.Pending)}, "Step 1"},
		{todo.Snapshot{Items: items(todo.Completed, todo.Cancelled)}, "Step 1"},
		{todo.Snapshot{List: todo.List{}.Begins("", items(todo.Pending, todo.Pending)), Items: items(todo.Completed)}, "Step 1 +1"},
		{todo.Snapshot{List: todo.List{}.Begins("", items(todo.Pending)), Items: items(todo.Completed, todo.Pending)}, "Step 1"},
		{todo.Snapshot{List: todo.List{}.Begins("Fix it", items(todo.Pending))}, "Fix it"},
		{todo.Snapshot{List: todo.List{}.Begins("", nil), Items: items(todo.Pending)}, "Step 1"},
		{todo.Snapshot{Items: items(todo.Pending), List: todo.List{Name: "release"}}, "release"},
		{todo.Snapshot{GivenTitle: "Ship it", List: todo.List{Name: "release"}}, "Ship it"},
	} {
		if got := c.list.Title(); got != c.want {
			t.Errorf("title %q, want %q", got, c.want)
		}
	}
	for workspace, want := range map[string]string{"/work/app/": "app", `C:\work\app`: "app", "": "", "/": ""} {
		if got := (todo.List{Workspace: workspace}).Project(); got != want {
			t.Errorf("project of %q is %q", workspace, got)
		}
	}
}

// P5: a list without items is neither completed nor settled; failed and cancelled items
// count as settled.
func TestProgressAndOpen(t *testing.T) {
	list := func(statuses ...todo.Status) (s todo.Snapshot) {
		for _, status := range statuses {
			s.Items = append(s.Items, todo.Item{Status: status})
		}
		return s
	}
	for _, c := range []struct {
		name          string
		list          todo.Snapshot
		progress      todo.Progress
		open, settled bool
		completed     bool
	}{
		{"empty", list(), todo.Progress{}, false, false, false},
		{"completed", list(todo.Completed), todo.Progress{Done: 1, Total: 1}, false, true, true},
		{"begun", list(todo.Completed, todo.InProgress, todo.Cancelled), todo.Progress{Done: 1, Total: 2}, true, false, false},
		{"blocked", list(todo.Completed, todo.Blocked), todo.Progress{Done: 1, Total: 2}, true, false, false},
		{"failed", list(todo.Completed, todo.Failed), todo.Progress{Done: 1, Failed: 1, Total: 2}, false, true, false},
		{"cancelled", list(todo.Cancelled), todo.Progress{}, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.list.Progress(); got != c.progress {
				t.Errorf("progress %+v", got)
			}
			if l := c.list; l.Open() != c.open || l.Settled() != c.settled || l.AllCompleted() != c.completed {
				t.Errorf("P5: open %v, settled %v, completed %v", l.Open(), l.Settled(), l.AllCompleted())
			}
		})
	}
	sum := todo.Progress{Done: 1, Total: 2}.Plus(todo.Progress{Done: 2, Failed: 1, Total: 3})
	if (sum != todo.Progress{Done: 3, Failed: 1, Total: 5}) {
		t.Errorf("sum %+v", sum)
	}
}

// A list is on the board if it is open or was updated today; today begins at
// midnight in the reader's time zone.
func TestOnBoard(t *testing.T) {
	zone := time.FixedZone("UTC+7", 7*3600)
	now := time.Date(2026, 11, 21, 0, 30, 0, 0, zone)
	item := func(s todo.Status) []todo.Item { return []todo.Item{{Status: s}} }
	for _, c := range []struct {
		name    string
		updated time.Time
		items   []todo.Item
		want    bool
	}{
		{"finished today", now.Add(-20 * time.Minute), item(todo.Completed), true},
		{"finished yesterday", now.Add(-40 * time.Minute), item(todo.Completed), false},
		{"open for a week", now.AddDate(0, 0, -7), item(todo.Pending), true},
		{"cleared yesterday", now.AddDate(0, 0, -1), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (todo.Snapshot{Items: c.items, Updated: c.updated.UTC()}).OnBoard(now); got != c.want {
				t.Errorf("on board: %v", got)
			}
		})
	}
}
