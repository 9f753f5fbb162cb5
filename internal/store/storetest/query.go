package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func find(t *testing.T, s board.Store) {
	if got, err := s.Find(t.Context(), board.Query{}); err != nil || len(got) != 0 {
		t.Fatalf("find in an empty store: %v, %v", got, err)
	}
	a := mustSave(t, s, list("a", "x", 1))
	sub := list("b", "y", 1)
	sub.List.Parent, sub.List.Principal, sub.List.Client = "a", "p", "other"
	b := mustSave(t, s, sub)
	mustSave(t, s, list("c", "x", 1))
	c := mustSave(t, s, list("c", "x", 2))
	none, p, x := "", "p", "x"
	for _, q := range []struct {
		name  string
		query board.Query
		want  []string
	}{
		{"all, last saved first", board.Query{}, []string{"c", "b", "a"}},
		{"oldest first", board.Query{OldestFirst: true}, []string{"a", "b", "c"}},
		{"limit", board.Query{Limit: 2}, []string{"c", "b"}},
		{"workspace", board.Query{Workspace: &x}, []string{"c", "a"}},
		{"workspace with no list", board.Query{Workspace: &none}, nil},
		{"client", board.Query{Client: "other"}, []string{"b"}},
		{"principal", board.Query{Principal: &p}, []string{"b"}},
		{"no principal", board.Query{Principal: &none}, []string{"c", "a"}},
		{"parent", board.Query{Parent: "a"}, []string{"b"}},
		{"after", board.Query{AfterSeq: a.Seq, OldestFirst: true}, []string{"b", "c"}},
		{"after all", board.Query{AfterSeq: c.Seq}, nil},
		{"before", board.Query{BeforeSeq: c.Seq}, []string{"b", "a"}},
		{"before, limited", board.Query{BeforeSeq: c.Seq, Limit: 1}, []string{"b"}},
		{"since", board.Query{UpdatedSince: baseTime.Add(1500 * time.Millisecond)}, []string{"c"}},
		{"together", board.Query{Workspace: &x, AfterSeq: b.Seq}, []string{"c"}},
	} {
		got, err := s.Find(t.Context(), q.query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, l := range got {
			ids = append(ids, l.List.ID)
		}
		checkEqual(t, q.name, q.want, ids)
	}
	got, err := s.Find(t.Context(), board.Query{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "the newest snapshot, whole", []todo.Snapshot{c}, got)
	excerpts(t, s)
}

// excerpts tests that an excerpt has the same title, counts and times as its list, also for a sub-agent's list.
func excerpts(t *testing.T, s board.Store) {
	long := strings.Repeat("ü", 3000)
	whole := list("long", "x", 1)
	whole.List.Mirrored, whole.List.ParentConversation = false, "main"
	whole.Items = nil
	for n, status := range []todo.Status{todo.Completed, todo.Failed, todo.InProgress, todo.Pending, todo.Pending, todo.Blocked} {
		whole.Items = append(whole.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: long, Status: status, Started: baseTime})
	}
	whole = mustSave(t, s, whole, current("main", "c"))
	x := "x"
	found, err := s.Find(t.Context(), board.Query{Workspace: &x, Limit: 1, Excerpt: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d excerpts, %v", len(found), err)
	}
	got := found[0]
	checkEqual(t, "the excerpt of a list", []any{whole.Title(), whole.Counts(), whole.Updated, whole.Seq, whole.Revision, whole.List.ID, "c"},
		[]any{got.Title(), got.Counts(), got.Updated, got.Seq, got.Revision, got.List.ID, got.List.Parent})
	now, _ := got.Current()
	if now.ID != "3" || got.Worked.IsZero() == got.Writer.Person {
		t.Errorf("in progress %s, worked %v", now.ID, got.Worked)
	}
}

func history(t *testing.T, s board.Store) {
	var saved []todo.Snapshot
	for n := range int64(5) {
		saved = append(saved, mustSave(t, s, list("a", "x", n+1)))
		mustSave(t, s, list("b", "y", n+1))
	}
	for _, c := range []struct {
		after int64
		limit int
		want  []todo.Snapshot
	}{{0, 0, saved}, {2, 0, saved[2:]}, {1, 2, saved[1:3]}, {5, 0, nil}, {9, 3, nil}} {
		got, err := s.History(t.Context(), "a", c.after, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			got = nil
		}
		checkEqual(t, fmt.Sprintf("after %d, limit %d", c.after, c.limit), c.want, got)
	}
	if got, err := s.History(t.Context(), "none", 0, 0); err != nil || len(got) != 0 {
		t.Errorf("history of an unknown list: %v, %v", got, err)
	}
}

// findByOperation tests that the other conditions of a query apply to the snapshot that an operation saved, so that no
// principal finds another's list by a guessed operation id.
func findByOperation(t *testing.T, s board.Store) {
	next := list("a", "x", 1)
	next.Operation = todo.Operation{ID: "op"}
	first := mustSave(t, s, next)
	mustSave(t, s, list("a", "x", 2))
	principal, other := "", "somebody"
	for _, q := range []struct {
		name  string
		query board.Query
		found bool
	}{
		{"alone", board.Query{}, true},
		{"its principal", board.Query{Principal: &principal}, true},
		{"another principal", board.Query{Principal: &other}, false},
		{"its workspace", board.Query{Workspace: &first.List.Workspace}, true},
		{"another workspace", board.Query{Workspace: &other}, false},
		{"another parent", board.Query{Parent: "p"}, false},
		{"since it", board.Query{UpdatedSince: first.Updated}, true},
		{"since after it", board.Query{UpdatedSince: first.Updated.Add(1)}, false},
		{"after one before", board.Query{AfterSeq: first.Seq - 1}, true},
		{"after itself", board.Query{AfterSeq: first.Seq}, false},
		{"limit", board.Query{Limit: 1, OldestFirst: true}, true},
	} {
		q.query.Operation = "op"
		got, err := s.Find(t.Context(), q.query)
		if err != nil || (len(got) == 1) != q.found {
			t.Errorf("%s: found %d, %v", q.name, len(got), err)
		}
		if len(got) == 1 {
			checkEqual(t, q.name, first, got[0])
		}
	}
}

// findText tests that a text is found in the last revision that has it in its title or in the text, active text or
// reason of an item, also a text with characters that have a meaning in SQL or JSON.
func findText(t *testing.T, s board.Store) {
	revision := func(id, workspace string, texts ...string) {
		t.Helper()
		next := list(id, workspace, 1)
		if newest, err := s.Load(t.Context(), id, 0); err == nil {
			next.Revision = newest.Revision + 1
		}
		next.Items, next.GivenTitle, next.Report = []todo.Item{}, "", todo.Report{}
		for n, text := range texts {
			next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: text, Status: todo.Pending})
		}
		if texts == nil {
			next.GivenTitle = "Parser release"
			next.Items = []todo.Item{{ID: "1", Text: "x", Active: "doing ÄRGER", Reason: "kein Größtes", Status: todo.Blocked}}
		}
		mustSave(t, s, next)
	}
	revision("a", "x", "Write the Parser", "100%_done")
	revision("a", "x", "Write the lexer", `say "a\b" <b> & 'c'`)
	revision("b", "y", "other")
	revision("a", "x", "done")
	revision("c", "x")
	revision("b", "y", "parser, pending", "parser again")
	for i := range 3 {
		revision("e", "z", fmt.Sprint("step ", i), "status of the parsing")
	}
	revision("d", "x", "parser")
	gone := list("d", "x", 2)
	gone.Deleted = true
	mustSave(t, s, gone)
	x, other := "x", "other"
	all, err := s.Find(t.Context(), board.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		query board.Query
		want  string // ids and revisions
	}{
		{"parser", board.Query{}, "b2 c1 a1"},
		{"PARSER", board.Query{OldestFirst: true}, "a1 c1 b2"},
		{"parser", board.Query{Limit: 2}, "b2 c1"},
		{"parser", board.Query{Limit: 1, OldestFirst: true, Excerpt: true}, "a1"},
		{"parser", board.Query{Workspace: &x}, "c1 a1"},
		{"parser", board.Query{Principal: &other}, ""},
		{"parser", board.Query{BeforeSeq: all[1].Seq}, "c1 a1"},
		{"parser", board.Query{AfterSeq: all[3].Seq, BeforeSeq: all[0].Seq}, "b2 c1"},
		{"parser", board.Query{Deleted: true, Limit: 1}, "d1"},
		{"ärger", board.Query{}, "c1"}, {"grössT", board.Query{}, ""}, {"GRÖß", board.Query{}, "c1"}, {"rger", board.Query{}, "c1"},
		{`"a\b" <B> & 'C'`, board.Query{}, "a2"}, {`\`, board.Query{}, "a2"}, {"%", board.Query{}, "a1"}, {"0%_d", board.Query{}, "a1"}, {"_", board.Query{}, "a1"}, {"e_e", board.Query{}, ""},
		{"pending", board.Query{}, "b2"}, {"status", board.Query{}, "e3"}, {"items", board.Query{}, ""}, {"step 1", board.Query{}, "e2"}, {"step", board.Query{}, "e3"},
		{"\x00", board.Query{}, ""}, {"\xff", board.Query{}, ""}, {"日本", board.Query{}, ""}, {strings.Repeat("y", 5000), board.Query{}, ""},
	} {
		c.query.Text = c.text
		found, err := s.Find(t.Context(), c.query)
		var got []string
		for _, l := range found {
			whole, err := s.Load(t.Context(), l.List.ID, l.Revision)
			if err != nil {
				t.Fatal(err)
			}
			checkEqual(t, c.text, whole, l)
			got = append(got, fmt.Sprint(l.List.ID, l.Revision))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q, %+v: %v, want %s, %v", c.text, c.query, got, c.want, err)
		}
	}
}

// since tests that UpdatedSince compares times to the nanosecond, even
// centuries away (BAD-INPUT 57).
//
// BAD-INPUT 57: A clock jumps by a year, even for one save → Revisions, their order and chats' lists are unharmed;
// nothing is deleted too early
func since(t *testing.T, s board.Store) {
	for _, updated := range []time.Time{baseTime, baseTime.AddDate(-400, 0, 0), baseTime.AddDate(400, 0, 0), {}} {
		next := list("l"+updated.Format(time.RFC3339Nano), "x", 1)
		next.Updated = updated
		mustSave(t, s, next)
	}
	for _, c := range []struct {
		since time.Time
		want  int
	}{{baseTime, 2}, {baseTime.Add(1), 1}, {baseTime.Add(-1), 2}, {baseTime.AddDate(100, 0, 0), 1}, {time.Time{}, 4}} {
		got, err := s.Find(t.Context(), board.Query{UpdatedSince: c.since})
		if err != nil || len(got) != c.want {
			t.Errorf("since %v: found %d, want %d, %v", c.since, len(got), c.want, err)
		}
	}
}

// anyText tests that texts of all kinds, up to [todo.MaxText] long, are stored
// unchanged.
func anyText(t *testing.T, s board.Store) {
	next := list("a", "x", 1)
	next.Items = nil
	texts := []string{"", " ", "日本語", "👩‍👩‍👧 🇩🇪", "e\u0301", "\u202eright to left", "\u2028\u2029", `'; DROP TABLE lists; --`, `"\\"`, "<script>&amp;", "\x01\x7f\u0085", "\ufeff\ufffd"}
	texts = append(texts, strings.Repeat("漢", todo.MaxText))
	for _, text := range texts {
		next.Items = append(next.Items, todo.Item{ID: text, Text: text, Active: text, Status: todo.Status(text)})
	}
	next.List.Name, next.List.Workspace, next.Writer.Client = texts[7], texts[3], texts[5]
	next.List.Conversation, next.List.Principal = texts[8], texts[2]
	saved := mustSave(t, s, next)
	got, err := s.Find(t.Context(), board.Query{Workspace: &next.List.Workspace, Principal: &next.List.Principal})
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "any text", []todo.Snapshot{saved}, got)
}
