package tools_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// edit makes an edit of the session's list as a person.
func (s *session) edit(e todo.Edit) {
	s.t.Helper()
	if _, err := s.board.As("").Edit(context.Background(), s.list().List.ID, e, todo.Writer{Client: "panel"}); err != nil {
		s.t.Fatal(err)
	}
}

// expect calls TodoWrite with items as [todos] has them and checks what the answer
// says after its counts.
func (s *session) expect(ending string, lines ...string) {
	s.t.Helper()
	got := s.call("TodoWrite", todos(lines...))
	_, rest, _ := strings.Cut(got.Text, " pending")
	if rest = strings.TrimPrefix(rest, "\n"); rest != ending {
		s.t.Errorf("%.80q\nanswered %s\nwant %s", lines, got.Text, ending)
	}
}

// H1: an agent is told what a person did to an item in one phrase, of a text whole up
// to 500 characters. Of a longer one it is told both ends, and the item's number.
func TestAPersonsTextsAreTold(t *testing.T) {
	long, longer := strings.Repeat("x", 499)+"y", strings.Repeat("x", 550)+strings.Repeat("y", 550)
	cut := strings.Repeat("x", 248) + " … " + strings.Repeat("y", 248)
	for _, c := range []struct {
		rule  string
		edits []todo.Edit
		want  string
	}{
		{"whole up to 500", []todo.Edit{{Do: todo.EditAdd, Text: long}}, `added "` + long + `"`},
		{"cut, with the number", []todo.Edit{{Do: todo.EditAdd, Text: longer}}, `added item 4 "` + cut + `"`},
		{"reworded to what is cut", []todo.Edit{{Do: todo.EditText, Item: "2", Text: longer}}, `reworded item 2 "B" to "` + cut + `"`},
		{"several changes, one phrase", []todo.Edit{{Do: todo.EditText, Item: "2", Text: "B2"}, {Do: todo.EditStatus, Item: "2", Status: todo.Completed}}, `reworded "B" to "B2" and set it to completed`},
		{"reworded and blocked", []todo.Edit{{Do: todo.EditText, Item: "2", Text: "B2"}, {Do: todo.EditBlock, Item: "2", Text: "no key"}}, `reworded "B" to "B2" and set it to blocked ("no key")`},
		{"added and set", []todo.Edit{{Do: todo.EditAdd, Text: "D"}, {Do: todo.EditStatus, Item: "4", Status: todo.Completed}}, `added "D" and set it to completed`},
		{"reworded twice", []todo.Edit{{Do: todo.EditText, Item: "2", Text: "B2"}, {Do: todo.EditText, Item: "2", Text: "B3"}}, `reworded "B" to "B3"`},
		{"order", []todo.Edit{{Do: todo.EditMove, Item: "3", To: 0}}, `put the items in this order: "C", "A", "B"`},
		{"order and text of one item", []todo.Edit{{Do: todo.EditMove, Item: "3", To: 0}, {Do: todo.EditText, Item: "3", Text: "C2"}}, `reworded "C" to "C2", put the items in this order: "C2", "A", "B"`},
		{"title", []todo.Edit{{Do: todo.EditRename, Text: "Release 2"}}, `named the list "Release 2"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newSession(t, nil)
			s.expect("", "p A", "p B", "p C")
			for _, e := range c.edits {
				s.edit(e)
			}
			got := s.call("update_todo", `{"id":"1","status":"running"}`).Text
			if want := "\nThe user changed the list: " + c.want; !strings.HasSuffix(got, want) {
				t.Errorf("got\n%s\nwant%s", got, want)
			}
			if got := s.call("update_todo", `{"id":"1","status":"completed"}`).Text; strings.Contains(got, "The user") {
				t.Errorf("told twice:\n%s", got)
			}
		})
	}
}

// H1: up to 30 changes are told, more are counted.
func TestThirtyChangesAreTold(t *testing.T) {
	for n, want := range map[int]string{30: `added "n", added "n"`, 33: `added "n" and 3 more`} {
		s := newSession(t, nil)
		s.expect("", "p A")
		s.editAsPerson(func(d *todo.Draft) error { d.Append(strings.Fields(strings.Repeat("n ", n))...); return nil })
		got := s.call("write_todos", todos("i A")).Text
		if !strings.HasSuffix(got, want) || strings.Count(got, "added") != 30 {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// H2: an agent that was told of a person's wording and sends the one before is told
// again, three times. Then its wish counts. Another wording is its wish at once.
func TestAPersonsWordingStays(t *testing.T) {
	s := newSession(t, nil)
	s.expect("", "p A", "p B")
	s.edit(todo.Edit{Do: todo.EditText, Item: "2", Text: "Better"})
	s.expect(`The user changed the list: reworded "B" to "Better"`, "i A", "p B")
	for n, args := range [][]string{{"c A", "p B"}, {"c A", "i b."}, {"c A", "p B"}} {
		s.expect(`What the user changed stays: "Better", not "`+args[1][2:]+`"`, args...)
		if got := s.list().Items[1].Text; got != "Better" {
			t.Errorf("%d: %s", n, got)
		}
	}
	s.expect("", "c A", "p B")
	if item := s.list().Items[1]; item.Text != "B" || item.ID != "2" || !item.Overridden() {
		t.Errorf("the fourth time is the agent's wish: %+v", item)
	}

	s = newSession(t, nil)
	s.expect("", "p A", "p B")
	s.edit(todo.Edit{Do: todo.EditText, Item: "2", Text: "Better"})
	s.expect(`The user changed the list: reworded "B" to "Better"`, "i A", "p B")
	if got := s.call("TodoWrite", `{"todos":[{"id":"1","content":"A","activeForm":"A","status":"completed"},{"id":"2","content":"Best","activeForm":"B","status":"pending"}]}`); s.list().Items[1].Text != "Best" {
		t.Errorf("a wording of its own: %s", got.Text)
	}
}

// H2: the order that a person changed is not put back by habit.
func TestAPersonsOrderStays(t *testing.T) {
	s := newSession(t, nil)
	s.expect("", "p A", "p B", "p C")
	s.edit(todo.Edit{Do: todo.EditMove, Item: "3", To: 0})
	s.expect(`The user changed the list: put the items in this order: "C", "A", "B"`, "i A", "p B", "p C")
	for n := range 3 {
		s.expect(`What the user changed stays: the order "C", "A", "B"`, "c A", "icp"[n:n+1]+" B", "p C")
	}
	s.expect("", "c A", "p B", "p C")
	if l := s.list(); l.Items[0].Text != "A" || !l.Order.Overridden() {
		t.Errorf("the fourth time is the agent's wish: %+v", l)
	}
}

// T2: what a person wrote may be written back, as it is stored and as it was told, also
// where it is longer than TodoWrite's own limit. A new text may not.
func TestALongTextOfAPersonMayBeWrittenBack(t *testing.T) {
	long, longer := strings.Repeat("long ", 60)+"end", strings.Repeat("longer ", 100)+"end"
	line := func(content, active string) string {
		return fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":"pending"}`, content, active)
	}
	call := func(lines ...string) string { return `{"todos":[` + strings.Join(lines, ",") + `]}` }
	const short, refused = `{"content":"A","activeForm":"A","status":"in_progress"}`, "Error: Validation failed\n- "
	for _, limit := range []int{200, 3} {
		s := newSession(t, func(o *tools.Options) { o.MaxContentLength = limit })
		s.call("TodoWrite", call(short))
		s.edit(todo.Edit{Do: todo.EditAdd, Text: long})
		s.edit(todo.Edit{Do: todo.EditAdd, Text: longer})
		s.call("update_todo", `{"id":"1","status":"completed"}`)
		s.call("TodoWrite", call(short, line(long, "x"), line(longer, "x")))
		for _, args := range []string{
			call(short, line(long, long), line(longer, "x")),
			call(short, line(long, "Doing "+long), line(todo.Told(longer), "x")),
			call(short, line(todo.Excerpt(long), todo.Excerpt(long)), line(longer, longer)),
			call(short, `{"id":"2",`+line(long, "x")[1:], `{"id":"3",`+line(longer, "x")[1:]),
		} {
			if got := s.call("TodoWrite", args); got.IsError {
				t.Errorf("limit %d: %.90s is refused: %s", limit, args, got.Text)
			}
			if l := s.list(); len(l.Items) != 3 || l.Items[1].Text != long || l.Items[2].Text != longer {
				t.Fatalf("limit %d: %.90s made %+v", limit, args, l.Items)
			}
		}
		tooLong := func(path string, n int) string {
			return fmt.Sprintf("%s: Must be at most %d characters, received %d", path, limit, n)
		}
		for _, c := range []struct{ args, want string }{
			{call(short, line(long+"!!", "x")), tooLong("todos[1].content", 305)},
			{call(short, line(long, "x"), line(long, "x")), tooLong("todos[2].content", 303)},
			{call(short, line("B", "Doing "+long)), tooLong("todos[1].activeForm", 309)},
			{call(line("B", "B"), `{"id":"3",`+line(long, "x")[1:]), tooLong("todos[1].content", 303)},
			{call(line("", "x"), line(long, "x"), line("new"+long, "x"), `{"content":"C","activeForm":"C","status":"done"}`), "todos[0].content: Must not be blank\n- " +
				tooLong("todos[2].content", 306) + "\n- todos[3].status: Expected 'pending' | 'in_progress' | 'completed', received 'done'"},
			{call(line(strings.Repeat("x", 4001), "x"), line("new"+long, "x")), tooLong("todos[0].content", 4001) + "\n- " + tooLong("todos[1].content", 306)},
		} {
			if got := s.call("TodoWrite", c.args); !got.IsError || got.Text != refused+c.want {
				t.Errorf("limit %d: %.90s\nanswered %s\nwant %s", limit, c.args, got.Text, refused+c.want)
			}
		}
	}
}

