package todo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var (
	t0 = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	t1 = t0.Add(time.Minute)

	// plain has words for the three statuses that every variant has, and no active texts.
	plain = todo.NewView(map[todo.Status]string{todo.Pending: "pending", todo.InProgress: "doing", todo.Completed: "done"})
)

func stored(items ...todo.Item) todo.Snapshot {
	s := todo.Snapshot{List: todo.List{ID: "l"}, Revision: 3, Items: items, LastID: 9, Updated: t0}
	return s
}

func replaced(s todo.Snapshot, view todo.View, lines ...todo.Line) []todo.Item {
	d := todo.NewDraft(s, t1)
	d.Replace(view, lines)
	return d.Items()
}

// An item that a line matches keeps its id and its times of creation and start; only fields that differ change.
func TestReplaceKeepsIdentity(t *testing.T) {
	a := todo.Item{ID: "1", Text: "Write tests", Active: "Writing tests", Status: todo.InProgress, Created: t0, Started: t0}
	b := todo.Item{ID: "4", Text: "Ship it", Status: todo.Pending, Created: t0}
	got := replaced(stored(a, b), plain,
		todo.Line{Text: "Ship it", Status: "doing"},
		todo.Line{Text: "write-tests!", Status: "done"},
		todo.Line{Text: "New", Status: "pending"})
	want := []todo.Item{
		{ID: "4", Text: "Ship it", Status: todo.InProgress, Created: t0, Started: t1},
		{ID: "1", Text: "write-tests!", Active: "Writing tests", Status: todo.Completed, Created: t0, Started: t0, Ended: t1},
		{ID: "10", Text: "New", Status: todo.Pending, Created: t1},
	}
	checktest.Same(t, "-want +got", cmp.Diff(want, got), "")
}

// A line matches the item with its id, else the item equal to the whole line, else by text, shown title, folded text,
// short form of a long text, or wording that a person replaced. A hidden item matches only if no shown item does.
func TestMatch(t *testing.T) {
	item := func(id, text string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: text, Status: status}
	}
	line := func(text, status string) todo.Line { return todo.Line{Text: text, Status: status} }
	byID := func(id, text string) todo.Line { return todo.Line{ID: id, Text: text, Status: "pending"} }
	active := todo.Item{ID: "1", Text: "Write", Active: "Writing", Status: todo.InProgress}
	long := strings.Repeat("long ", 200)
	reworded := todo.Item{ID: "1", Text: "New", PersonEdit: todo.PersonEdit{Text: "New", Replaced: "Old"}, Status: todo.Pending}
	a1, a2, c3 := item("1", "A", todo.Pending), item("2", "A", todo.Completed), item("3", "A", todo.Cancelled)
	for _, c := range []struct {
		name  string
		items []todo.Item
		lines []todo.Line
		want  string // the ids of the items after the write; 10 is a new item
	}{
		{"ids before texts", []todo.Item{a1, a2}, []todo.Line{byID("2", "A"), byID("1", "A")}, "2 1"},
		{"ids before texts at their places", []todo.Item{a1, item("2", "B", todo.Pending)}, []todo.Line{byID("2", "A"), byID("1", "B")}, "2 1"},
		{"an id before the text at its place", []todo.Item{a1}, []todo.Line{byID("", "A"), byID("1", "X")}, "10 1"},
		{"an unknown id", []todo.Item{a1}, []todo.Line{byID("1", "X"), byID("7", "A")}, "1 10"},
		{"whole lines of repeated texts", []todo.Item{a1, a2}, []todo.Line{line("A", "done")}, "2"},
		{"whole lines of repeated texts in another order", []todo.Item{a1, a2}, []todo.Line{line("A", "done"), line("A", "pending")}, "2 1"},
		{"a repeated text before the item's whole line", []todo.Item{a2}, []todo.Line{line("A", "pending"), line("A", "done")}, "10 2"},
		{"more lines than items", []todo.Item{a1}, []todo.Line{line("A", "pending"), line("A", "pending")}, "1 10"},
		{"the title that is shown", []todo.Item{a2, active}, []todo.Line{line("Writing", "done")}, "1"},
		{"a folded text", []todo.Item{a2, active}, []todo.Line{line("write!", "doing")}, "1"},
		{"a short form", []todo.Item{a2, item("1", long, todo.Pending)}, []todo.Line{line(todo.Told(long), "doing")}, "1"},
		{"a wording that a person replaced", []todo.Item{a2, reworded}, []todo.Line{line("old", "doing")}, "1"},
		{"what is shown first", []todo.Item{c3, a1}, []todo.Line{line("A", "pending")}, "3 1"},
		{"what is hidden last", []todo.Item{c3}, []todo.Line{line("A", "pending")}, "3"},
		{"no lines empty the list", []todo.Item{a1, c3}, nil, ""},
		{"no lines of a list that is shown empty", []todo.Item{c3}, nil, "3"},
	} {
		var got []string
		for _, i := range replaced(stored(c.items...), plain, c.lines...) {
			got = append(got, i.ID)
		}
		checktest.Same(t, c.name, strings.Join(got, " "), c.want)
	}
	// An active text is removed when a line replaces the text that it described.
	a := todo.Item{ID: "1", Text: "A", Active: "Doing A", Status: todo.Pending}
	if got := replaced(stored(a), plain, byID("1", "B")); got[0].Active != "" {
		t.Errorf("%+v", got)
	}
}

