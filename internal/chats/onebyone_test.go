//go:build e2e && linux

package chats

import (
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
)

// step is a call: a plan in short for TodoWrite, or behind the name of another tool what
// that is called with, as "create_todos A B" and "update_todo 1 running".
func step(s string) (tool, args string) {
	tool, rest, _ := strings.Cut(s, " ")
	switch tool {
	case "create_todos":
		return tool, chattest.Steps(strings.Fields(rest)...)
	case "update_todo":
		id, status, _ := strings.Cut(rest, " ")
		return tool, fmt.Sprintf(`{"id":%q,"status":%q}`, id, status)
	case "write_todos", "SetTodoList":
		return tool, chattest.Arguments(tool, rest)
	}
	return "TodoWrite", chattest.Arguments("TodoWrite", s)
}

// One at a time: the last of these calls is refused.
func TestOneAtATimeIsRefused(t *testing.T) {
	eachCase(t, map[string][]string{
		"the first plan begins two":                              {"i:A i:B"},
		"a completed item is begun again beside the running one": {"c:A i:B", "i:A i:B"},
		"a pending item is begun beside the running one":         {"i:A p:B", "i:A i:B"},
		"a new item begins beside the running one":               {"i:A p:B", "i:A p:B i:C"},
		"one begins after the other, call by call":               {"p:A p:B p:C", "i:A p:B p:C", "i:A p:B i:C"},
		"a patch begins an item beside one that it leaves out":   {"i:A p:B", "i#2:B"},
		"a patch begins two":                                     {"p:A p:B p:C", "i#1:A i#3:C"},
		"two items of equal texts":                               {"i:A p:A", "i:A i:A"},
		"two new items of equal texts":                           {"p:B", "i:A i:A p:B"},
		"write_todos begins one and TodoWrite another":           {"write_todos i:A p:B", "i:A i:B"},
		"TodoWrite begins one and write_todos another":           {"i:A p:B", "write_todos i:A i:B"},
		"write_todos begins two, call by call":                   {"write_todos i:A p:B", "write_todos i:A i:B"},
		"a third after SetTodoList began two":                    {"SetTodoList i:A i:B p:C", "i:A i:B i:C"},
		"another after update_todo began one":                    {"create_todos A B", "update_todo 1 running", "i:A i:B"},
		"the running one is reworded and another begins":         {"i:Read-it p:B", "i:Read-it-all i:B"},
	}, func(_ *place, c *chat, steps []string) {
		last := len(steps) - 1
		for _, s := range steps[:last] {
			c.Does(step(s))
		}
		c.refused(step(steps[last]))
	}, "TODO_ITEM_IDS=true")
}

// One at a time: these calls are not refused, and the list is then as the last text says.
func TestOneAtATimeIsNotRefused(t *testing.T) {
	eachCase(t, map[string][]string{
		"two that run are sent back as they are":                     {"SetTodoList i:A i:B p:C", "i:A i:B p:C", "i:A i:B p:C"},
		"two that run are sent back with another change":             {"SetTodoList i:A i:B p:C", "i:A i:B c:C p:D", "i:A i:B c:C p:D"},
		"a patch that begins none beside two that run":               {"SetTodoList i:A i:B p:C", "c#3:C", "i:A i:B c:C"},
		"the next begins as the running one is completed":            {"i:A p:B", "c:A i:B", "c:A i:B"},
		"the running one is put back as another begins":              {"i:A p:B", "p:A i:B", "p:A i:B"},
		"the running one is dropped as another begins":               {"i:A p:B", "i:B p:C", "i:B p:C"},
		"one that failed is shown as in progress and does not count": {"create_todos A B", "update_todo 1 failed", "i:A i:B", "f:A i:B"},
		"SetTodoList begins as many as it likes":                     {"i:A p:B p:C", "SetTodoList i:A i:B p:C", "SetTodoList i:A i:B i:C", "i:A i:B i:C"},
	}, func(_ *place, c *chat, steps []string) {
		last := len(steps) - 1
		for _, s := range steps[:last] {
			c.Does(step(s))
		}
		c.Shows(steps[last])
	}, "TODO_ITEM_IDS=true")
}

// One at a time: the command is a conversation, too.
func TestOneAtATimeInTheShell(t *testing.T) {
	each(t, []where{{stdio, known("my-agent")}}, func(p *place) {
		write := func(plan string) string { return chattest.Arguments("TodoWrite", plan) }
		p.run("TodoWrite", write("i:A p:B"))
		out, failure, err := p.try(nil, "", "TodoWrite", write("i:A i:B"))
		if err == nil || out != "" || !strings.HasPrefix(failure, "Error") {
			p.Errorf("it is not refused: %v %q %q", err, out, failure)
		}
		if l := p.shown(); l.Revision != 1 || l.String() != "i:A p:B" {
			p.Errorf("it changed the list to %s", l)
		}
		p.run("TodoWrite", write("c:A i:B"))
	})
}

// One at a time: what a person put in progress does not count, on the page or
// by a restore, whether the agent saw it or not.
func TestOneAtATimeBesideAPerson(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		list := c.Writes("p:A p:Boil p:C").List()
		p.edit(list, marks("2", "in_progress"))
		c.Writes("i:A p:Boil p:C").Says("Boil")
		p.holds(list, "i:A i:Boil p:C")
		c.Writes("c:A i:Boil i:C")
		p.holds(list, "c:A i:Boil i:C")
		p.edit(list, marks("1", "in_progress"))
		c.Reads()
		c.Writes("i:A i:Boil c:C i:D")
		p.holds(list, "i:A i:Boil c:C i:D")
		c.refused(step("i:A i:Boil i:C i:D"))

		restored := p.named("two", "restored")
		list = restored.Writes("i:A p:B").List()
		restored.Writes("c:A p:B")
		p.run("restore", list, "1")
		restored.Reads()
		restored.Writes("i:A i:B")
		p.holds(list, "i:A i:B")
	})
}

// One at a time: what another conversation put in progress on a shared list does not
// count; what one's own did does, and what another one reworded still is one's own.
func TestOneAtATimeBesideAnotherConversation(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		one, two := p.named("one", "release"), p.named("two", "release")
		list := one.Writes("i:A p:B p:C").List()
		two.Reads()
		p.same(list, two.Writes("i:A i:B p:C"))
		p.holds(list, "i:A i:B p:C")
		one.Reads()
		one.refused(step("i:A i:B i:C"))
		two.refused(step("i:A i:B i:C"))
		one.Writes("c:A i:B i:C")
	})
}

// One at a time: demote keeps the item just begun.
func TestDemoteKeepsTheItemJustBegun(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		list := c.Writes("p:A i:B p:C").List()
		c.Writes("i:A i:B p:C").Says(`set to pending: "B"`)
		p.holds(list, "i:A p:B p:C")
		c.Writes("i:A p:B i:C")
		p.holds(list, "p:A p:B i:C")
		c.Writes("i#1:A")
		p.holds(list, "i:A p:B p:C")
	}, "TODO_IN_PROGRESS=demote", "TODO_ITEM_IDS=true")
}
