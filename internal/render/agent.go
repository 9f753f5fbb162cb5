package render

import (
	"cmp"
	"strings"

	"todo-mcp/internal/clients"
	"todo-mcp/internal/todo"
)

// Agent is how people are shown the client that an agent works in.
type Agent struct {
	Name  string // as people say it; safe to show
	Glyph string // the id of its own plain shape; otherGlyph for most
}

const otherGlyph = "agent"

// Writer returns who made a revision: the agent, or for a person you, with the name
// of the user where one is signed in.
func Writer(w todo.Writer, agent, you string) string {
	switch {
	case w.User == "" && w.Person:
		return you
	case w.Person:
		return Safe(w.User)
	case w.User == "":
		return agent
	}
	return agent + " for " + Safe(w.User)
}

// AgentOf returns how people are shown a client by the name that it gives itself
// in MCP. An unknown client keeps its name; one without a name is "An agent".
func AgentOf(name string) Agent {
	switch c := clients.Shown(name); {
	case c.Title != "":
		return Agent{c.Title, cmp.Or(c.Glyph, otherGlyph)}
	case strings.HasPrefix(strings.ToLower(name), "panel"):
		return Agent{"You", "you"}
	case name == "":
		return Agent{"An agent", otherGlyph}
	}
	return Agent{Safe(name), otherGlyph}
}

// Client returns the name of a client's agent, or empty if it has none: for lines
// that leave out what is not known.
func Client(name string) string {
	if name == "" {
		return ""
	}
	return AgentOf(name).Name
}
