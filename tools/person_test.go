package tools_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// editAsPerson edits the session's list as the panel does.
func (s *session) editAsPerson(change todo.Change) {
	s.t.Helper()
	if _, err := s.board.As("").Apply(context.Background(), todo.Write{Target: todo.Target{List: s.list().List.ID}, Writer: todo.Writer{Client: "panel", Person: true}, Change: change}); err != nil {
		s.t.Fatal(err)
	}
}

// A person's edits between two writes of an agent survive the second write, the
// agent's changes apply, and only the next result reports the person's edits.
func TestPersonsEditsSurvive(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("i A", "p B", "p C"))
	s.editAsPerson(func(d *todo.Draft) error {
		d.SetStatus("2", todo.Completed)
		d.SetText("3", "C, but better")
		d.Append("From the user")
		return nil
	})
	got := s.call("TodoWrite", todos("c A", "i B", "p C", "p D"))
	const want = "Todo list updated: 2 completed, 0 in_progress, 3 pending\n" +
		`The user changed the list: set "B" to completed, reworded "C" to "C, but better", added "From the user"`
	if got.Text != want {
		t.Errorf("text\n%s\nwant\n%s", got.Text, want)
	}
	if got := s.call("SetTodoList", `{}`).Text; got != "Todo list:\n- [done] A\n- [done] B\n- [pending] C, but better\n- [pending] From the user\n- [pending] D" {
		t.Error(got)
	}
	// The last result reported the edits, so the next write may overwrite them.
	if got := s.call("TodoWrite", todos("c A", "p B")).Text; got != "Todo list updated: 1 completed, 0 in_progress, 1 pending\nDropped while open: \"C, but better\", \"From the user\", \"D\"" {
		t.Error(got)
	}
	// A blocked item is reported with its reason, although this tool shows it
	// as pending, and is not begun unseen.
	s.editAsPerson(func(d *todo.Draft) error { d.Block("2", "no key yet"); return nil })
	if got := s.call("TodoWrite", todos("c A", "i B")).Text; got != "Todo list updated: 1 completed, 0 in_progress, 1 pending\nThe user changed the list: set \"B\" to blocked (\"no key yet\") (no change)" {
		t.Error(got)
	}
	// A write of an agent that has not seen a removal does not undo it. The
	// tools that work by id report removals as well.
	s.editAsPerson(func(d *todo.Draft) error { d.Remove("2"); return nil })
	if got := s.call("create_todos", `{"items":["E"]}`).Text; got != "Todo list updated: 1 created\nPlan:\n  [x] #1 A\n  [ ] #6 E\nThe user changed the list: removed \"B\"" {
		t.Error(got)
	}
	s.editAsPerson(func(d *todo.Draft) error { d.Remove("1"); return nil })
	if got := s.call("write_todos", todos("c A", "p E")).Text; got != "Todo list updated\nThe user changed the list: removed \"A\"" {
		t.Error(got)
	}
	if l := s.list(); len(l.Items) != 1 || l.Items[0].Text != "E" {
		t.Errorf("a removed item was resurrected: %+v", l.Items)
	}
}

// T4 looks at what the agent sent: an item that a person set in progress stays
// beside the agent's, before and after the agent was told, and in a restored
// revision. What the agent itself begins counts.
func TestAPersonsItemInProgressDoesNotCount(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("i A", "p B", "p C"))
	s.editAsPerson(func(d *todo.Draft) error { d.SetStatus("3", todo.InProgress); return nil })
	for _, c := range []struct{ args, want string }{
		{todos("c A", "i B", "p C"), "Todo list updated: 1 completed, 2 in_progress, 0 pending\nThe user changed the list: set \"C\" to in_progress"},
		{todos("c A", "i B", "i C", "p D"), "Todo list updated: 1 completed, 2 in_progress, 1 pending"},
		{todos("c A", "c B", "i C", "i D"), "Todo list updated: 2 completed, 2 in_progress, 0 pending"},
	} {
		if got := s.call("TodoWrite", c.args); got.Text != c.want {
			t.Errorf("%s\nanswered %s\nwant %s", c.args, got.Text, c.want)
		}
	}
	if got := s.call("TodoWrite", todos("i A", "i B", "i C", "i D")); !got.IsError {
		t.Errorf("two that it begins itself: %s", got.Text)
	}
	if _, err := s.board.As("").Edit(context.Background(), s.list().List.ID, todo.Edit{Do: todo.EditRestore, Revision: 1}, todo.Writer{}); err != nil {
		t.Fatal(err)
	}
	// A is in progress again by the restore, and so is C by the agent.
	got := s.call("TodoWrite", todos("c A", "c B", "i C", "p D"))
	if got.IsError || !strings.Contains(got.Text, `set "A" to in_progress`) {
		t.Errorf("beside an item that a restore left in progress: %s", got.Text)
	}
}

