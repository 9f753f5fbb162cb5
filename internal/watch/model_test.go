package watch

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "rewrite the golden views")

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// list is a list written some time before noon. Items are "status text".
func list(id string, seq, revision int64, ago time.Duration, items ...string) todo.Snapshot {
	s := todo.Snapshot{List: todo.List{ID: id, Name: id}, Revision: revision, Seq: seq, Updated: noon().Add(-ago),
		Writer: todo.Writer{Client: "claude-code", Variant: "TodoWrite"}}
	for i, line := range items {
		status, text, _ := strings.Cut(line, " ")
		item := todo.Item{ID: fmt.Sprint(i + 1), Text: text, Status: todo.Status(status)}
		if item.Status == todo.InProgress {
			item.Started = s.Updated
		}
		s.Items = append(s.Items, item)
	}
	return s
}

func sub(s todo.Snapshot, parent string) todo.Snapshot {
	s.List.Parent, s.List.Agent, s.List.Name = parent, s.List.ID, ""
	return s
}

func steps(n int, status string) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s step %d", status, i+1))
	}
	return items
}

// release is a list's history.
func release() []todo.Snapshot {
	return []todo.Snapshot{
		list("release", 1, 1, time.Hour, "in_progress Write tests", "pending Ship"),
		list("release", 4, 2, 20*time.Minute, "completed Write tests", "in_progress Ship"),
		list("release", 9, 3, 4*time.Minute, "completed Write tests", "in_progress Ship 发布 🚀", "pending Tell everybody"),
	}
}

func everything() []todo.Snapshot {
	return []todo.Snapshot{
		release()[2],
		list("website", 8, 5, 2*time.Hour, append(steps(12, "completed"), "in_progress build the footer", "pending check it")...),
		list("settled", 7, 2, 3*time.Hour, steps(9, "completed")...),
		list("old", 6, 2, 50*time.Hour, "completed long ago"),
		list("forgotten", 5, 2, 90*time.Hour, "pending still open"),
		sub(list("researcher", 10, 1, time.Minute, "in_progress read the papers", "pending sum up"), "release"),
		sub(list("reviewer", 3, 1, 30*time.Hour, "completed review"), "release"),
	}
}

func screenOf(width, height int, lists ...todo.Snapshot) *model {
	m := newModel("")
	m.now, m.width, m.height, m.where = noon(), width, height, "todo.db"
	m.show(lists, true)
	return m
}

// story is frames one below the other, to be compared with a golden file.
type story struct {
	t *testing.T
	strings.Builder
}

func (s *story) frame(m *model, what string) {
	s.t.Helper()
	lines := m.view()
	if len(lines) != m.height {
		s.t.Errorf("%s: %d lines on a screen of %d", what, len(lines), m.height)
	}
	for _, l := range lines {
		if cells(l) > m.width && !m.color {
			s.t.Errorf("%s: line of %d cells on a screen of %d: %s", what, cells(l), m.width, l)
		}
	}
	fmt.Fprintf(s, "== %s\n", what)
	for _, l := range lines {
		s.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
	}
}

func (s *story) press(m *model, keys ...key) (e effect) {
	s.t.Helper()
	for _, k := range keys {
		e = m.press(k)
	}
	s.frame(m, fmt.Sprintf("press %q", keys))
	return e
}

func (s *story) compare() {
	s.t.Helper()
	path := filepath.Join("testdata", s.t.Name()+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), s.String()); diff != "" {
		s.t.Errorf("views (-want +got); -update rewrites them:\n%s", diff)
	}
}

// The lists with something open, and those that moved today, newest first; what
// does not fit is told.
func TestOverview(t *testing.T) {
	s := &story{t: t}
	m := newModel("")
	m.now, m.width, m.height, m.where = noon(), 72, 6, "todo.db"
	s.frame(m, "not yet connected")
	m.show(nil, true)
	s.frame(m, "no lists")
	m = screenOf(72, 40, everything()...)
	s.frame(m, "room for all")
	m.height = 18
	s.frame(m, "less room")
	s.press(m, keyDown, keyDown, keyDown)
	s.press(m, keyDown)
	s.press(m, keyUp, "k", "k")
	m.lost = errors.Join(errors.New("connection refused"))
	s.press(m, keyEscape)
	m.width, m.height = 30, 9
	s.frame(m, "narrow")
	m.width, m.height = 3, 1
	s.frame(m, "hardly anything")
	s.compare()
}

