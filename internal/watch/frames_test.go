package watch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// One pane: the lists with an agent by project, then those left open, then those
// finished today, one line each; the selected one unfolds.
func TestOnePane(t *testing.T) {
	s := &transcript{t: t}
	m := newModel("")
	m.now, m.width, m.height, m.sourceName = noon(), 80, 6, "todo.db"
	s.frame(m, "not yet connected")
	m.receiveLists(nil, true)
	s.frame(m, "no lists")
	m = modelWith(80, 24, exampleLists()...)
	s.frame(m, "room for all")
	s.press(m, keyDown)
	s.press(m, keyDown, keyDown, "j")
	s.press(m, "G")
	m.height = 8
	s.frame(m, "less room")
	s.press(m, "g")
	s.press(m, keyEnter)
	m.width, m.height = 30, 9
	s.frame(m, "narrow")
	s.press(m, keyEscape)
	m.width, m.height = 3, 1
	s.frame(m, "hardly anything")
	s.compare()
}

// Two panes from 100 columns: the right one follows the selection until it is
// opened.
func TestTwoPanes(t *testing.T) {
	for name, size := range map[string][2]int{"100x30": {100, 30}, "120x30": {120, 30}, "200x50": {200, 50}} {
		t.Run(name, func(t *testing.T) {
			s := &transcript{t: t}
			m := modelWith(size[0], size[1], exampleLists()...)
			s.frame(m, "first")
			s.press(m, "G", "k", "k", "k", "k")
			s.press(m, keyEnter)
			if name == "120x30" {
				s.press(m, keyDown, keyDown)
				s.press(m, keyEnter)
				s.press(m, keyEscape, keyEscape)
			}
			s.compare()
		})
	}
}

// The colours, by role.
func TestColours(t *testing.T) {
	s := &transcript{t: t, painted: true}
	s.frame(modelWith(100, 12, exampleLists()...), "painted")
	s.compare()
}

// "/" searches what a person sees of a list, including past lists, and marks what
// it found; Escape clears it.
func TestSearch(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(80, 12, exampleLists()...)
	s.press(m, "/", "O", "l", "d")
	s.press(m, keyBackspace, "x", "q")
	s.press(m, keyEraseAll, "p", "a", "p", "e", "r", keyEnter)
	s.painted = true
	s.press(m, "/", keyEraseAll, "w", "e", "b")
	s.painted = false
	s.press(m, keyEscape)
	s.compare()
}

// The history: a tick for each revision, changes in words, restoring after a
// question.
func TestHistory(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(100, 16, exampleLists()...)
	m.board.cursor = "release"
	if e := s.press(m, "h"); e.history != "release" {
		t.Errorf("asked for the history of %q", e.history)
	}
	m.setHistory("release", releaseHistory(), nil)
	s.frame(m, "the history arrives")
	s.press(m, "[")
	s.painted = true
	s.press(m, keyHome)
	s.painted = false
	m.receiveLists([]todo.Snapshot{list("release", 20, 4, 0, "completed Write tests", "completed Ship 发布 🚀")}, false)
	s.frame(m, "the list goes on")
	s.press(m, "]", "]")
	s.press(m, "]")
	s.press(m, "[", "R")
	if e := m.press("y"); e.edit == nil || e.edit.Do != todo.EditRestore || e.edit.Revision != 3 {
		t.Errorf("restores by %+v", e.edit)
	}
	s.press(m, keyEscape)
	s.compare()
}

// The overlay has every key of the table, in two columns where there is room, and
// says what the source does not offer.
func TestOverlay(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(120, 44, exampleLists()...)
	s.press(m, "?")
	m.width, m.height = 60, 14
	s.frame(m, "small")
	s.press(m, keyPageDown, keyPageDown)
	s.press(m, keyEscape)
	s.compare()
}

// What a person edits: prompts, questions, and what is said afterwards.
func TestPrompts(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(100, 14, exampleLists()...)
	m.board.cursor = "release"
	s.press(m, "e")
	s.press(m, keyHome, "N", "o", "w", " ")
	e := s.press(m, keyEnter)
	after := m.lists["release"]
	after.Revision, after.Writer.Person = 4, true
	m.edited(*e.edit, m.lists["release"], todo.Outcome{After: after, Changed: true}, nil)
	m.standings["release"] = Standing{State: todo.Working, Hand: account.Hand{Unseen: []string{"2"}}}
	s.frame(m, "it is written")
	s.press(m, keyEnter, "b")
	s.press(m, keyEscape)
	s.press(m, "D")
	s.press(m, "n")
	s.press(m, "n", keyEnter)
	e = s.press(m, "M", "o", "r", "e", keyEnter)
	m.edited(*e.edit, after, todo.Outcome{}, errors.New("the store is full"))
	s.frame(m, "it is refused")
	s.compare()
}

