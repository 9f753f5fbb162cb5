package account_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// handed is a list through its revisions, the last one at the end.
type handed struct {
	revisions []todo.Snapshot
}

func (h *handed) last() todo.Snapshot { return h.revisions[len(h.revisions)-1] }

// next makes the next revision, by a person or an agent.
func (h *handed) next(person bool, change func(s *todo.Snapshot)) {
	s := h.last()
	s.Items = slices.Clone(s.Items)
	s.Revision++
	s.Writer.Person = person
	if !person {
		s.Worked = noon()
	}
	change(&s)
	h.revisions = append(h.revisions, s)
}

// The account of a person's edits, by what the agent last saw: each step is a revision,
// and what is then said of the items 1 to 3, of the order, of the title and of each
// revision that a person made.
func TestEdits(t *testing.T) {
	reword := func(id int, from, to string) func(s *todo.Snapshot) {
		return func(s *todo.Snapshot) {
			s.Items[id-1].Text = to
			s.Items[id-1].PersonEdit = todo.PersonEdit{Text: to, Replaced: from, Revision: s.Revision}
		}
	}
	nothing := func(*todo.Snapshot) {}
	move := func(s *todo.Snapshot) {
		s.Items = []todo.Item{s.Items[2], s.Items[0], s.Items[1]}
		s.Order = todo.PersonEdit{Replaced: "1,2,3", Text: "3,1,2", Revision: s.Revision}
	}
	type step struct {
		person bool
		change func(s *todo.Snapshot)
		saw    int64 // the revision that agents last saw
		want   string
	}
	for name, steps := range map[string][]step{
		"a text": {
			{true, reword(2, "B", "X"), 1, "2: waits to be seen; 2 waits to be seen"},
			{true, func(s *todo.Snapshot) { s.Items[0].Status = todo.Completed }, 1, "1: waits to be seen, 2: waits to be seen; 2 waits to be seen, 3 waits to be seen"},
			{false, nothing, 4, "2: seen; 2 seen, 3 seen"},
			{true, func(s *todo.Snapshot) { s.Items[1].Status = todo.Completed }, 4, "2: waits to be seen; 2 seen, 3 seen, 5 waits to be seen"},
			{false, func(s *todo.Snapshot) { s.Items[1].Text = "B" }, 6, "2: overridden; 2 overridden, 3 seen, 5 seen"},
			{true, func(s *todo.Snapshot) { s.Archived = true }, 6, "2: overridden; 2 overridden, 3 seen, 5 seen"},
			{true, reword(2, "B", "X"), 6, "2: waits to be seen; 2 seen, 3 seen, 5 seen, 8 waits to be seen"},
			{true, nothing, 8, "2: seen; 2 seen, 3 seen, 5 seen, 8 seen"},
			{false, func(s *todo.Snapshot) { s.Items[1].Text, s.Items[1].PersonEdit = "Y", todo.PersonEdit{} }, 10, "; 2 seen, 3 seen, 5 seen, 8 seen"},
		},
		"a text that is undone": {
			{true, reword(2, "B", "X"), 1, "2: waits to be seen; 2 waits to be seen"},
			{true, reword(2, "X", "B"), 1, "; 2 waits to be seen, 3 waits to be seen"},
		},
		"the order": {
			{true, move, 1, "3: waits to be seen, order waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "order seen; 2 seen"},
			{false, func(s *todo.Snapshot) {
				s.Items = []todo.Item{s.Items[1], s.Items[2], s.Items[0]}
			}, 4, "order overridden; 2 overridden"},
			{false, func(s *todo.Snapshot) { s.Items = []todo.Item{s.Items[2], s.Items[0], s.Items[1]} }, 5, "order seen; 2 seen"},
		},
		"the title": {
			{true, func(s *todo.Snapshot) { s.GivenTitle = "T" }, 1, "title waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "; 2 seen"},
		},
		"added and removed": {
			{true, func(s *todo.Snapshot) { s.Items = append(s.Items[1:], todo.Item{ID: "4", Text: "D"}) }, 1, "1: waits to be seen, 4: waits to be seen; 2 waits to be seen"},
			{false, nothing, 3, "; 2 seen"},
		},
	} {
		first := list("m", 1, "pending pending pending")
		first.Worked = noon()
		for i, text := range []string{"A", "B", "C"} {
			first.Items[i].Text = text
		}
		h := &handed{revisions: []todo.Snapshot{first}}
		for _, c := range steps {
			h.next(c.person, c.change)
			if got := said(h, c.saw); got != c.want {
				t.Errorf("%s, revision %d: %q, want %q", name, h.last().Revision, got, c.want)
			}
		}
	}
}

// said returns what the account says after the last revision.
func said(h *handed, saw int64) string {
	edits, text := account.EditsOf(h.revisions[saw-1], h.last()), ""
	add := func(what string, fate account.Fate, between string) {
		if fate != "" && text != "" && text[len(text)-2:] != "; " {
			text += ", "
		}
		if fate != "" {
			text += what + between + string(fate)
		}
	}
	for id := range 5 {
		add(fmt.Sprint(id), edits.Of(fmt.Sprint(id)), ": ")
	}
	add("order", edits.Order, " ")
	add("title", edits.Title, " ")
	text += "; "
	for n, r := range h.revisions[1:] {
		if account.Told(h.revisions[n], r) {
			add(fmt.Sprint(r.Revision), edits.OfRevision(r.Revision), " ")
		}
	}
	return text
}

// Of a list that no agent is known to have seen nothing is said to be seen.
func TestHandWithoutAgent(t *testing.T) {
	h := &handed{revisions: []todo.Snapshot{list("m", 1, "pending")}}
	h.next(true, func(s *todo.Snapshot) {
		s.Items[0].Text, s.Items[0].PersonEdit = "X", todo.PersonEdit{Text: "X", Replaced: "A", Revision: 2}
	})
	if got := said(h, 2); got != "; " {
		t.Errorf("%q", got)
	}
}

// The revision with which an agent overrode a person is known by what it overrode.
func TestOverrode(t *testing.T) {
	before := list("m", 1, "pending pending")
	before.Items[0].PersonEdit = todo.PersonEdit{Text: before.Items[0].Text, Replaced: "A"}
	before.Order = todo.PersonEdit{Replaced: "1,2", Text: "2,1"}
	slices.Reverse(before.Items)
	after := before
	after.Items = slices.Clone(before.Items)
	slices.Reverse(after.Items)
	after.Items[0].PersonEdit.Repeats = 1
	if !account.Repeated(before, after) || account.Repeated(after, after) || account.Repeated(after, before) {
		t.Error("the revision with which an agent repeated what a person replaced is not known")
	}
	after.Items[0].Text = "A"
	forgotten := before
	forgotten.Order = todo.PersonEdit{} // as a store may have it of an earlier revision
	for _, c := range []struct {
		before, after todo.Snapshot
		want          string
	}{{before, after, "[1] true"}, {forgotten, after, "[1] true"}, {before, before, "[] false"}, {after, after, "[] false"}, {todo.Snapshot{}, after, "[] false"}} {
		items, order := account.Overrode(c.before, c.after)
		got := []string{}
		for _, i := range items {
			got = append(got, i.ID)
		}
		if text := fmt.Sprint(got, order); text != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}
