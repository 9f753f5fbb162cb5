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

var update = flag.Bool("update", false, "rewrite the golden frames")

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// list returns a snapshot written ago before noon. Each of items is "status
// text".
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

func subList(s todo.Snapshot, parent string) todo.Snapshot {
	s.List.Parent, s.List.Agent, s.List.Name = parent, s.List.ID, ""
	return s
}

func numbered(n int, status string) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s step %d", status, i+1))
	}
	return items
}

// releaseHistory returns the revisions of one list.
func releaseHistory() []todo.Snapshot {
	return []todo.Snapshot{
		list("release", 1, 1, time.Hour, "in_progress Write tests", "pending Ship"),
		list("release", 4, 2, 20*time.Minute, "completed Write tests", "in_progress Ship"),
		list("release", 9, 3, 4*time.Minute, "completed Write tests", "in_progress Ship 发布 🚀", "pending Tell everybody"),
	}
}

func exampleLists() []todo.Snapshot {
	return []todo.Snapshot{
		releaseHistory()[2],
		list("website", 8, 5, 2*time.Hour, append(numbered(12, "completed"), "in_progress build the footer", "pending check it")...),
		list("settled", 7, 2, 3*time.Hour, numbered(9, "completed")...),
		list("old", 6, 2, 50*time.Hour, "completed long ago"),
		list("forgotten", 5, 2, 90*time.Hour, "pending still open"),
		subList(list("researcher", 10, 1, time.Minute, "in_progress read the papers", "pending sum up"), "release"),
		subList(list("reviewer", 3, 1, 30*time.Hour, "completed review"), "release"),
	}
}

// An archived list leaves the overview, also a sub-agent's below its main list.
// A filter finds it.
func TestArchivedListsAreNotInTheOverview(t *testing.T) {
	sub := subList(list("helper", 2, 1, time.Minute, "pending read"), "main")
	m := modelWith(80, 24, list("main", 1, 1, time.Hour, "pending Ship"), sub, list("other", 3, 1, time.Hour, "pending Rest"))
	shown := func() (ids []string) {
		for _, e := range m.entries() {
			ids = append(ids, e.main.List.ID)
			for _, s := range e.subs {
				ids = append(ids, "↳ "+s.List.ID)
			}
		}
		return ids
	}
	if diff := cmp.Diff([]string{"other", "main", "↳ helper"}, shown()); diff != "" {
		t.Errorf("before (-want +got)\n%s", diff)
	}
	archived := func(l todo.Snapshot, seq int64) todo.Snapshot { l.Archived, l.Seq, l.Revision = true, seq, 2; return l }
	m.receiveLists([]todo.Snapshot{archived(sub, 4), archived(m.lists["other"], 5)}, false)
	if diff := cmp.Diff([]string{"main"}, shown()); diff != "" {
		t.Errorf("after (-want +got)\n%s", diff)
	}
	m.filter = "other"
	if diff := cmp.Diff([]string{"other"}, shown()); diff != "" {
		t.Errorf("filtered (-want +got)\n%s", diff)
	}
}

func modelWith(width, height int, lists ...todo.Snapshot) *model {
	m := newModel("")
	m.now, m.width, m.height, m.sourceName = noon(), width, height, "todo.db"
	m.receiveLists(lists, true)
	return m
}

// transcript collects frames to compare with the golden file of the test.
type transcript struct {
	t *testing.T
	strings.Builder
}

func (s *transcript) frame(m *model, caption string) {
	s.t.Helper()
	lines := m.frame()
	if len(lines) != m.height {
		s.t.Errorf("%s: %d lines on a screen of %d", caption, len(lines), m.height)
	}
	for _, l := range lines {
		if cells(l) > m.width && !m.color {
			s.t.Errorf("%s: line of %d cells on a screen of %d: %s", caption, cells(l), m.width, l)
		}
	}
	fmt.Fprintf(s, "== %s\n", caption)
	for _, l := range lines {
		s.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
	}
}

func (s *transcript) press(m *model, keys ...key) (e effect) {
	s.t.Helper()
	for _, k := range keys {
		e = m.press(k)
	}
	s.frame(m, fmt.Sprintf("press %q", keys))
	return e
}

func (s *transcript) compare() {
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
		s.t.Errorf("frames (-want +got); -update rewrites them:\n%s", diff)
	}
}

