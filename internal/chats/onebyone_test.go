//go:build e2e && linux

package chats

import (
	"strings"
	"testing"
)

// step is a call of an agent.
type step struct{ tool, args string }

func writes(items ...string) step { return step{"TodoWrite", plan(items...)} }

// refusals are calls of which the last is to be refused: one at a time.
func refusals() map[string][]step {
	const a, b, c = "Read the parser", "Fix the parser", "Run the tests"
	return map[string][]step{
		"the first plan begins two": {writes(a+":in_progress", b+":in_progress")},
		"a completed item is begun again beside the running one": {
			writes(a+":completed", b+":in_progress"), writes(a+":in_progress", b+":in_progress")},
		"a pending item is begun beside the running one": {
			writes(a+":in_progress", b), writes(a+":in_progress", b+":in_progress")},
		"a new item begins beside the running one": {
			writes(a+":in_progress", b), writes(a+":in_progress", b, c+":in_progress")},
		"one begins after the other, call by call": {
			writes(a, b, c), writes(a+":in_progress", b, c), writes(a+":in_progress", b, c+":in_progress")},
		"a patch begins an item beside one that it leaves out": {
			writes(a+":in_progress", b), {"TodoWrite", ofIDs("2 " + b + ":in_progress")}},
		"a patch begins two": {
			writes(a, b, c), {"TodoWrite", ofIDs("1 "+a+":in_progress", "3 "+c+":in_progress")}},
		"two items of equal texts": {
			writes(a+":in_progress", a), writes(a+":in_progress", a+":in_progress")},
		"two new items of equal texts": {
			writes(b), writes(a+":in_progress", a+":in_progress", b)},
		"write_todos begins one and TodoWrite another": {
			{"write_todos", plan(a+":in_progress", b)}, writes(a+":in_progress", b+":in_progress")},
		"TodoWrite begins one and write_todos another": {
			writes(a+":in_progress", b), {"write_todos", plan(a+":in_progress", b+":in_progress")}},
		"write_todos begins two, call by call": {
			{"write_todos", plan(a+":in_progress", b)}, {"write_todos", plan(a+":in_progress", b+":in_progress")}},
		"a third after SetTodoList began two": {
			{"SetTodoList", titles(a+":in_progress", b+":in_progress", c)}, writes(a+":in_progress", b+":in_progress", c+":in_progress")},
		"another after update_todo began one": {
			{"create_todos", `{"items":["Read the parser","Fix the parser"]}`}, {"update_todo", `{"id":"1","status":"running"}`},
			writes(a+":in_progress", b+":in_progress")},
		"the running one is reworded and another begins": {
			writes(a+":in_progress", b), writes("Read the whole parser:in_progress", b+":in_progress")},
	}
}

func TestOneAtATimeIsRefused(t *testing.T) {
	eachCase(t, refusals(), func(c *chat, steps []step) {
		last := len(steps) - 1
		for _, s := range steps[:last] {
			c.calls(s.tool, s.args)
		}
		c.refused(steps[last].tool, steps[last].args)
	}, "TODO_ITEM_IDS=true")
}

// allowed is calls that are never refused, and what the list then holds.
type allowed struct {
	steps []step
	want  string
}

func allowances() map[string]allowed {
	const a, b, c = "Read the parser", "Fix the parser", "Run the tests"
	running := step{"SetTodoList", titles(a+":in_progress", b+":in_progress", c)}
	return map[string]allowed{
		"two that run are sent back as they are": {
			[]step{running, writes(a+":in_progress", b+":in_progress", c)},
			a + ":in_progress, " + b + ":in_progress, " + c + ":pending"},
		"two that run are sent back with a change that begins none": {
			[]step{running, writes(a+":in_progress", b+":in_progress", c+":completed", "Commit")},
			a + ":in_progress, " + b + ":in_progress, " + c + ":completed, Commit:pending"},
		"a patch that begins none beside two that run": {
			[]step{running, {"TodoWrite", ofIDs("3 " + c + ":completed")}},
			a + ":in_progress, " + b + ":in_progress, " + c + ":completed"},
		"the next begins as the running one is completed": {
			[]step{writes(a+":in_progress", b), writes(a+":completed", b+":in_progress")},
			a + ":completed, " + b + ":in_progress"},
		"the running one is put back as another begins": {
			[]step{writes(a+":in_progress", b), writes(a, b+":in_progress")},
			a + ":pending, " + b + ":in_progress"},
		"the running one is dropped as another begins": {
			[]step{writes(a+":in_progress", b), writes(b+":in_progress", c)},
			b + ":in_progress, " + c + ":pending"},
		"one that failed is shown as in progress and does not count": {
			[]step{{"create_todos", `{"items":["Read the parser","Fix the parser"]}`}, {"update_todo", `{"id":"1","status":"failed"}`}, writes(a+":in_progress", b+":in_progress")},
			a + ":failed, " + b + ":in_progress"},
		"SetTodoList begins as many as it likes": {
			[]step{writes(a+":in_progress", b, c), running, {"SetTodoList", titles(a+":in_progress", b+":in_progress", c+":in_progress")}},
			a + ":in_progress, " + b + ":in_progress, " + c + ":in_progress"},
	}
}

