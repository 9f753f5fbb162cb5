//go:build e2e && linux

package chats

import (
	"slices"
	"strings"
	"testing"
)

// restarted returns the clients on stdio that tell no id of a chat, and told those
// that do.
func restarted() []where {
	return which(everywhere(), func(w where) bool { return w.by == onStdio && w.variable == "" && w.meta == "" })
}

func told() []where {
	return which(everywhere(), func(w where) bool { return w.by == onStdio && (w.variable != "" || w.meta != "") })
}

// aFew are some of [restarted].
func aFew() []where {
	return which(restarted(), func(w where) bool {
		return slices.Contains([]string{"gemini-cli-mcp-client", "opencode", "cursor-vscode", "my-agent"}, w.name)
	})
}

// killed is a chat that wrote a plan and was killed.
func (p *place) killed(id string) (written answer) {
	p.Helper()
	c := p.chat(id)
	c.writes("Read the parser:in_progress", "Fix the parser", "Run the tests", "Write a note", "Commit")
	written = c.writes("Read the parser:completed", "Fix the parser:completed", "Run the tests:in_progress", "Write a note", "Commit")
	c.kill()
	return written
}

// fourFifths is a write that goes on with the plan of [place.killed].
func fourFifths() []string {
	return []string{"Read the parser:completed", "Fix the parser:completed", "Run the tests:completed", "Write a note:in_progress", "Tell Ann"}
}

// lists 4
func TestPlanGoesOnAfterAKill(t *testing.T) {
	each(t, restarted(), func(p *place) {
		first := p.killed("")
		c := p.chat("")
		then := c.writes(fourFifths()...)
		p.same(first, then)
		p.has(then, `Continues "`, "of an earlier session")
		if again := c.writes("Read the parser:completed", "Tell Ann:in_progress"); strings.Contains(again.text, "Continues") {
			p.Errorf("it is told again: %s", again.text)
		}
	})
}

// lists 4
func TestAnotherPlanAfterAKillLeavesTheFirstOpen(t *testing.T) {
	each(t, restarted(), func(p *place) {
		first := p.killed("")
		then := p.chat("").writes("Write the manual:in_progress", "Run the tests", "Print it")
		p.another(first, then)
		if strings.Contains(then.text, "Continues") {
			p.Error(then.text)
		}
		if state := p.states()[first.list]; state != "left open" {
			p.Errorf("front ends are told that the first list is %q", state)
		}
		if p.shown(first.list).Archived {
			p.Error("the first list is put away")
		}
	})
}

// lists 4: a plan of the same shape for another task is another plan.
func TestGenericPlanAfterAKillIsAnother(t *testing.T) {
	each(t, restarted(), func(p *place) {
		c := p.chat("")
		c.writes(generic()...)
		first := c.writes("Write a failing test:completed", "Fix the bug:completed", "Run the tests:in_progress", "Commit")
		c.kill()
		then := p.chat("").writes(generic()...)
		p.another(first, then)
		p.holds(first.list, "Write a failing test:completed, Fix the bug:completed, Run the tests:in_progress, Commit:pending")
	})
}

// lists 4: two of five items are not four fifths, and neither is the only one.
func TestFewItemsAfterAKillAreAnotherPlan(t *testing.T) {
	each(t, aFew(), func(p *place) {
		first := p.killed("")
		p.another(first, p.chat("").writes("Write a note:in_progress", "Commit"))
		c := p.chat("")
		single := c.writes("Commit:in_progress")
		c.kill()
		p.another(single, p.chat("").writes("Commit:in_progress"))
	})
}

// lists 4: the write is compared with what the agent was shown, not with what a
// person made of it.
func TestPlanGoesOnBesideAPersonsWords(t *testing.T) {
	each(t, aFew(), func(p *place) {
		first := p.killed("")
		p.rewords(first.list, "3", "Call Ben about the release")
		p.rewords(first.list, "4", "Book the room")
		p.rewords(first.list, "5", "Send the parcel")
		then := p.chat("").writes("Read the parser:completed", "Fix the parser:completed", "Run the tests:in_progress", "Write a note", "Commit")
		p.same(first, then)
		p.has(then, "Call Ben about the release", "Book the room", "Send the parcel")
	})
}

