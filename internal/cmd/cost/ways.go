//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// way is how a model keeps a plan with the tools of a server.
type way struct {
	// begin writes a plan, with its first step in progress. A previous plan is finished, or is abandoned.
	begin func(c *connection, items []item) error
	// advance completes a step and begins the next, if there is one. Steps count
	// from 0.
	advance func(c *connection, items []item, step int) error
}

// wayOf returns the way of a tool, or of a group of tools, by the group's first tool.
func wayOf(tool string) way {
	switch tool {
	case "todo_write":
		return todoPatch()
	case "TaskCreate":
		return tasks()
	case "create_todos":
		return createTodos()
	}
	return wholeList()
}

// wholeList writes the plan with the first listed tool, which takes all items in one call. The tool's schema says how
// an item is written: a required number is the item's place; the first three values of status mean pending, in progress
// and completed; for any other choice, such as a priority, wholeList takes the middle value.
func wholeList() way {
	write := func(c *connection, items []item, now int) error {
		tools, err := c.tools()
		if err != nil {
			return err
		}
		var schema struct{ Properties map[string]field }
		if err := json.Unmarshal(tools[0].InputSchema, &schema); err != nil {
			return err
		}
		for list, argument := range schema.Properties {
			if argument.Items.Properties != nil {
				_, err = c.call(tools[0].Name, object{list: arguments(argument, items, now)})
			}
		}
		return err
	}
	return way{
		func(c *connection, items []item) error { return write(c, items, 0) },
		func(c *connection, items []item, step int) error { return write(c, items, step+1) },
	}
}

// arguments returns items in the form of a list's schema; the item with the index now is in progress.
func arguments(list field, items []item, now int) []object {
	todos := make([]object, len(items))
	for i, step := range items {
		todos[i] = object{}
		for name, f := range list.Items.Properties {
			switch {
			case name == "status":
				todos[i][name] = f.Enum[cmp.Compare(now, i)+1]
			case name == "activeForm", name == "active_form":
				todos[i][name] = step.active
			case f.Enum != nil:
				todos[i][name] = f.Enum[len(f.Enum)/2]
			case !slices.Contains(list.Items.Required, name):
			case f.Type == "integer":
				todos[i][name] = i + 1
			default:
				todos[i][name] = step.text
			}
		}
	}
	return todos
}

// field is the schema of an argument, or of a field of the argument's items.
type field struct {
	Type  any
	Enum  []string
	Items struct {
		Properties map[string]field
		Required   []string
	}
}

// todoPatch is the way of todo_write: an update has only the items that change, by id.
func todoPatch() way {
	return way{
		func(c *connection, items []item) error {
			todos := make([]object, len(items))
			for i, step := range items {
				todos[i] = object{"id": strconv.Itoa(i + 1), "content": step.text, "status": "pending"}
			}
			todos[0]["status"] = "in_progress"
			_, err := c.call("todo_write", object{"todos": todos})
			return err
		},
		func(c *connection, items []item, step int) error {
			todos := []object{{"id": strconv.Itoa(step + 1), "status": "completed"}}
			if step+1 < len(items) {
				todos = append(todos, object{"id": strconv.Itoa(step + 2), "status": "in_progress"})
			}
			_, err := c.call("todo_write", object{"merge": true, "todos": todos})
			return err
		},
	}
}

// tasks is the way of Claude Code's task tools. Task numbers continue from plan to plan.
func tasks() way {
	created := 0
	set := func(c *connection, number int, status string) error {
		_, err := c.call("TaskUpdate", object{"taskId": strconv.Itoa(number), "status": status})
		return err
	}
	return stepwise(func(c *connection, items []item) (int, error) {
		for _, step := range items {
			if _, err := c.call("TaskCreate", object{"subject": step.text}); err != nil {
				return 0, err
			}
		}
		first := created + 1
		created += len(items)
		return first, set(c, first, "in_progress")
	}, set, "completed", "in_progress")
}

// todoWriteIDs is the way of TodoWrite with --item-ids: an update has only the items that change. Item ids continue
// from plan to plan.
func todoWriteIDs() way {
	w := wholeList()
	begin, created := w.begin, 0
	w.begin = func(c *connection, items []item) error {
		created += len(items)
		return begin(c, items)
	}
	w.advance = func(c *connection, items []item, step int) error {
		number := created - len(items) + 1 + step
		todos := []object{{"id": strconv.Itoa(number), "content": items[step].text, "activeForm": items[step].active, "status": "completed"}}
		if next := step + 1; next < len(items) {
			todos = append(todos, object{"id": strconv.Itoa(number + 1), "content": items[next].text, "activeForm": items[next].active, "status": "in_progress"})
		}
		_, err := c.call("TodoWrite", object{"todos": todos})
		return err
	}
	return w
}

// stepwise is the way of tools that change one step a call. The function create writes a plan and returns the number of
// its first step. The function set changes the status of a step, by its number, to the value of done or of doing.
func stepwise(create func(c *connection, items []item) (first int, err error), set func(c *connection, number int, status string) error, done, doing string) way {
	first := 0
	return way{
		func(c *connection, items []item) (err error) {
			first, err = create(c, items)
			return err
		},
		func(c *connection, items []item, step int) error {
			if err := set(c, first+step, done); err != nil || step+1 == len(items) {
				return err
			}
			return set(c, first+step+1, doing)
		},
	}
}

// createTodos is the way of create_todos with update_todo. Item ids continue from plan to plan.
func createTodos() way {
	created := 0
	set := func(c *connection, number int, status string) error {
		_, err := c.call("update_todo", object{"id": strconv.Itoa(number), "status": status})
		return err
	}
	return stepwise(func(c *connection, items []item) (int, error) {
		var texts []string
		for _, step := range items {
			texts = append(texts, step.text)
		}
		if _, err := c.call("create_todos", object{"items": texts}); err != nil {
			return 0, err
		}
		first := created + 1
		created += len(items)
		return first, set(c, first, "running")
	}, set, "completed", "running")
}

// session keeps three plans of ten steps, one after the other: thirty updates. It returns how many calls there were
// after the first plan was written, and after its first update.
func (w way) session(c *connection) (begun, advanced int, err error) {
	for number := range 3 {
		items := plan(number, 10)
		if err := w.begin(c, items); err != nil {
			return 0, 0, err
		}
		if number == 0 {
			begun = len(c.calls)
		}
		for step := range items {
			if err := w.advance(c, items, step); err != nil {
				return 0, 0, err
			}
			if number == 0 && step == 0 {
				advanced = len(c.calls)
			}
		}
	}
	return begun, advanced, nil
}
