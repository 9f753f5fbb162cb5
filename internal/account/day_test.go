package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// diary is a board on which things happen at times of a day.
type diary struct {
	t     *testing.T
	now   time.Time
	lists board.Lists
}

func newDiary(t *testing.T) *diary {
	d := &diary{t: t}
	store := memory.New()
	b := board.NewBoard(store, board.WithClock(func() time.Time { return d.now }))
	t.Cleanup(func() { b.Close(); store.Close() })
	d.lists = b.As("")
	return d
}

// write has the agent of a chat in a folder write a list at a time: the first letters of
// statuses and the texts, "c:A b:B". A chat "main/helper" is a sub-agent's.
func (d *diary) write(at, chat, folder, items string) {
	d.t.Helper()
	d.at(at)
	words := map[string]string{"p": "pending", "i": "in_progress", "c": "completed", "f": "failed", "b": "blocked"}
	var lines []todo.Line
	for _, word := range strings.Fields(items) {
		status, text, _ := strings.Cut(word, ":")
		lines = append(lines, todo.Line{Text: text, Status: words[status]})
	}
	target := board.Target{Conversation: board.Conversation{Key: chat}, Lines: lines, View: todo.CoreView()}
	begin := todo.List{Workspace: folder}
	if main, agent, ok := strings.Cut(chat, "/"); ok {
		target.Agent, begin.ParentConversation = agent, main
	}
	_, err := d.lists.Apply(d.t.Context(), board.Write{Target: target, Begin: begin, Writer: todo.Writer{Client: "claude-code"},
		Change: func(c *todo.Draft) error { c.Replace(todo.CoreView(), lines); return nil }})
	if err != nil {
		d.t.Fatal(at, err)
	}
}

func (d *diary) at(text string) {
	day := time.Duration(text[1]-'1') * 24 * time.Hour
	clock := must(time.Parse("15:04", text[3:]))(d.t)
	d.now = time.Date(2026, 3, 1, clock.Hour(), clock.Minute(), 0, 0, time.UTC).Add(day)
}

func (d *diary) edit(at, title string, e todo.Edit) {
	d.t.Helper()
	d.at(at)
	all := must(d.lists.Find(d.t.Context(), board.Query{}))(d.t)
	for _, l := range all {
		if l.Title() == title {
			if _, err := d.lists.Edit(d.t.Context(), l.List.ID, e, todo.Writer{}); err != nil {
				d.t.Fatal(at, err)
			}
			return
		}
	}
	d.t.Fatal("no list ", title)
}

// told returns the account of a day in lines.
func (d *diary) told(at time.Time) (lines []string) {
	d.t.Helper()
	day := must(account.DayOf(d.t.Context(), d.lists.During, at, at, d.now))(d.t)
	tally := func(t account.Tally) string {
		return fmt.Sprintf("%d lists, %d done, %d failed, %d wait, %d open, %s", t.Lists, t.Completed, t.Failed, t.Waiting, t.Open, t.Took())
	}
	lines = append(lines, day.Date+": "+tally(day.Tally))
	for _, p := range day.Projects {
		lines = append(lines, p.Project+": "+tally(p.Tally))
		for _, l := range p.Lists {
			line := strings.TrimPrefix(l.Agent+": ", ": ") + l.Title + ": " + string(l.State) + ", " + l.Took().String()
			line += told("c", l.CompletedItems) + told("f", l.FailedItems) + told("b", l.WaitingItems) + told("p", l.OpenItems)
			lines = append(lines, line+strings.TrimSuffix(" asks "+l.Asks, " asks "))
		}
	}
	return lines
}

func told(sign string, items []account.DayItem) (text string) {
	for _, i := range items {
		text += " " + sign + ":" + i.Text + strings.TrimSuffix("("+i.Reason+")", "()")
	}
	return text
}

