package todo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A list is at its current item, else at the first blocked one, else at the first open one that waits for no other.
func TestAt(t *testing.T) {
	for statuses, want := range map[string]string{
		"": "", "completed failed cancelled": "", "completed pending pending": "2",
		"pending blocked in_progress blocked": "3", "pending blocked blocked": "2",
		"pending:2 pending": "2", "pending:2 completed": "1", "pending:2 pending:1": "1",
	} {
		var s todo.Snapshot
		for n, text := range strings.Fields(statuses) {
			status, waits, _ := strings.Cut(text, ":")
			s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(n + 1), Status: todo.Status(status), WaitsFor: waits})
		}
		item, ok := s.At()
		checktest.Same(t, statuses, item.ID, want)
		checktest.Same(t, statuses, ok, want != "")
	}
}
