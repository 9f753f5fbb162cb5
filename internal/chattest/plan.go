package chattest

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A plan is written in short as "p:Read it i:Fix the bug": for each item the letter of
// its status, a colon and its text. The letters are the first ones of the core's words,
// but x for cancelled. "p#2:Fix it" is an item with its id.
var item, statuses = letters()

func letters() (*regexp.Regexp, map[string]todo.Status) {
	all, statuses := "", make(map[string]todo.Status)
	for _, s := range todo.Statuses() {
		all += letter(s)
		statuses[letter(s)] = s
	}
	return regexp.MustCompile(`(?:^| )([` + all + `])(?:#(\w+))?:`), statuses
}

// Parse reads a plan in short.
func Parse(plan string) []todo.Item {
	items := []todo.Item{}
	found := item.FindAllStringSubmatchIndex(plan, -1)
	for n, at := range found {
		end := len(plan)
		if n+1 < len(found) {
			end = found[n+1][0]
		}
		id := ""
		if at[4] >= 0 {
			id = plan[at[4]:at[5]]
		}
		items = append(items, todo.Item{ID: id, Text: plan[at[1]:end], Status: statuses[plan[at[2]:at[3]]]})
	}
	return items
}

// Show is the inverse of [Parse], without ids.
func Show(items []todo.Item) string {
	var out []string
	for _, i := range items {
		out = append(out, letter(i.Status)+":"+i.Text)
	}
	return strings.Join(out, " ")
}

func letter(s todo.Status) string {
	if s == todo.Cancelled {
		return "x"
	}
	return string(s[:1])
}

// Arguments returns what a whole-list tool is called with to write a plan in short.
func Arguments(tool, plan string) string {
	todos := []map[string]string{}
	for _, i := range Parse(plan) {
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

// Steps returns what create_todos is called with to add items.
func Steps(texts ...string) string {
	raw, _ := json.Marshal(map[string]any{"items": texts})
	return string(raw)
}

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
