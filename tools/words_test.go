package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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

// H1: up to 30 changes are told, more are counted.
func TestThirtyChangesAreTold(t *testing.T) {
	for n, want := range map[int]string{30: `added "n", added "n"`, 33: `added "n" and 3 more`} {
		s := newSession(t, nil)
		s.run("TodoWrite p A")
		s.editAsPerson(func(d *todo.Draft) error { d.Append(strings.Fields(strings.Repeat("n ", n))...); return nil })
		got := s.call("write_todos", todos("i A"), "").Text
		if !strings.HasSuffix(got, want) || strings.Count(got, "added") != 30 {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// K5: a priority or due date that a person's import changed is no rewording.
func TestDetailsAreNoRewording(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("p A"), "")
	high := "high"
	s.editAsPerson(func(d *todo.Draft) error {
		d.Patch(todo.CoreView(), []todo.Line{{ID: "1", Text: "A", Active: "A", Status: "pending", Priority: &high}})
		return nil
	})
	if got := s.call("TodoWrite", todos("c A"), "").Text; got != "Todo list updated: 1 completed, 0 in_progress, 0 pending" {
		t.Error(got)
	}
	if item := s.list().Items[0]; item.Priority != "high" {
		t.Errorf("the priority is lost: %+v", item)
	}
}

// The view tool of the card needs an id that is one.
func TestViewNeedsAnID(t *testing.T) {
	view, err := tools.NewView()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{}`, `{"list_id":null}`, `{"list_id":""}`, `{"list_id":"#"}`, `{"list_id":{}}`} {
		_, err := view.Read([]byte(args))
		result, ok := view.Failure(err)
		if !ok || !result.IsError || strings.Count(result.Text, "list_id") != 1 {
			t.Errorf("%s: %v", args, result.Text)
		}
	}
}

// P3: what every answer adds is worded in the language of create_todos and
// update_todo, and in English by the other tools.
func TestNotesInEveryLanguage(t *testing.T) {
	for language, want := range map[string]struct{ changed, more, dropped, elsewhere, away, missing string }{
		"en": {`The user changed the list: set "A" to completed, "C" is blocked ("no key"), reworded "D" to "D2", added "F", added "G", removed "B"`,
			" and 2 more", `Dropped while open: "A"`, "This is another open list: x", `Put away the earlier plan, open: "A", "B"`, "Error: list_id: There is no such list here"},
		"zh": {`用户修改了列表:将 "A" 设为 completed, "C" 受阻 ("no key"), 将 "D" 改为 "D2", 添加 "F", 添加 "G", 移除 "B"`,
			" 等另外 2 项", `未完成即移除:"A"`, "这是另一个未完成的列表:x", `已搁置之前的计划,未完成:"A", "B"`, "错误:list_id: 这里没有该列表"},
		"vi": {`Người dùng đã sửa danh sách: đặt "A" thành completed, "C" bị chặn ("no key"), đổi "D" thành "D2", thêm "F", thêm "G", xóa "B"`,
			" và 2 mục nữa", `Bị bỏ khi chưa xong: "A"`, "Đây là một danh sách khác đang mở: x", `Đã cất kế hoạch trước, còn mở: "A", "B"`, "Lỗi: list_id: Ở đây không có danh sách này"},
	} {
		t.Run(language, func(t *testing.T) {
			s := newSession(t, func(o *tools.Options) { o.Language = language })
			ends := func(text, want string) {
				t.Helper()
				if !strings.HasSuffix(text, want) {
					t.Errorf("text\n%s\nwant the ending\n%s", text, want)
				}
			}
			s.run(`create_todos {"items":["A","B","C","D","E"]}`)
			s.editAsPerson(func(d *todo.Draft) error { d.Block("3", ""); return nil })
			s.run(`create_todos {"items":["X"]}`)
			s.editAsPerson(func(d *todo.Draft) error {
				d.SetStatus("1", todo.Completed)
				d.Remove("2")
				d.Block("3", "no key")
				d.SetText("4", "D2")
				d.Append("F", "G")
				return nil
			})
			ends(s.run(`update_todo {"id":"5","status":"running"}`), "\n"+want.changed)
			s.editAsPerson(func(d *todo.Draft) error { d.Append(strings.Fields(strings.Repeat("more ", 32))...); return nil })
			ends(s.run(`update_todo {"id":"5","status":"completed"}`), want.more)
			update := tools.Find(s.tools, "update_todo")
			call, err := update.Read([]byte(`{"id":"1","status":"running"}`))
			if err != nil {
				t.Fatal(err)
			}
			answer := func(r todo.Report) string { return update.Result(call, todo.Outcome{Changed: true, Report: r}).Text }
			ends(answer(todo.Report{Dropped: []todo.Item{{Text: "A"}}, Elsewhere: "x"}), "\n"+want.dropped+"\n"+want.elsewhere)
			ends(answer(todo.Report{PutAway: todo.PutAway{Title: "A", Open: []todo.Item{{Text: "A"}, {Text: "B"}}}}), "\n"+want.away)
			if got := answer(todo.Report{PutAway: todo.PutAway{Title: "A"}}); strings.Count(got, "\n") != 1 {
				t.Errorf("nothing was open: %s", got)
			}
			if got, ok := update.Failure(fmt.Errorf("apply: %w", todo.ErrNotFound)); !ok || !strings.HasPrefix(got.Text, want.missing) {
				t.Errorf("text\n%s\nwant\n%s", got.Text, want.missing)
			}
			for _, err := range []error{&todo.FullError{Err: todo.ErrTooManyLists}, &todo.FullError{Err: todo.ErrStoreFull}, todo.ErrOperationReused, todo.ErrMirrored, tools.ErrInvalidJSON} {
				english, _ := tools.Find(s.tools, "TodoWrite").Failure(err)
				got, ok := update.Failure(err)
				_, sentence, _ := strings.Cut(english.Text, "\n- ")
				if !ok || language != "en" && (got.Text == english.Text || sentence != "" && strings.Contains(got.Text, sentence)) {
					t.Errorf("%v is in English: %s", err, got.Text)
				}
			}
		})
	}
}

// A built-in tool is found by its host, where that is known, and else by its name.
func TestFindBuiltIn(t *testing.T) {
	for _, c := range []struct{ host, name, want string }{
		{"", "TodoWrite", "claude-code"}, {"cursor", "TodoWrite", "cursor"}, {"", "update_plan", "codex"},
		{"cursor", "update_plan", ""}, {"", "Bash", ""}, {"", "", ""},
	} {
		if b, ok := tools.FindBuiltIn(c.host, c.name); b.Host != c.want || ok != (c.want != "") {
			t.Errorf("%s of %q is of %q", c.name, c.host, b.Host)
		}
	}
}

// What a model may send to our tools in other shapes, it may send to a host's as well
// (V5); what the host refused changes nothing.
func TestBuiltInShapes(t *testing.T) {
	for _, c := range []struct{ tool, input, response, want string }{
		{"TodoWrite", `{"todos":"[{\"content\":\"A\",\"status\":\"pending\"}]"}`, ``, "A"},
		{"TodoWrite", `{"todos":{"content":"A","status":"pending","activeForm":null}}`, ``, "A"},
		{"update_plan", `{"explanation":"x","plan":[{"step":"A\nB","status":"pending"}]}`, `"Plan updated"`, "A B"},
		{"TaskCreate", `{"subject":"A"}`, `{"task":{"id":7}}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"completed"}`, `{"success":false,"error":"Task not found"}`, "no call"},
		{"TaskUpdate", `{"taskId":"7","subject":"A"}`, `{"success":true}`, "A"},
		{"TaskUpdate", `{"taskId":"7","status":"deleted"}`, `{"success":true}`, ""},
		{"TaskList", `{}`, `{"tasks":[]}`, "no call"},
		{"TaskList", `{}`, `"No tasks"`, "no call"},
		{"TaskList", `{}`, `{"tasks":[{"id":"1","subject":"A","status":"completed"},{"id":"2","subject":"B","status":"pending","blockedBy":["1","3"]}]}`, "B"},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		call, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response))
		got := "no call"
		if call != nil {
			draft := todo.NewDraft(todo.Snapshot{}, time.Now())
			err = call.Change(draft)
			got = ""
			for _, i := range draft.Items() {
				got += i.Text
			}
		}
		if err != nil || got != c.want {
			t.Errorf("%s %s %s: %q, %v", c.tool, c.input, c.response, got, err)
		}
	}
	for _, c := range []struct{ tool, input, response string }{
		{"TodoWrite", `{"todos":null}`, ``}, {"TodoWrite", `{`, ``}, {"TodoWrite", ``, ``}, {"TaskCreate", `{"subject":"A"}`, `{}`},
		{"TaskCreate", `{}`, `{"task":{"id":"1"}}`}, {"TaskUpdate", `{}`, `{"success":true}`}, {"TaskUpdate", `{"taskId":"1","addBlocks":["x"]}`, ``},
		{"TaskList", `{}`, `{"tasks":[` + strings.Repeat(`{"id":"1"},`, todo.MaxItems) + `{"id":"1"}]}`},
	} {
		b, _ := tools.FindBuiltIn("", c.tool)
		if _, err := b.Read(json.RawMessage(c.input), json.RawMessage(c.response)); err == nil {
			t.Errorf("%s takes %.80s %.80s", c.tool, c.input, c.response)
		}
	}
}
