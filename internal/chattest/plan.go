package chattest

import (
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var item, statuses = letters()

func letters() (*regexp.Regexp, map[string]todo.Status) {
	all, statuses := "", make(map[string]todo.Status)
	for _, s := range todo.Statuses() {
		all += letter(s)
		statuses[letter(s)] = s
	}
	return regexp.MustCompile(`(?:^| )([` + all + `])(?:#(\w+))?:`), statuses
}

// ParsePlan reads a plan in short, "p:Read it i:Fix the bug": for each item the letter of its
// status, a colon and its text. The letters are the first ones of the core's words, but x for
// cancelled. "p#2:Fix it" is an item with its id.
func ParsePlan(plan string) []todo.Item {
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

// ShowPlan is the inverse of [ParsePlan], without ids.
func ShowPlan(items []todo.Item) string {
	return showPlan(items, func(todo.Item) string { return "" })
}

// ShowPlanIDs is the inverse of [ParsePlan].
func ShowPlanIDs(items []todo.Item) string {
	return showPlan(items, func(i todo.Item) string { return "#" + i.ID })
}

func showPlan(items []todo.Item, id func(todo.Item) string) string {
	var out []string
	for _, i := range items {
		out = append(out, letter(i.Status)+id(i)+":"+i.Text)
	}
	return strings.Join(out, " ")
}

func letter(s todo.Status) string {
	if s == todo.Cancelled {
		return "x"
	}
	return string(s[:1])
}
