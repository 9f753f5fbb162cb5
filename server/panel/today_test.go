package panel_test

import (
	"strings"
	"testing"
	"time"

	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The page of a day shows by project what was done, failed, waits and is open, as its
// markdown does; another day shows what was done then, and what is no day is refused.
// BAD-INPUT 37: no text of it is taken for HTML.
func TestPanelToday(t *testing.T) {
	store := memory.New()
	now := time.Now()
	day := func(id string, at time.Time, items ...todo.Item) {
		t.Helper()
		for i := range items {
			items[i].ID, items[i].Started, items[i].Ended = string(rune('1'+i)), at, at
		}
		_, err := storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: id, Client: "claude-code", Workspace: "/src/<b>" + id, Created: at},
			Revision: 1, LastID: len(items), Updated: at, Worked: at, GivenTitle: "<i>" + id + "</i>", Items: items})
		if err != nil {
			t.Fatal(err)
		}
	}
	day("now", now, todo.Item{Text: "<script>x</script>", Status: todo.Completed},
		todo.Item{Text: "Deploy", Status: todo.Failed, Reason: "<b>no</b> key"}, todo.Item{Text: "Tell", Status: todo.Pending})
	day("before", now.AddDate(0, 0, -3), todo.Item{Text: "Plan", Status: todo.Completed})
	url := servertest.Serve(t, servertest.New(t, store, nil), nil).URL
	check := func(path string, want []string, not ...string) {
		t.Helper()
		html := page(t, url+path)
		for _, w := range want {
			if !strings.Contains(html, w) {
				t.Errorf("%s lacks %s: %s", path, w, html)
			}
		}
		for _, n := range append(not, "<script>", "<b>no", "<i>now") {
			if strings.Contains(html, n) {
				t.Errorf("%s has %s", path, n)
			}
		}
	}
	earlier, date := now.AddDate(0, 0, -3).Format(time.DateOnly), now.Format(time.DateOnly)
	check("/today", []string{`<b>1</b> done`, `<span class="bad"><b>1</b> failed`, `<b>1</b> open`, "&lt;script&gt;x&lt;/script&gt;", "&lt;b&gt;no&lt;/b&gt; key",
		`href="lists/now"`, `data-view="today"`, `max="` + date + `"`, `href="today.md?day=` + date + `"`}, "Plan", "The day after")
	check("/today?day="+earlier, []string{"Plan", `data-view="day"`, "The day after"}, "Deploy")
	check("/today?day=1999-01-01", []string{"Nothing was done on this day."}, "Deploy")
	if text := page(t, url+"/today.md"); !strings.Contains(text, `- [x] \<script>x`) || strings.Contains(text, "Plan") {
		t.Errorf("as markdown: %s", text)
	}
	for _, path := range []string{"/today?day=x", "/today?day=2026-13-01", "/today?day=%3Cb%3E", "/today.md?day=x"} {
		if status, _, html := servertest.Ask(t, "GET", url+path, ""); status != 400 || strings.Contains(html, "<b>") {
			t.Errorf("%s: %d %s", path, status, html)
		}
	}
}