// lists 4: another chat's live list is never continued, whatever the write has.
func TestLiveListIsNotContinued(t *testing.T) {
	each(t, aFew(), func(p *place) {
		first := p.chat("").writes(fourFifths()...)
		p.another(first, p.chat("").writes(fourFifths()...))
	})
}

// lists 4: a chat whose host tells another id never goes on with the list.
func TestAnotherIDNeverContinues(t *testing.T) {
	each(t, told(), func(p *place) {
		first := p.killed("one")
		then := p.chat("two").writes(fourFifths()...)
		p.another(first, then)
		if strings.Contains(then.text, "Continues") {
			p.Error(then.text)
		}
		p.holds(first.list, "Read the parser:completed, Fix the parser:completed, Run the tests:in_progress, Write a note:pending, Commit:pending")
	})
}

// lists 4: the same id is the same chat, as after --resume.
func TestTheSameIDGoesOn(t *testing.T) {
	each(t, told(), func(p *place) {
		first := p.killed("one")
		c := p.chat("one")
		if l := c.reads(); l.List != first.list {
			p.Errorf("it reads list %q in place of %q", l.List, first.list)
		}
		p.same(first, c.writes(fourFifths()...))
	})
}

// lists 1 and 4: a chat over HTTP outlives its server.
func TestChatGoesOnWhenItsServerIsKilled(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return w.by != onStdio }), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests")
		p.served.Kill()
		p.serve(strings.TrimPrefix(p.url, "http://"))
		then := c.writes("Read the parser:completed", "Fix the parser:completed", "Run the tests:in_progress")
		p.same(first, then)
		if p.certain() && strings.Contains(then.text, "Continues") {
			p.Error(then.text)
		}
		p.expectLists(1)
	})
}

// lists 1: where a hook tells that the process goes on with another chat, the hook
// decides.
func TestHookTellsChatsApart(t *testing.T) {
	each(t, []where{{onStdio, known("claude-code")}}, func(p *place) {
		c := p.chat("one")
		calls := func(session, call string, items ...string) answer {
			p.hook(session, call)
			return c.with(`"claudecode/toolUseId":%q`, call).writes(items...)
		}
		first := calls("one", "toolu_1", "Write a failing test:completed", "Fix the bug:in_progress", "Run the tests", "Commit")
		then := calls("two", "toolu_2", "Write a failing test:completed", "Fix the bug:in_progress", "Run the tests", "Commit")
		p.another(first, then)
		p.same(then, calls("two", "toolu_3", "Write a failing test:completed", "Fix the bug:completed"))
		p.holds(first.list, "Write a failing test:completed, Fix the bug:in_progress, Run the tests:pending, Commit:pending")
		p.same(first, calls("one", "toolu_4", "Write a failing test:completed", "Fix the bug:completed", "Run the tests:in_progress", "Commit"))
	})
}

// lists 1 and 3: without a hook another chat's plan does no harm to the first.
func TestWithoutHookTheFirstPlanIsPutAway(t *testing.T) {
	each(t, []where{{onStdio, known("claude-code")}, {onStdio, known("kimi-code")}}, func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress")
		p.another(first, c.writes("Write the manual:in_progress", "Print it"))
		p.holds(first.list, "Read the parser:completed, Fix the parser:in_progress")
		if l := p.lists()[first.list]; !l.Archived {
			p.Errorf("the first list is %q and not put away", l.State)
		}
		p.run("archive", "--undo", first.list)
		p.onBoard(first)
	})
}

// BAD-INPUT 44, 53: a call on a named list that is repeated with its operation id by the
// process or the session that comes next is not applied again.
func TestRepeatAfterAKillIsAppliedOnce(t *testing.T) {
	each(t, []where{{onStdio, known("my-agent")}, {inSession, known("my-agent")}, {sessionless, known("my-agent")}}, func(p *place) {
		const steps = `{"items":["Read the parser","Fix the parser"]}`
		c := p.named("", "release")
		first := c.with(`"todo-mcp/operation":"1"`).calls("create_todos", steps)
		if c.by == onStdio {
			c.kill()
		}
		then := p.named("", "release").with(`"todo-mcp/operation":"1"`).calls("create_todos", steps)
		p.same(first, then)
		p.holds(first.list, "Read the parser:pending, Fix the parser:pending")
	})
}
