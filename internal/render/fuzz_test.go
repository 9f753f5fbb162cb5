package render

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// snapshot returns a list in which every text comes from two, as a store that
// another program wrote may have them.
func fuzzedSnapshot(text, other string, status uint8) todo.Snapshot {
	statuses := todo.Statuses()
	one := todo.Item{ID: other, Text: text, Active: other, Reason: other, Priority: other, DueDate: text, Status: statuses[int(status)%len(statuses)]}
	s := list(one, item(todo.InProgress, other))
	s.List = todo.List{ID: text, Name: other, Workspace: text, Agent: other, Client: other}
	s.GivenTitle = text
	s.Writer = todo.Writer{Client: text, Variant: other, Agent: other}
	return s
}

// No text of a list reaches a terminal but escaped, by any of the forms in which
// lists are printed (BAD-INPUT 37, 80).
func FuzzViews(f *testing.F) {
	f.Add("\x1b[2J\u009b31m", "\u202e\xff\n", uint8(1))
	f.Add("👩🏽‍💻 分析", "", uint8(3))
	f.Add("a\nb  c", "[x] `d`", uint8(4))
	f.Fuzz(func(t *testing.T, text, other string, status uint8) {
		s, before := fuzzedSnapshot(text, other, status), fuzzedSnapshot(other, text, status+1)
		now := s.Updated.Add(time.Hour)
		for name, printed := range map[string]string{
			"text": Plain(s, Style{Signs: true}), "status line": StatusLine(s, other), "markdown": Markdown(s),
			"pull request": PullRequest([]todo.Snapshot{s, before}, time.Hour), "day": Day(dayOf(t, s)), "day in markdown": DayMarkdown(dayOf(t, s)),
			"lists": Lists([]todo.Snapshot{s, before}, map[string]todo.Standing{s.List.ID: {State: todo.Waiting, Asks: other}}, map[string]todo.Said{s.List.ID: {Text: other}}, now, 80),
			"diff":  strings.Join(Diff(before, s), "\n"),
		} {
			if !utf8.ValidString(printed) {
				t.Errorf("%s is not UTF-8: %q", name, printed)
			}
			if i := strings.IndexFunc(printed, func(r rune) bool { return r != '\n' && dangerous(r) }); i >= 0 {
				t.Errorf("%s, raw at %d: %q", name, i, printed)
			}
		}
		if found, _ := Named([]todo.Snapshot{s, before}, ListTitle(s)); len(found) == 0 && strings.TrimSpace(ListTitle(s)) != "" {
			t.Errorf("no list is named as is shown, %q", ListTitle(s))
		}
		if n := strings.Count(StatusLine(s, other), "\n"); n > 1 {
			t.Errorf("a status line of %d lines", n)
		}
	})
}

// dayOf returns the account of the day on which a list was saved.
func dayOf(t *testing.T, s todo.Snapshot) account.Day {
	one := func(_ context.Context, _, _ time.Time, with todo.ChangedList) error {
		return with(todo.Standing{State: todo.Working}, func(yield func(todo.Snapshot, error) bool) { yield(s, nil) })
	}
	day, err := account.DayOf(t.Context(), one, s.Updated, s.Updated, s.Updated)
	if err != nil || len(day.Projects) != 1 {
		t.Fatalf("%+v, %v", day, err)
	}
	return day
}