// The source is lost: a ring, "not live", the times stop, nothing can be changed.
func TestLost(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(100, 12, exampleLists()...)
	m.lose(errors.Join(errors.New("connection refused")))
	m.now = m.now.Add(7 * time.Minute)
	m.lose(errors.New("connection refused"))
	s.frame(m, "seven minutes later")
	if e := s.press(m, "x"); e.edit != nil {
		t.Errorf("would change %+v", e.edit)
	}
	m.receiveLists(exampleLists(), true)
	s.frame(m, "back")
	s.compare()
}

// What is rare: a list that is gone, an archived one, an item's whole text, no
// item under the cursor, and a text that is typed while the server is lost.
func TestRareStates(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(80, 10, list("gone", 1, 1, 0, "pending x"))
	m.press(keyEnter)
	m.receiveLists(nil, true)
	s.frame(m, "gone")
	away := list("away", 2, 2, time.Hour, "completed a", "completed b", "pending c")
	away.Archived = true
	m = modelWith(80, 10, away)
	s.frame(m, "archived")
	s.press(m, "/", "a", "w", keyEnter, keyEnter)
	s.press(m, keyUp, "x")
	m = modelWith(40, 12, list("long", 1, 1, 0, "in_progress "+strings.Repeat("many words ", 20)))
	s.press(m, keyEnter)
	s.press(m, keyEnter)
	s.press(m, "n", keyPaste+"typed before")
	m.lose(errors.New("refused"))
	if e := s.press(m, keyEnter); e.edit != nil {
		t.Errorf("sends %+v", e.edit)
	}
	m.receiveLists(nil, false)
	if e := s.press(m, keyEnter); e.edit == nil || e.edit.Text != "typed before" {
		t.Errorf("sends %+v", e.edit)
	}
	s.compare()
}

// A long list keeps its current item in sight, counts what does not fit, and can
// be scrolled and unfolded.
func TestLongList(t *testing.T) {
	s := &transcript{t: t}
	items := append(numbered(40, "completed"), "in_progress the forty-first, whose text is so long that it takes more than a line")
	m := modelWith(40, 12, list("long", 1, 1, 0, append(items, numbered(20, "pending")...)...))
	s.press(m, keyEnter)
	s.press(m, keyPageDown, keyPageDown)
	s.press(m, "G")
	s.press(m, "g")
	s.press(m, keyEnter, keyDown, keyDown)
	s.compare()
}

// The morning after, the board shows the last day on which a list finished.
func TestMorningAfter(t *testing.T) {
	s := &transcript{t: t}
	m := modelWith(80, 8, list("old", 6, 2, 50*time.Hour, "completed long ago"), list("older", 5, 2, 80*time.Hour, "completed longer ago"))
	s.frame(m, "nothing open")
	for id, l := range m.lists {
		l.Archived = true
		m.lists[id] = l
	}
	s.frame(m, "what finished counts as archived after a day")
	s.compare()
}

// The list asked for is opened, even if it begins later.
func TestWanted(t *testing.T) {
	s := &transcript{t: t}
	m := newModel("release")
	m.now, m.width, m.height, m.sourceName = noon(), 60, 10, "todo.db"
	m.receiveLists([]todo.Snapshot{exampleLists()[3]}, true)
	s.frame(m, "others are there")
	m.receiveLists(exampleLists(), false)
	s.frame(m, "there")
	s.compare()
	for wanted, want := range map[string]int{"website": 1, "webs": 1, "ReLeAsE": 1, "build": 0, "re": 3, "researcher": 1} {
		if got := m.findLists(wanted); len(got) != want {
			t.Errorf("%q finds %d, want %d", wanted, len(got), want)
		}
	}
	m = newModel("re")
	m.now, m.width, m.height, m.sourceName = noon(), 60, 10, "todo.db"
	m.receiveLists(exampleLists(), true)
	if m.opened != "" || m.filter != "re" {
		t.Errorf("of several lists %q was opened, and %q is searched", m.opened, m.filter)
	}
}
