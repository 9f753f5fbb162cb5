//go:build linux

package main

import (
	"fmt"
	"path/filepath"
)

// contender is a server in the tables that compare servers.
type contender struct {
	name string
	program
	// way returns how a plan is kept with the server in one connection. Its begin is nil if the server needs a language
	// model of its own.
	way func() way
}

// contenders returns the todo-mcp binary and the servers that npm installed in a folder. Each keeps its lists in files,
// as it does by default.
func contenders(own, folder string) ([]contender, error) {
	node, err := filepath.Glob(filepath.Join(folder, "node_modules/node-linux-*/bin/node"))
	if err != nil || len(node) != 1 {
		return nil, fmt.Errorf("no node in %s (%w): run `make cost`", folder, err)
	}
	run := func(script string, args ...string) []string {
		return append([]string{node[0], filepath.Join(folder, "node_modules", script)}, args...)
	}
	backlog := "backlog.md/cli.js"
	taskMaster := run("task-master-ai/dist/mcp-server.js")
	return []contender{
		{"todo-mcp", ownProgram(own), wholeList},
		{"server-memory", program{
			command: run("@modelcontextprotocol/server-memory/dist/index.js"),
			env:     []string{"MEMORY_FILE_PATH={dir}/memory.jsonl"},
		}, memory},
		{"backlog.md", program{
			command: run(backlog, "mcp", "start"),
			prepare: run(backlog, "init", "shop", "--defaults", "--integration-mode", "mcp", "--no-git"),
		}, backlogMD},
		{"mcp-shrimp-task-manager", program{
			command: run("mcp-shrimp-task-manager/dist/index.js"),
			env:     []string{"DATA_DIR={dir}/data"},
		}, shrimp},
		{"task-master-ai", program{command: taskMaster}, none},
		{"task-master-ai, standard tools", program{
			command: taskMaster, env: []string{"TASK_MASTER_TOOLS=standard"},
		}, taskMasterAI},
	}, nil
}

// none is the way of a server that cannot make tasks without a language model.
func none() way { return way{} }
