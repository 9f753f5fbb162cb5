package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/tools"
)

// K5: a priority or due date that a person's import changed is no rewording.
func TestDetailsAreNoRewording(t *testing.T) {
	s := newSession(t, nil)
	s.call("TodoWrite", todos("p A"), "")
	high := "high"
	w := todo.Write{Target: todo.Target{List: s.list().List.ID}, Writer: todo.Writer{Client: "panel", Person: true}, Change: func(d *todo.Draft) error {
		d.Put(todo.CoreView(), todo.Line{ID: "1", Text: "A", Active: "A", Status: "pending", Priority: &high})
		return nil
	}}
	if _, err := s.board.As("").Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if got := s.call("TodoWrite", todos("c A"), "").Text; got != "Todo list updated: 1 completed, 0 in_progress, 0 pending" {
		t.Error(got)
	}
	if item := s.list().Items[0]; item.Priority != "high" {
		t.Errorf("the priority is lost: %+v", item)
	}
}

// P3: the refusals by the board are in the language of create_todos and update_todo, and
// in English from the other tools. (What every answer adds: testdata/plan.txtar.)
func TestRefusalsInEveryLanguage(t *testing.T) {
	refusals := []error{todo.ErrNotFound, &todo.FullError{Err: todo.ErrTooManyLists}, &todo.FullError{Err: todo.ErrStoreFull},
		todo.ErrOperationReused, todo.ErrMirrored, tools.ErrInvalidJSON}
	for _, language := range prompts.Languages() {
		list := newTools(t, func(o *tools.Options) { o.Language = language })
		for _, err := range refusals {
			english, _ := tools.Find(list, "TodoWrite").Failure(fmt.Errorf("apply: %w", err))
			got, ok := tools.Find(list, "update_todo").Failure(fmt.Errorf("apply: %w", err))
			_, sentence, _ := strings.Cut(english.Text, "\n- ")
			if !ok || language != "en" && (got.Text == english.Text || sentence != "" && strings.Contains(got.Text, sentence)) {
				t.Errorf("%v in %s: %s", err, language, got.Text)
			}
		}
	}
}

// T7: of more than 50 problems the first are said, and how many more.
func TestManyProblemsAreCounted(t *testing.T) {
	s := newSession(t, func(o *tools.Options) { o.Language = "vi" })
	for call, want := range map[string]string{
		`SetTodoList {"todos":[$({},*24){}]}`: "- todos[24].status: Required", `SetTodoList {"todos":[$({},*999){}]}`: "- and 1950 more",
		`create_todos {"items":[$(" ",*49)7]}`: "Chưa tạo gì.", `create_todos {"items":[$(" ",*50)7]}`: "và 1 mục nữa",
	} {
		got := s.run(expand(call))
		if lines := strings.Split(got, "\n"); len(lines) > 52 || !strings.HasSuffix(lines[len(lines)-1], want) {
			t.Errorf("%s: %d lines, the last is %q", call, len(lines), lines[len(lines)-1])
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
