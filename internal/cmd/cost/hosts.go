//go:build linux

package main

import (
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"slices"
	"unicode/utf8"
)

// instructed says whether a client was seen to show its model a server's instructions (docs/spec/protocol.md, "Hosts"):
// "yes", "no", or "?" if nobody looked.
func instructed(client string) string {
	switch {
	case slices.Contains([]string{"claude-code", "codex", "gemini-cli", "kilo"}, client):
		return "yes"
	case slices.Contains([]string{"copilot", "kimi-code"}, client):
		return "no"
	}
	return "?"
}

// builtIn is a host's own todo tool: the characters of its description and its schema, as the host was seen to send
// them to its model. A schema of 0 was not counted.
type builtIn struct {
	host, tool          string
	description, schema int
}

func builtIns() []builtIn {
	return []builtIn{
		{"Claude Code 2.1", "`TodoWrite`", 9114, 476},
		{"Claude Code 2.1", "`TaskCreate`", 2146, 573},
		{"Claude Code 2.1", "`TaskUpdate`", 2243, 1095},
		{"Claude Code 2.1", "`TaskList`", 998, 119},
		{"Claude Code 2.1", "`TaskGet`", 732, 214},
		{"Kilo Code 7.7", "`todowrite`", 2351, 536},
		{"Kimi Code 2.1", "`TodoList`", 2142, 580},
		{"crush", "`todos`", 184, 0},
	}
}

// builtInTable compares the hosts' own todo tools with TodoWrite as todo-mcp lists it.
func builtInTable(ours listed) string {
	rows := [][]string{builtIn{"any, with todo-mcp", "`TodoWrite`", utf8.RuneCountInString(ours.Description), utf8.RuneCount(ours.InputSchema)}.cells()}
	for _, b := range builtIns() {
		rows = append(rows, b.cells())
	}
	return page.Table([]string{"host", "tool", "description:", "schema:", "together / 4:"}, rows)
}

func (b builtIn) cells() []string {
	schema := page.Number(b.schema)
	if b.schema == 0 {
		schema = "–"
	}
	return []string{b.host, b.tool, page.Number(b.description), schema, page.Number(amount{characters: b.description + b.schema}.quarter())}
}