// The overview shows lists with open items and lists that changed today, newest
// first, and counts those that do not fit.
func TestOverview(t *testing.T) {
	s := &transcript{t: t}
	m := newModel("")
	m.now, m.width, m.height, m.sourceName = noon(), 72, 6, "todo.db"
	s.frame(m, "not yet connected")
	m.receiveLists(nil, true)
	s.frame(m, "no lists")
	m = modelWith(72, 40, exampleLists()...)
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

// "/" filters by what a person sees of a list, including old lists; Escape clears
// the filter.
func TestFilter(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(72, 12, exampleLists()...)
	s.press(m, "/", "L", "o", "n", "g")
	s.press(m, keyBackspace, "x", "q")
	s.press(m, keyEraseAll, "p", "a", "p", "e", "r", keyEnter)
	s.press(m, keyEnter)
	s.press(m, keyEscape, keyEscape)
	s.compare()
}

// The arrows step through the history of the opened list; "l" and End return to
// the live list, which may have changed since.
func TestHistory(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(72, 14, exampleLists()...)
	s.press(m, keyEnter)
	if e := s.press(m, keyLeft); e.history != "release" {
		t.Errorf("asked for the history of %q", e.history)
	}
	m.setHistory("release", releaseHistory(), nil)
	s.frame(m, "history arrives")
	s.press(m, keyLeft)
	s.press(m, keyHome)
	m.receiveLists([]todo.Snapshot{list("release", 11, 4, 0, "completed Write tests", "completed Ship 发布 🚀")}, false)
	s.frame(m, "the list goes on")
	s.press(m, keyRight, keyRight, keyRight)
	s.press(m, keyRight)
	s.press(m, keyLeft, "l")
	s.press(m, keyLeft, keyEscape)
	s.press(m, "?", keyEscape)
	s.compare()
}

// The viewer copes with a history that is behind, was trimmed or cannot be read.
func TestHistoryUnavailable(t *testing.T) {
	m := modelWith(72, 10, exampleLists()...)
	m.press(keyEnter)
	m.press(keyHome)
	m.setHistory("other", nil, errors.New("late"))
	m.setHistory("release", releaseHistory()[1:], nil)
	if shown, _, past := m.openedSnapshot(); !past || shown.Revision != 2 {
		t.Errorf("the first revision kept is 2, shown %d", shown.Revision)
	}
	if text := strings.Join(m.frame(), "\n"); !strings.Contains(text, "earlier revisions are not kept") {
		t.Errorf("the frame does not say that the history was trimmed:\n%s", text)
	}
	if e := m.receiveLists([]todo.Snapshot{list("release", 20, 6, 0, "pending x")}, false); e.history != "release" {
		t.Errorf("revisions were skipped, but the history was read of %q", e.history)
	}
	if e := m.setHistory("release", nil, errors.New("gone")); e.history != "" || m.revision != 0 {
		t.Errorf("after an error: %+v at revision %d", e, m.revision)
	}
	if text := strings.Join(m.frame(), "\n"); !strings.Contains(text, "cannot be read") {
		t.Errorf("the frame does not say that the history cannot be read:\n%s", text)
	}
	m.receiveLists(nil, true)
	m.press(keyLeft)
	if text := strings.Join(m.frame(), "\n"); !strings.Contains(text, "This list is gone") {
		t.Errorf("the frame does not say that the list is gone:\n%s", text)
	}
}

// A long list keeps its current item in sight, and can be scrolled.
func TestLongList(t *testing.T) {
	s := &transcript{t: t}
	items := append(numbered(40, "completed"), "in_progress the forty-first")
	m := modelWith(40, 9, list("long", 1, 1, 0, append(items, numbered(20, "pending")...)...))
	s.press(m, keyEnter)
	s.press(m, keyUp)
	s.press(m, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp, keyPageUp)
	s.press(m, keyDown, keyDown)
	s.compare()
}

// The list asked for is opened, even if it is created later.
func TestWanted(t *testing.T) {
	s := &transcript{t: t}
	m := newModel("release")
	m.now, m.width, m.height, m.sourceName, m.color = noon(), 60, 8, "todo.db", true
	m.receiveLists([]todo.Snapshot{exampleLists()[1]}, true)
	s.frame(m, "not there yet")
	m.receiveLists(exampleLists(), false)
	s.frame(m, "there")
	s.compare()
	for wanted, want := range map[string]string{"website": "website", "webs": "website", "web": "", "re": "", "rele": "release"} {
		if got, _ := m.findList(wanted); got.List.ID != want {
			t.Errorf("%q finds %q, want %q", wanted, got.List.ID, want)
		}
	}
}