// P3: what every answer adds is worded in the language of create_todos and
// update_todo, and in English by the other tools.
func TestEndingsInEveryLanguage(t *testing.T) {
	want := map[string]string{
		"en": "The user changed the list: set \"A\" to completed, \"C\" is blocked (\"no key\"), reworded \"D\" to \"D2\", added \"F\", added \"G\", removed \"B\"",
		"zh": "用户修改了列表:将 \"A\" 设为 completed, \"C\" 受阻 (\"no key\"), 将 \"D\" 改为 \"D2\", 添加 \"F\", 添加 \"G\", 移除 \"B\"",
		"vi": "Người dùng đã sửa danh sách: đặt \"A\" thành completed, \"C\" bị chặn (\"no key\"), đổi \"D\" thành \"D2\", thêm \"F\", thêm \"G\", xóa \"B\"",
	}
	notes := map[string]string{"en": "This is another open list: x", "zh": "这是另一个未完成的列表:x", "vi": "Đây là một danh sách khác đang mở: x"}
	more := map[string]string{"en": " and 2 more", "zh": " 等另外 2 项", "vi": " và 2 mục nữa"}
	dropped := map[string]string{"en": "Dropped while open: \"A\"", "zh": "未完成即移除:\"A\"", "vi": "Bị bỏ khi chưa xong: \"A\""}
	missing := map[string]string{"en": "Error: list_id: There is no such list here…", "zh": "错误:list_id: 这里没有该列表…", "vi": "Lỗi: list_id: Ở đây không có danh sách này…"}
	for language := range want {
		t.Run(language, func(t *testing.T) {
			s := newSession(t, func(o *tools.Options) { o.Language = language })
			s.call("create_todos", `{"items":["A","B","C","D","E"]}`)
			s.editAsPerson(func(d *todo.Draft) error { d.Block("3", ""); return nil })
			s.call("create_todos", `{"items":["X"]}`)
			s.editAsPerson(func(d *todo.Draft) error {
				d.SetStatus("1", todo.Completed)
				d.Remove("2")
				d.Block("3", "no key")
				d.SetText("4", "D2")
				d.Append("F", "G")
				return nil
			})
			update := tools.Find(s.tools, "update_todo")
			got := s.call("update_todo", `{"id":"5","status":"running"}`)
			if !strings.HasSuffix(got.Text, "\n"+want[language]) {
				t.Errorf("text\n%s\nwant the ending\n%s", got.Text, want[language])
			}
			s.editAsPerson(func(d *todo.Draft) error { d.Append(strings.Fields(strings.Repeat("more ", 32))...); return nil })
			if got := s.call("update_todo", `{"id":"5","status":"completed"}`); !strings.HasSuffix(got.Text, more[language]) {
				t.Errorf("text\n%s\nwant the ending\n%s", got.Text, more[language])
			}
			call, err := update.Read([]byte(`{"id":"1","status":"running"}`))
			if err != nil {
				t.Fatal(err)
			}
			outcome := todo.Outcome{Changed: true, Report: todo.Report{Dropped: []todo.Item{{Text: "A"}}, Elsewhere: "x"}}
			if got := update.Result(call, outcome).Text; !strings.HasSuffix(got, "\n"+dropped[language]+"\n"+notes[language]) {
				t.Errorf("text\n%s\nwant the ending\n%s\n%s", got, dropped[language], notes[language])
			}
			head, _ := strings.CutSuffix(missing[language], "…")
			if got, ok := update.Failure(fmt.Errorf("apply: %w", todo.ErrNotFound)); !ok || !strings.HasPrefix(got.Text, head) {
				t.Errorf("text\n%s\nwant\n%s", got.Text, head)
			}
			for _, err := range []error{&todo.FullError{Err: todo.ErrTooManyLists}, &todo.FullError{Err: todo.ErrStoreFull}, todo.ErrOperationReused, tools.ErrInvalidJSON} {
				english, _ := tools.Find(s.tools, "TodoWrite").Failure(err)
				got, _ := update.Failure(err)
				if _, sentence, _ := strings.Cut(english.Text, "\n- "); language != "en" && (got.Text == english.Text || sentence != "" && strings.Contains(got.Text, sentence)) {
					t.Errorf("%v is in English: %s", err, got.Text)
				}
			}
		})
	}
}

// K5: a priority or due date that a person's import changed is no rewording.
func TestDetailsAreNoRewording(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("p A"))
	high := "high"
	s.editAsPerson(func(d *todo.Draft) error { d.SetDetails("1", &high, nil); return nil })
	if got := s.call("TodoWrite", todos("c A")).Text; got != "Todo list updated: 1 completed, 0 in_progress, 0 pending" {
		t.Error(got)
	}
	if item := s.list().Items[0]; item.Priority != "high" {
		t.Errorf("the priority is lost: %+v", item)
	}
}