// The account of a day: what was completed and failed on it, what was open when it ended,
// and for how long lists stood as working. What a list had on the day before, and what
// became of it on the day after, does not count.
func TestDay(t *testing.T) {
	d := newDiary(t)
	d.write("01 23:55", "night", "/src/app", "c:yesterday i:late")
	d.write("02 00:04", "night", "/src/app", "c:yesterday c:late p:more")
	d.write("02 09:00", "main", "/src/web", "i:A p:B p:C p:D")
	d.write("02 09:06", "main", "/src/web", "c:A i:B p:C p:D")
	d.write("02 09:07", "main/helper", "/src/web/.claude/worktrees/h", "i:h") // counts where its chat is
	d.write("02 09:08", "main/helper", "/src/web/.claude/worktrees/h", "c:h")
	d.write("02 09:30", "main", "/src/web", "c:A f:B b:C p:D")
	d.write("02 09:31", "main", "/src/web", "i:C c:E")
	d.edit("02 12:00", "A +3", todo.Edit{Do: todo.EditBlock, Item: "3", Text: "no key yet"})
	d.write("02 20:00", "cleared", "/src/web", "c:X c:Y")
	d.write("02 20:01", "cleared", "/src/web", "")
	d.write("03 10:00", "night", "/src/app", "c:yesterday c:late c:more")
	d.edit("03 11:00", "A +3", todo.Edit{Do: todo.EditArchive})
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if diff := cmp.Diff([]string{
		"2026-03-02: 3 lists, 6 done, 1 failed, 1 wait, 1 open, 31m0s",
		"web: 2 lists, 5 done, 1 failed, 1 wait, 0 open, 27m0s",
		"A +3: left open, 26m0s c:A c:E f:B b:C(no key yet)",
		"helper: h: finished, 1m0s c:h",
		"X +1: finished, 0s c:X c:Y",
		"app: 1 lists, 1 done, 0 failed, 0 wait, 1 open, 4m0s",
		"yesterday +1: left open, 4m0s c:late p:more",
	}, d.told(noon)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{ // what a person put away is nothing that was done
		"2026-03-03: 1 lists, 1 done, 0 failed, 0 wait, 0 open, 0s",
		"app: 1 lists, 1 done, 0 failed, 0 wait, 0 open, 0s",
		"yesterday +1: finished, 0s c:more",
	}, d.told(d.now)); diff != "" {
		t.Error(diff)
	}
	west := must(time.LoadLocation("America/New_York"))(t) // where "late" was done on the first
	if got := d.told(noon.In(west))[0]; got != "2026-03-02: 2 lists, 5 done, 1 failed, 1 wait, 0 open, 27m0s" {
		t.Error(got)
	}
}

// A list at work counts until now, and one whose agent asks waits.
func TestDayNow(t *testing.T) {
	d := newDiary(t)
	d.write("01 10:00", "works", "/src/app", "i:A")
	d.write("01 10:02", "asks", "/src/web", "i:B p:C")
	asks := func(c *todo.Chat, at time.Time) { c.Says(todo.Asks, "push?", at) }
	must(d.lists.Hear(t.Context(), board.Conversation{Key: "asks"}, asks))(t)
	d.at("01 10:05")
	if diff := cmp.Diff([]string{
		"2026-03-01: 2 lists, 0 done, 0 failed, 1 wait, 3 open, 5m0s",
		"web: 1 lists, 0 done, 0 failed, 1 wait, 2 open, 0s",
		"B +1: waiting, 0s p:B p:C asks push?",
		"app: 1 lists, 0 done, 0 failed, 0 wait, 1 open, 5m0s",
		"A: working, 5m0s p:A",
	}, d.told(d.now)); diff != "" {
		t.Error(diff)
	}
}