func TestOneAtATimeIsNotRefused(t *testing.T) {
	eachCase(t, allowances(), func(c *chat, of allowed) {
		for _, s := range of.steps {
			c.calls(s.tool, s.args)
		}
		if l := c.reads(); l.String() != of.want {
			c.Errorf("the list is %q in place of %q", l, of.want)
		}
	}, "TODO_ITEM_IDS=true")
}

// One at a time: the command is a conversation, too.
func TestOneAtATimeInTheShell(t *testing.T) {
	each(t, []where{{onStdio, known("my-agent")}}, func(p *place) {
		p.run("TodoWrite", plan("Read the parser:in_progress", "Fix the parser"))
		out, failure, err := p.try(nil, "", "TodoWrite", plan("Read the parser:in_progress", "Fix the parser:in_progress"))
		if err == nil || out != "" || !strings.HasPrefix(failure, "Error") {
			p.Errorf("it is not refused: %v %q %q", err, out, failure)
		}
		if l := p.shown(); l.Revision != 1 || l.String() != "Read the parser:in_progress, Fix the parser:pending" {
			p.Errorf("it changed the list to %s", l)
		}
		p.run("TodoWrite", plan("Read the parser:completed", "Fix the parser:in_progress"))
	})
}

// One at a time: what a person put in progress does not count, on the command line
// or the page, whether the agent saw it or not.
func TestOneAtATimeBesideAPerson(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser", "Fix the parser", "Run the tests")
		p.marks(first.list, "2", ">")
		unseen := c.writes("Read the parser:in_progress", "Fix the parser", "Run the tests")
		p.has(unseen, "Fix the parser")
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:in_progress, Run the tests:pending")
		c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests:in_progress")
		p.holds(first.list, "Read the parser:completed, Fix the parser:in_progress, Run the tests:in_progress")
		p.panel(first.list, `{"do":"status","id":"1","status":"in_progress"}`)
		c.reads()
		c.writes("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests:completed", "Commit:in_progress")
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:in_progress, Run the tests:completed, Commit:in_progress")
		c.refused("TodoWrite", plan("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests:in_progress", "Commit:in_progress"))
	})
}

// One at a time: a restore is a person's hand.
func TestOneAtATimeAfterARestore(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:in_progress", "Fix the parser")
		c.writes("Read the parser:completed", "Fix the parser")
		p.run("restore", first.list, "1")
		c.reads()
		c.writes("Read the parser:in_progress", "Fix the parser:in_progress")
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:in_progress")
	})
}

// One at a time: what another conversation put in progress on a shared list does not
// count; what one's own did does, and what another one reworded still is one's own.
func TestOneAtATimeBesideAnotherConversation(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		one, two := p.named("one", "release"), p.named("two", "release")
		first := one.writes("Read the parser:in_progress", "Fix the parser", "Run the tests")
		two.reads()
		p.same(first, two.writes("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests"))
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:in_progress, Run the tests:pending")
		one.reads()
		one.refused("TodoWrite", plan("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests:in_progress"))
		two.refused("TodoWrite", plan("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests:in_progress"))
		one.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests:in_progress")
	})
}

// One at a time: demote keeps the item just begun.
func TestDemoteKeepsTheItemJustBegun(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser", "Fix the parser:in_progress", "Run the tests")
		a := c.writes("Read the parser:in_progress", "Fix the parser:in_progress", "Run the tests")
		p.has(a, `set to pending: "Fix the parser"`)
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:pending, Run the tests:pending")
		c.writes("Read the parser:in_progress", "Fix the parser", "Run the tests:in_progress")
		p.holds(first.list, "Read the parser:pending, Fix the parser:pending, Run the tests:in_progress")
		c.calls("TodoWrite", ofIDs("1 Read the parser:in_progress"))
		p.holds(first.list, "Read the parser:in_progress, Fix the parser:pending, Run the tests:pending")
	}, "TODO_IN_PROGRESS=demote", "TODO_ITEM_IDS=true")
}
