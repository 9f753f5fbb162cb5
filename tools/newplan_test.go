package tools_test

import (
	"testing"

	"todo-mcp/internal/board"
	memory "todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// The ids that a model sends with a new plan are its own: a step that begins is not what
// became of the step with that id in the plan before.
func TestNewPlanWithOldIDs(t *testing.T) {
	list, err := tools.New(tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool := tools.Find(list, "TodoWrite")
	b := board.NewBoard(memory.New())
	defer b.Close()
	lists := b.As("")
	write := func(args string) todo.Snapshot {
		t.Helper()
		call, err := tool.Read([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		call.Conversation = board.Conversation{Key: "chat"}
		out, err := lists.Apply(t.Context(), board.Write{Target: call.Target, Change: call.Change})
		if err != nil {
			t.Fatal(err)
		}
		return out.After
	}
	const plan = `{"todos":[{"id":"1","content":"Build it","status":"in_progress","activeForm":"Building"},{"id":"2","content":"Write","status":"completed","activeForm":"Writing"}]}`
	first := write(plan)
	if _, err := lists.Edit(t.Context(), first.List.ID, todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Failed}, todo.Writer{}); err != nil {
		t.Fatal(err)
	}
	write(plan) // and is told of it
	next := write(`{"todos":[{"id":"1","content":"Deploy to staging","status":"in_progress","activeForm":"Deploying"}]}`)
	if next.List.ID == first.List.ID || next.Items[0].Status != todo.InProgress {
		t.Errorf("the new plan begins with %+v", next.Items)
	}
}