// BAD-INPUT 127: A day that is none, has no midnight, is far away or full of lists → Refused, or
// 23 to 25 hours; 1,000 lists and 4 MB of texts, and a word that there was more
func TestDays(t *testing.T) {
	for _, c := range []struct {
		zone, date string
		hours      float64
	}{
		{"UTC", "2026-03-29", 24}, {"Europe/Berlin", "2026-03-29", 23}, {"Europe/Berlin", "2026-10-25", 25},
		{"Asia/Beirut", "2023-03-26", 23}, {"Asia/Beirut", "2023-03-25", 24}, {"Africa/Cairo", "2026-04-24", 23},
		{"UTC", "0001-01-01", 24}, {"UTC", "9999-12-31", 24},
		{"UTC", "2026-02-29", 0}, {"UTC", "tomorrow", 0}, {"UTC", "2026-3-1", 0}, {"UTC", strings.Repeat("9", 5000), 0},
	} {
		zone := must(time.LoadLocation(c.zone))(t)
		at, err := account.ParseDay(c.date, noon().In(zone))
		if c.hours == 0 {
			if err == nil || len(err.Error()) > 100 {
				t.Errorf("%s: %v", c.date, err)
			}
			continue
		}
		day, _ := account.DayOf(t.Context(), newDiary(t).lists.During, at, at, noon())
		if got := day.To.Sub(day.From).Hours(); err != nil || day.Date != c.date || got != c.hours {
			t.Errorf("%s in %s: %s, %v hours, %v", c.date, c.zone, day.Date, got, err)
		}
	}
	d := newDiary(t)
	for n := range account.MaxDayLists + 1 {
		d.write("01 10:00", fmt.Sprint("chat ", n), "/src/app", fmt.Sprint("c:x", n))
	}
	day, err := account.DayOf(t.Context(), d.lists.During, d.now, d.now, d.now)
	if err != nil || day.Lists != account.MaxDayLists || !day.More {
		t.Errorf("%d lists, more %t, %v", day.Lists, day.More, err)
	}
	d = newDiary(t)
	items, held := strings.Repeat(" c:"+strings.Repeat("y", todo.MaxText), todo.MaxSize/todo.MaxText-1), 0
	for n := range 5<<20/todo.MaxSize + 1 {
		d.write("01 10:00", fmt.Sprint("chat ", n), "/src/app", items)
	}
	day, err = account.DayOf(t.Context(), d.lists.During, d.now, d.now, d.now)
	for _, l := range day.Projects[0].Lists {
		for _, i := range l.CompletedItems {
			held += len(i.Text)
		}
	}
	if err != nil || !day.More || held > 4<<20 || held < 3<<20 || day.Completed*todo.MaxText < 4<<20 {
		t.Errorf("%d bytes of %d items, more %t, %v", held, day.Completed, day.More, err)
	}
}

// Lists of a project that read alike are told apart by when they began, of several days with the day.
func TestListsOfADayThatReadAlike(t *testing.T) {
	d := newDiary(t)
	d.write("02 09:00", "one", "/src/app", "c:fix")
	d.write("02 09:05", "two", "/src/app", "c:fix")
	d.write("02 09:06", "three", "/src/app", "c:other")
	d.write("02 09:07", "four", "/src/web", "c:fix")
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for last, want := range map[time.Time]string{noon: " ;09:00 09:05  ;", noon.AddDate(0, 0, 1): " ;2 Mar 09:00 2 Mar 09:05  ;"} {
		day := must(account.DayOf(t.Context(), d.lists.During, noon, last, noon))(t)
		got := ""
		for _, p := range day.Projects {
			for _, l := range p.Lists {
				got += l.Apart + " "
			}
			got += ";"
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A day may be called as people call it; a weekday is the last one, today included.
func TestDaysByName(t *testing.T) {
	for text, want := range map[string]string{"": "2026-03-04", "yesterday": "2026-03-03", "Wednesday": "2026-03-04", "thu": "2026-02-26", "MONDAY": "2026-03-02"} {
		at, err := account.ParseDay(text, noon())
		if got := at.Format(time.DateOnly); err != nil || got != want {
			t.Errorf("%q is %s, want %s, %v", text, got, want, err)
		}
	}
}

// Of several days all is told together.
func TestSeveralDays(t *testing.T) {
	d := newDiary(t)
	d.write("01 10:00", "a", "/src/app", "c:A")
	d.write("02 10:00", "a", "/src/app", "c:B")
	d.write("03 10:00", "b", "/src/app", "c:C p:D")
	d.at("04 10:00")
	day, err := account.DayOf(t.Context(), d.lists.During, d.now.AddDate(0, 0, -2), d.now, d.now)
	if err != nil || day.Date != "2026-03-02" || day.Completed != 2 || day.Open != 1 || day.To != todo.Midnight(d.now.AddDate(0, 0, 1)) {
		t.Errorf("%+v, %v", day, err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