// "/" filters by what a person sees, old lists as well; Escape clears.
func TestFilter(t *testing.T) {
	s := &story{t: t}
	m := screenOf(72, 12, everything()...)
	s.press(m, "/", "L", "o", "n", "g")
	s.press(m, keyBackspace, "x", "q")
	s.press(m, keyEraseAll, "p", "a", "p", "e", "r", keyEnter)
	s.press(m, keyEnter)
	s.press(m, keyEscape, keyEscape)
	s.compare()
}

// The arrows step through the history of the opened list; "l" and End go back
// to what is live, which goes on meanwhile.
func TestHistory(t *testing.T) {
	s := &story{t: t}
	m := screenOf(72, 14, everything()...)
	s.press(m, keyEnter)
	if e := s.press(m, keyLeft); e.history != "release" {
		t.Errorf("asked for the history of %q", e.history)
	}
	m.setHistory("release", release(), nil)
	s.frame(m, "history arrives")
	s.press(m, keyLeft)
	s.press(m, keyHome)
	m.show([]todo.Snapshot{list("release", 11, 4, 0, "completed Write tests", "completed Ship 发布 🚀")}, false)
	s.frame(m, "the list goes on")
	s.press(m, keyRight, keyRight, keyRight)
	s.press(m, keyRight)
	s.press(m, keyLeft, "l")
	s.press(m, keyLeft, keyEscape)
	s.press(m, "?", keyEscape)
	s.compare()
}

// A history that lags or was trimmed, or cannot be read, does no harm.
func TestHistoryTrouble(t *testing.T) {
	m := screenOf(72, 10, everything()...)
	m.press(keyEnter)
	m.press(keyHome)
	m.setHistory("other", nil, errors.New("late"))
	m.setHistory("release", release()[1:], nil)
	if shown, _, past := m.shown(); !past || shown.Revision != 2 {
		t.Errorf("the first revision kept is 2, shown %d", shown.Revision)
	}
	if text := strings.Join(m.view(), "\n"); !strings.Contains(text, "earlier revisions are not kept") {
		t.Errorf("a trimmed history is not told:\n%s", text)
	}
	if e := m.show([]todo.Snapshot{list("release", 20, 6, 0, "pending x")}, false); e.history != "release" {
		t.Errorf("revisions were skipped, asked for %q", e.history)
	}
	if e := m.setHistory("release", nil, errors.New("gone")); e.history != "" || m.revision != 0 {
		t.Errorf("after an error: %+v at revision %d", e, m.revision)
	}
	if text := strings.Join(m.view(), "\n"); !strings.Contains(text, "cannot be read") {
		t.Errorf("trouble is not told:\n%s", text)
	}
	m.show(nil, true)
	m.press(keyLeft)
	if text := strings.Join(m.view(), "\n"); !strings.Contains(text, "This list is gone") {
		t.Errorf("a list that went is not told:\n%s", text)
	}
}

// A long list keeps in sight what happens, and scrolls.
func TestLongList(t *testing.T) {
	s := &story{t: t}
	items := append(steps(40, "completed"), "in_progress the forty-first")
	m := screenOf(40, 9, list("long", 1, 1, 0, append(items, steps(20, "pending")...)...))
	s.press(m, keyEnter)
	s.press(m, keyUp)
	s.press(m, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp)
	s.press(m, keyDown, keyDown)
	s.compare()
}

// A list asked for by name is opened, also when it comes later.
func TestWanted(t *testing.T) {
	s := &story{t: t}
	m := newModel("release")
	m.now, m.width, m.height, m.where, m.color = noon(), 60, 8, "todo.db", true
	m.show([]todo.Snapshot{everything()[1]}, true)
	s.frame(m, "not there yet")
	m.show(everything(), false)
	s.frame(m, "there")
	s.compare()
	for wanted, want := range map[string]string{"website": "website", "webs": "website", "web": "", "re": "", "rele": "release"} {
		if got, _ := m.named(wanted); got.List.ID != want {
			t.Errorf("%q finds %q, want %q", wanted, got.List.ID, want)
		}
	}
}
