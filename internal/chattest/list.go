package chattest

import (
	"strings"

	"todo-mcp/internal/todo"
)

// List is a list as JSON that agents and front ends read.
type List struct {
	List, Title, State string
	Revision           int64
	Archived           bool
	Items              []struct {
		ID, Text string
		Status   todo.Status
	}
}

// String returns the items in short.
func (l List) String() string {
	var items []todo.Item
	for _, i := range l.Items {
		items = append(items, todo.Item{Text: i.Text, Status: i.Status})
	}
	return Show(items)
}

// IDs returns the ids of the items in their order.
func (l List) IDs() string {
	var out []string
	for _, i := range l.Items {
		out = append(out, i.ID)
	}
	return strings.Join(out, " ")
}
