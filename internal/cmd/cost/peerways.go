//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// memory is the way of a knowledge graph: each step is an entity, and its status is an observation of the entity.
func memory() way {
	return way{
		func(c *connection, items []item) error {
			entities := []object{}
			status := "in progress"
			for _, step := range items {
				entities = append(entities, object{"name": step.text, "entityType": "task", "observations": []string{status}})
				status = "pending"
			}
			_, err := c.call("create_entities", object{"entities": entities})
			return err
		},
		func(c *connection, items []item, step int) error {
			var gone, came []object
			observe := func(step item, from, to string) {
				gone = append(gone, object{"entityName": step.text, "observations": []string{from}})
				came = append(came, object{"entityName": step.text, "contents": []string{to}})
			}
			observe(items[step], "in progress", "completed")
			if step+1 < len(items) {
				observe(items[step+1], "pending", "in progress")
			}
			if _, err := c.call("delete_observations", object{"deletions": gone}); err != nil {
				return err
			}
			_, err := c.call("add_observations", object{"observations": came})
			return err
		},
	}
}

// backlogMD is the way of a board of tasks: a call creates one task or sets its status.
func backlogMD() way {
	created := 0
	create := func(c *connection, items []item) (first int, err error) {
		first = created + 1
		for i, step := range items {
			status := "To Do"
			if i == 0 {
				status = "In Progress"
			}
			if _, err := c.call("task_create", object{"title": step.text, "status": status}); err != nil {
				return first, err
			}
			created++
		}
		return first, nil
	}
	set := func(c *connection, number int, status string) error {
		_, err := c.call("task_edit", object{"id": fmt.Sprintf("TASK-%d", number), "status": status})
		return err
	}
	return stepwise(create, set, "Done", "In Progress")
}

// taskMasterAI is the way of a server with one call to add a task, and one to set its status.
func taskMasterAI() way {
	created := 0
	set := func(c *connection, number int, status string) error {
		_, err := c.call("set_task_status", object{"id": strconv.Itoa(number), "status": status, "projectRoot": c.dir})
		return err
	}
	create := func(c *connection, items []item) (first int, err error) {
		first = created + 1
		for _, step := range items {
			if _, err := c.call("add_task", object{"title": step.text, "description": step.text, "projectRoot": c.dir}); err != nil {
				return first, err
			}
			created++
		}
		return first, set(c, first, "in-progress")
	}
	return stepwise(create, set, "done", "in-progress")
}

// shrimp is the way of a server that guides its model: answers to calls that begin or end a step say how to go on.
func shrimp() way {
	var ids []string
	set := func(c *connection, number int, status string) error {
		if status == "in progress" {
			_, err := c.call("execute_task", object{"taskId": ids[number]})
			return err
		}
		_, err := c.call("verify_task", object{"taskId": ids[number], "summary": "It is done as described, and its tests pass.", "score": 90})
		return err
	}
	create := func(c *connection, items []item) (int, error) {
		tasks := []object{}
		for _, step := range items {
			tasks = append(tasks, object{"name": step.text, "description": step.text, "implementationGuide": ""})
		}
		raw, err := json.Marshal(tasks)
		if err != nil {
			return 0, err
		}
		answer, err := c.call("split_tasks", object{"updateMode": "clearAllTasks", "tasksRaw": string(raw)})
		if err != nil {
			return 0, err
		}
		if ids = regexp.MustCompile(uuid).FindAllString(answer, -1); len(ids) != len(items) {
			return 0, fmt.Errorf("split_tasks answers %d ids for %d tasks: %s", len(ids), len(items), answer)
		}
		return 0, set(c, 0, "in progress")
	}
	return stepwise(create, set, "done", "in progress")
}
