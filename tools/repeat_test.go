package tools_test

import (
	"context"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// BAD-INPUT 44: a call that is repeated with its operation id gets the same
// answer as before, including the report: what the call dropped, what a person
// had changed, and the tool's notes. This is so even after later writes.
func TestRepeatGetsTheSameAnswer(t *testing.T) {
	s := newSession(t, func(o *tools.Options) { o.InProgress = tools.Demote })
	callWithOperation := func(id, name, args string) string {
		t.Helper()
		tool := tools.Find(s.tools, name)
		call, err := tool.Read([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.board.As("").Apply(context.Background(), todo.Write{Target: call.Target(who()), Writer: todo.Writer{Variant: name},
			Operation: todo.Operation{ID: id, Digest: name + args}, Change: call.Change})
		if err != nil {
			t.Fatal(err)
		}
		return tool.Result(call, out).Text
	}
	s.call("TodoWrite", todos("i A", "p B", "p C"))
	s.editAsPerson(func(d *todo.Draft) error { d.SetText("3", "C, but better"); return nil })
	var answers []string
	for _, c := range []struct{ id, tool, args, want string }{
		{"op-1", "TodoWrite", todos("c A", "i C", "i D"), "Todo list updated: 1 completed, 1 in_progress, 1 pending\n" +
			"Dropped while open: \"B\"\n" +
			"The user changed the list: reworded \"C\" to \"C, but better\"\n" +
			"Only one item may be in_progress: set to pending: \"C\""},
		{"op-2", "create_todos", `{"items":["E","F"]}`, "Todo list updated: 2 created\nPlan:\n  [x] #1 A\n  [ ] #3 C, but better\n  [>] #4 D\n  [ ] #5 E\n  [ ] #6 F"},
		{"op-3", "update_todo", `{"id":"4","status":"completed"}`, "Todo list updated: #4 \"D\" → completed\nPlan:\n  [x] #1 A\n  [ ] #3 C, but better\n  [x] #4 D\n  [ ] #5 E\n  [ ] #6 F"},
	} {
		answers = append(answers, c.want)
		t.Run(c.tool, func(t *testing.T) {
			first := callWithOperation(c.id, c.tool, c.args)
			if first != c.want {
				t.Errorf("first answer\n%s\nwant\n%s", first, c.want)
			}
			revision := s.list().Revision
			if again := callWithOperation(c.id, c.tool, c.args); again != first {
				t.Errorf("repeated answer\n%s\nwant\n%s", again, first)
			}
			if s.list().Revision != revision {
				t.Error("the repeat made a revision")
			}
		})
	}
	s.call("SetTodoList", `{"todos":[]}`)
	if again := callWithOperation("op-1", "TodoWrite", todos("c A", "i C", "i D")); again != answers[0] {
		t.Errorf("repeated answer after later writes\n%s\nwant\n%s", again, answers[0])
	}
}
