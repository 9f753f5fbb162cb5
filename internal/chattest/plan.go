package chattest

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// letters has the letter of each status. Six letters are fixed; any other status gets the first
// letter of its name that is free.
var letters = func() map[todo.Status]string {
	letters := map[todo.Status]string{todo.Pending: "p", todo.InProgress: "i", todo.Completed: "c", todo.Failed: "f", todo.Blocked: "b", todo.Cancelled: "x"}
	for _, s := range todo.Statuses() {
		for _, letter := range strings.Split(string(s), "") {
			if letters[s] == "" && !slices.Contains(slices.Collect(maps.Values(letters)), letter) {
				letters[s] = letter
			}
		}
	}
	return letters
}()

var item = regexp.MustCompile(`(?:^| )([` + strings.Join(slices.Sorted(maps.Values(letters)), "") + `])(?:#(\w+))?:`)

// ParsePlan reads a plan in short form, "p:Read it i:Fix the bug": for each item the letter of its
// status, a colon and its text. "p#2:Fix it" is an item with the id 2.
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
		i := todo.Item{ID: id, Text: plan[at[1]:end]}
		for status, letter := range letters {
			if letter == plan[at[2]:at[3]] {
				i.Status = status
			}
		}
		items = append(items, i)
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
		out = append(out, letters[i.Status]+id(i)+":"+i.Text)
	}
	return strings.Join(out, " ")
}