// P3: what was put away is told in every language, and not at all if nothing of it was
// open.
func TestPutAwayInEveryLanguage(t *testing.T) {
	for language, want := range map[string]string{
		"en": `Put away the earlier plan, open: "A", "B"`, "zh": `已搁置之前的计划,未完成:"A", "B"`, "vi": `Đã cất kế hoạch trước, còn mở: "A", "B"`,
	} {
		s := newSession(t, func(o *tools.Options) { o.Language = language })
		update := tools.Find(s.tools, "update_todo")
		call, err := update.Read([]byte(`{"id":"1","status":"running"}`))
		if err != nil {
			t.Fatal(err)
		}
		away := todo.PutAway{Title: "A", Open: []todo.Item{{Text: "A"}, {Text: "B"}}}
		if got := update.Result(call, todo.Outcome{Changed: true, Report: todo.Report{PutAway: away}}).Text; !strings.HasSuffix(got, "\n"+want) {
			t.Errorf("%s\nwant the ending %s", got, want)
		}
		away.Open = nil
		if got := update.Result(call, todo.Outcome{Changed: true, Report: todo.Report{PutAway: away}}).Text; strings.Count(got, "\n") != 1 {
			t.Errorf("nothing was open: %s", got)
		}
	}
}

// K5: a priority belongs to its item also where the agent sends a long text as it was
// told it.
func TestDetailsOfALongText(t *testing.T) {
	s := newSession(t, nil)
	s.expect("", "p A")
	longer := strings.Repeat("longer ", 100) + "end"
	s.edit(todo.Edit{Do: todo.EditAdd, Text: longer})
	s.call("update_todo", `{"id":"1","status":"completed"}`)
	s.call("SetTodoList", fmt.Sprintf(`{"todos":[{"title":"A","status":"done"},{"title":%q,"status":"pending","priority":"high"}]}`, todo.Told(longer)))
	if item := s.list().Items[1]; item.Text != longer || item.Priority != "high" {
		t.Errorf("%+v", item)
	}
}
