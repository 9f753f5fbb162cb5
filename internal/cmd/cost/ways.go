//go:build linux

package main

import "strconv"

// way is how a model keeps a plan with the tools of a server.
type way struct {
	// begin writes a plan, with its first step in progress. The one before is over,
	// or is left.
	begin func(c *connection, items []item) error
	// advance completes a step and begins the next, if there is one. Steps count
	// from 0.
	advance func(c *connection, items []item, step int) error
}

// whole is the way of a tool that takes the whole plan; argument returns an item
// as it takes it.
func whole(tool string, statuses [3]string, argument func(item, string) object) way {
	list := "todos"
	switch tool {
	case "update_plan":
		list = "plan"
	case "manage_todo_list":
		list = "todoList"
	}
	write := func(c *connection, items []item, now int) error {
		todos := []object{}
		for i, step := range items {
			status := statuses[0]
			if i == now {
				status = statuses[1]
			} else if i < now {
				status = statuses[2]
			}
			todos = append(todos, argument(step, status))
			if tool == "manage_todo_list" {
				todos[i]["id"] = i + 1
			}
		}
		_, err := c.call(tool, object{list: todos})
		return err
	}
	return way{
		func(c *connection, items []item) error { return write(c, items, 0) },
		func(c *connection, items []item, step int) error { return write(c, items, step+1) },
	}
}

// todoWrite is the way of TodoWrite, and of write_todos.
func todoWrite(tool string) way {
	return whole(tool, [3]string{"pending", "in_progress", "completed"}, func(step item, status string) object {
		return object{"content": step.text, "activeForm": step.active, "status": status}
	})
}

// wayOf returns the way of a whole-list tool.
func wayOf(tool string) way {
	usual := [3]string{"pending", "in_progress", "completed"}
	switch tool {
	case "todo_write":
		return todoPatch()
	case "update_plan":
		return whole(tool, usual, func(step item, status string) object {
			return object{"step": step.text, "status": status}
		})
	case "todowrite":
		return whole(tool, usual, func(step item, status string) object {
			return object{"content": step.text, "status": status, "priority": "medium"}
		})
	case "todos":
		return whole(tool, usual, func(step item, status string) object {
			return object{"content": step.text, "active_form": step.active, "status": status}
		})
	case "manage_todo_list":
		return whole(tool, [3]string{"not-started", "in-progress", "completed"}, titled)
	case "SetTodoList", "TodoList":
		return whole(tool, [3]string{"pending", "in_progress", "done"}, titled)
	}
	return todoWrite(tool)
}

func titled(step item, status string) object { return object{"title": step.text, "status": status} }

// todoPatch is the way of todo_write: an update names what changes by ids.
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

// tasks is the way of Claude Code's task tools. Numbers go on from plan to plan.
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

// todoWriteIDs is the way of TodoWrite with --item-ids: an update has only the items
// that change. Numbers go on from plan to plan.
func todoWriteIDs() way {
	w := todoWrite("TodoWrite")
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

// stepwise is the way of tools that change one step with a call. create writes a
// plan and returns the number of its first step; set changes the status of the step
// with a number.
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

// createTodos is the way of create_todos with update_todo. Numbers go on from plan to
// plan.
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

// session keeps three plans of ten steps, one after the other: thirty updates. It
// returns how many calls there were when the first plan was begun, and after its
// first update.
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