func TestCleanText(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{in: "plain", want: "plain"},
		{in: "two\r\n\tlines\u2028here\n", want: "two lines here"},
		{in: "  spaces kept  inside ", want: "spaces kept  inside"},
		{in: "làm 日本語 👩‍👩‍👧", want: "làm 日本語 👩‍👩‍👧"},
		{in: " \n\t", want: ""},
		{in: "ab\x00", err: "control character U+0000 at position 3 is not allowed"},
		{in: "日\x1b[31m", err: "control character U+001B at position 2 is not allowed"},
		{in: "\u009bm", err: "control character U+009B at position 1 is not allowed"},
	} {
		got, err := todo.CleanText(c.in)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("V6: CleanText(%q) = %q, %v, want %q, %q", c.in, got, err, c.want, c.err)
		}
	}
}

// Texts that differ only in signs without meaning, case or spaces fold to the same. Texts that differ in a word, a
// number or a sign with a meaning do not.
func TestFold(t *testing.T) {
	for _, c := range [][2]string{
		{"Write the tests!", "writeTHE tests"}, {"ĐƠN giản", "đơn-giản"}, {"梳理 需求。", "梳理需求"},
		{"Fix `parse()` in main.go", "Fix parse() in main.go"}, {"1. Build it", "Build it"}, {"2) Build it", "- Build it"}, {"- [x] Build it", "Build it"},
		{"✅ Build it", "Build it"}, {"❤️ it", "❤ it"}, {"👩‍💻 Code", "Code"}, {"1️⃣ Build", "1 Build"}, {"a → b", "a -> b"}, {"a => b", "a ➜ b"},
		{"Ｆｕｌｌ　ｗｉｄｔｈ１２", "full width12"}, {"Sửa lỗi tiếng Việt", "Sửa lỗi tiếng Việt"}, {"café", "café"},
	} {
		checktest.Same(t, fmt.Sprintf("%q and %q fold differently", c[0], c[1]), todo.Fold(c[0]), todo.Fold(c[1]))
	}
	for _, c := range [][2]string{
		{"a", "b"}, {"!", "?"}, {"c", "c++"}, {"A & B", "A and B"}, {"Release 1.2", "Release 12"}, {"Test 1", "Test 2"}, {"a < b", "a > b"}, {"5 €", "5 $"},
		{"1. ", "2. "}, {"🚀", "🔥"}, {"bo", "bô"}, {"1.2 Notes", "2 Notes"},
	} {
		if todo.Fold(c[0]) == todo.Fold(c[1]) {
			t.Errorf("%q and %q fold to the same: %q", c[0], c[1], todo.Fold(c[0]))
		}
	}
}

// Put keeps the numbers that another program gave its items, and sorts the items by them. The next item gets an unused
// number.
func TestPut(t *testing.T) {
	d := todo.NewDraft(todo.Snapshot{}, time.Now())
	for _, id := range []string{"3", "1", "10", "3", "0", "-1", "01", "x", "", "1e3", "99999999999"} {
		d.Put(todo.CoreView(), todo.Line{ID: id, Text: "task " + id, Status: "in_progress"})
	}
	d.Append("next")
	var got []string
	for _, i := range d.Items() {
		got = append(got, i.ID+" "+i.Text)
	}
	checktest.Same(t, "texts", strings.Join(got, "/"), "1 task 1/3 task 3/10 task 10/11 next")
	if item, _ := d.Item("3"); item.Started.IsZero() {
		t.Errorf("no start: %+v", item)
	}
}

// BAD-INPUT 42: List names such as `a/b`, `..`, SQL, 10 KB → Refused: 1 to 100 letters, digits,
// spaces or `. _ -`, a letter or digit first. A strange id from `_meta` is stored as its digest
func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "release 1.0", "Việc", "日本語", "a_b-c"} {
		if err := todo.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", " ", "a/b", "..", "*", "-x", "a\nb", "a\u202eb", "\xff", " a", "a "} {
		if todo.CheckName(name) == nil {
			t.Errorf("%q passed", name)
		}
	}
}

// A list's title is the one it was given, else its name, else its topic, else the text of
// its first item. A project is the last part of a path.
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
		{todo.Snapshot{}, "Untitled list"},
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
		checktest.Same(t, "title", c.list.Title(), c.want)
	}
	for workspace, want := range map[string]string{"/work/app/": "app", `C:\work\app`: "app", "": "", "/": ""} {
		checktest.Same(t, fmt.Sprintf("project of %q is", workspace), (todo.List{Workspace: workspace}).Project(), want)
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
		if l := c.list; l.Progress() != c.progress || l.Open() != c.open || l.Settled() != c.settled || l.AllCompleted() != c.completed {
			t.Errorf("P5: %s: progress %+v, open %v, settled %v, completed %v", c.name, l.Progress(), l.Open(), l.Settled(), l.AllCompleted())
		}
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
		checktest.Same(t, fmt.Sprintf("%s: on board", c.name), (todo.Snapshot{Items: c.items, Updated: c.updated.UTC()}).OnBoard(now), c.want)
	}
}
