package servertest

import (
	"encoding/json"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Arguments returns the arguments with which a whole-list tool writes a plan in short form (package chattest).
func Arguments(tool, plan string) string {
	todos := []map[string]string{}
	for _, i := range chattest.ParsePlan(plan) {
		t := map[string]string{"content": i.Text, "activeForm": i.Text, "status": string(i.Status)}
		if tool == "SetTodoList" {
			t = map[string]string{"title": i.Text, "status": string(i.Status)}
			if i.Status == todo.Completed {
				t["status"] = "done"
			}
		}
		if i.ID != "" {
			t["id"] = i.ID
		}
		todos = append(todos, t)
	}
	raw, _ := json.Marshal(map[string]any{"todos": todos})
	return string(raw)
}

// Steps returns the arguments with which create_todos adds items.
func Steps(texts ...string) string {
	raw, _ := json.Marshal(map[string]any{"items": texts})
	return string(raw)
}

// List is a list in the JSON that agents and front ends read.
type List struct {
	List, Title, State string
	Revision           int64
	Archived           bool
	Items              []struct {
		ID, Text string
		Status   todo.Status
	}
}

// String returns the items in short form.
func (l List) String() string {
	var items []todo.Item
	for _, i := range l.Items {
		items = append(items, todo.Item{Text: i.Text, Status: i.Status})
	}
	return chattest.ShowPlan(items)
}
