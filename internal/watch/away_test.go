package watch

import (
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// A list that its chat put away for its next plan is off the board, and says what
// replaced it. One without items is on the board only while an agent may fill it.
func TestPutAwayAndEmptyLists(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	list := func(id, text string) todo.Snapshot {
		s := todo.Snapshot{List: todo.List{ID: id, Conversation: "c"}, Revision: 1, Updated: at, Worked: at, First: text, Items: []todo.Item{}}
		if text != "" {
			s.Items = []todo.Item{{ID: "1", Text: text, Status: todo.Pending}}
		}
		return s
	}
	old, next, filling, bare := list("old", "Old plan"), list("next", "Next plan"), list("filling", ""), list("bare", "")
	filling.GivenTitle, bare.GivenTitle = "About to begin", "Never begun"
	lines := func(m *model) string { return unpainted(strings.Join(m.boardLines(100, 20, false), "\n")) }

	var out strings.Builder
	p := newPlain(&out, func() time.Time { return at })
	p.print([]todo.Snapshot{old}, true)
	old.Revision, old.Archived, old.ReplacedBy = 2, true, "next"
	p.standings = map[string]Standing{"bare": {State: todo.Finished}, "filling": {State: todo.Working}}
	p.print([]todo.Snapshot{old, next, filling, bare}, false)
	if got := out.String(); !strings.Contains(got, "Old plan  0/1  archived, replaced by “Next plan”") {
		t.Error(got)
	}
	board := lines(p.model)
	if strings.Contains(board, "Old plan") || strings.Contains(board, "Never begun") || !strings.Contains(board, "Next plan") || !strings.Contains(board, "About to begin") {
		t.Errorf("the board:\n%s", board)
	}
	p.filter = "Never"
	if got := lines(p.model); !strings.Contains(got, "Never begun") {
		t.Errorf("searched:\n%s", got)
	}
	p.filter = ""
	if got := p.whoLine(old, 100); !strings.Contains(got, "archived, replaced by “Next plan”") || strings.Contains(got, "put away") {
		t.Error(got)
	}
	out.Reset()
	old.Revision, old.Archived, old.ReplacedBy = 3, false, ""
	if p.print([]todo.Snapshot{old}, false); !strings.Contains(out.String(), "Old plan  0/1  brought back") {
		t.Error(out.String())
	}
	if got := lines(p.model); !strings.Contains(got, "Old plan") {
		t.Errorf("brought back:\n%s", got)
	}
}
