package watch

import (
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
)

// handedHistory is a list of which a person reworded items and the order, and an agent
// overrode some of it.
func handedHistory() []todo.Snapshot {
	h := []todo.Snapshot{
		list("handed", 20, 1, time.Hour, "in_progress Write tests", "pending Ship", "pending Celebrate"),
		list("handed", 21, 2, 50*time.Minute, "in_progress Write tests", "pending Ship when Ann says so", "pending Celebrate with everybody who helped"),
		list("handed", 22, 3, 40*time.Minute, "in_progress Write tests", "pending Ship", "pending Celebrate with everybody who helped"),
		list("handed", 23, 4, 4*time.Minute, "completed Write tests", "pending Ship", "pending Celebrate with everybody who helped"),
	}
	for i := range h {
		h[i].Writer.Person = i%2 == 1
		if i > 0 {
			h[i].Items[1].Hand = todo.Hand{Text: "Ship when Ann says so", Replaced: "Ship", Revision: 2}
			h[i].Items[2].Hand = todo.Hand{Text: "Celebrate with everybody who helped", Replaced: "Celebrate", Revision: 2}
		}
	}
	h[3].Order = todo.Order{Person: "3,1,2", Revision: 2}
	return h
}

// Each change of a person says that it waits to be seen, is seen or is overridden, at
// its item; B brings back the words at the cursor, else the order. The history says the
// same of revisions.
func TestHand(t *testing.T) {
	s := &transcript{t: t}
	h := handedHistory()
	m := modelWith(100, 12, h[3])
	m.standings["handed"] = Standing{State: todo.Working, Hand: account.HandOf(h[2], h[3])}
	s.press(m, keyEnter)
	e := s.press(m, "B")
	if e.edit == nil || e.edit.Do != todo.EditBack || e.edit.Item != "2" || e.edit.Seen != 4 || e.edit.list != "handed" {
		t.Errorf("brings back the words by %+v", e.edit)
	}
	after := h[3]
	after.Revision = 5
	m.edited(*e.edit, h[3], todo.Outcome{After: after, Changed: true}, nil)
	s.frame(m, "it is written")
	if e := m.press(keyDown); e.edit != nil {
		t.Fatal(e)
	}
	if e := m.press("B"); e.edit == nil || e.edit.Do != todo.EditBack || e.edit.Item != "" {
		t.Errorf("brings back the order by %+v", e.edit)
	}
	m.width = 44
	s.frame(m, "narrow")
	m.width = 100
	s.press(m, "h")
	m.setHistory("handed", h, nil)
	for _, want := range []string{"waits to be seen", "overrode your words", "overridden"} {
		s.press(m, "[")
		if line := strings.Split(text(m), "\n")[5]; !strings.Contains(line, want) {
			t.Errorf("the history says %q, want %q", line, want)
		}
	}
	m.press(keyEscape)
	m.standings["handed"] = Standing{}
	s.press(m, "B")
	s.compare()
}
