//go:build e2e && linux

package chats

import (
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
)

// restarted returns the clients on stdio that tell no id of a chat, and withIDs
// those that do.
func restarted() []where {
	return which(everywhere(), func(w where) bool { return w.by == stdio && w.variable == "" && w.meta == "" })
}

func withIDs() []where {
	return which(everywhere(), func(w where) bool { return w.by == stdio && (w.variable != "" || w.meta != "") })
}

// aFew are some of [restarted].
func aFew() []where {
	return which(restarted(), func(w where) bool {
		return slices.Contains([]string{"gemini-cli-mcp-client", "opencode", "cursor-vscode", "my-agent"}, w.name)
	})
}

const (
	// begun is what a chat has written before it is killed, fourFifths what goes on with
	// it, and generic are steps that plans for many tasks have.
	begun      = "c:Read the parser c:Fix the parser i:Run the tests p:Write a note p:Commit"
	fourFifths = "c:Read the parser c:Fix the parser c:Run the tests i:Write a note p:Tell Ann"
	generic    = "p:Write a failing test p:Fix the bug p:Run the tests p:Commit"
)

// killed is a chat that wrote a plan and was killed; it returns the list.
func (p *place) killed(id, plan string) (list string) {
	p.Helper()
	c := p.chat(id)
	list = c.Writes(plan).List()
	c.kill()
	return list
}

// lists 4
func TestPlanGoesOnAfterAKill(t *testing.T) {
	each(t, restarted(), func(p *place) {
		list, c := p.killed("", begun), p.chat("")
		p.same(list, c.Writes(fourFifths).Says(`Continues "`, "of an earlier session"))
		c.Writes("c:Read the parser i:Tell Ann").Lacks("Continues")
	})
}

// lists 4: another plan leaves the first open, also one of the same shape for another
// task, and one with two of its five items. So does the only item of a list, and the plan
// of a chat that lives.
func TestAnotherPlanAfterAKill(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		in            []where
		before, write string
		lives         bool
	}{
		"another":       {restarted(), begun, "i:Write the manual p:Run the tests p:Print it", false},
		"generic":       {restarted(), "c:Write a failing test c:Fix the bug i:Run the tests p:Commit", generic, false},
		"few items":     {aFew(), begun, "i:Write a note p:Commit", false},
		"its only item": {aFew(), "i:Commit", "i:Commit", false},
		"live":          {aFew(), fourFifths, fourFifths, true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, of.in, func(p *place) {
				first := p.chat("")
				list := first.Writes(of.before).List()
				if !of.lives {
					first.kill()
				}
				p.another(list, p.chat("").Writes(of.write).Lacks("Continues"))
				p.holds(list, of.before)
				if state := p.states()[list]; !of.lives && state != "left open" {
					p.Errorf("front ends are told that the first list is %q", state)
				}
				if p.shown(list).Archived {
					p.Error("the first list is put away")
				}
			})
		})
	}
}

// lists 4: the write is compared with what the agent was shown, not with what a
// person made of it.
func TestPlanGoesOnBesideAPersonsWords(t *testing.T) {
	each(t, aFew(), func(p *place) {
		list := p.killed("", begun)
		p.edit(list, rewords("3", "Call Ben about the release"), rewords("4", "Book the room"), rewords("5", "Send the parcel"))
		p.same(list, p.chat("").Writes(begun).Says("Call Ben about the release", "Book the room", "Send the parcel"))
	})
}

// lists 4: a chat whose host tells another id never goes on with the list. The same id
// is the same chat, as after --resume.
func TestTheIDOfAChat(t *testing.T) {
	each(t, withIDs(), func(p *place) {
		list := p.killed("one", begun)
		p.another(list, p.chat("two").Writes(fourFifths).Lacks("Continues"))
		p.holds(list, begun)
		c := p.chat("one")
		if l := c.Reads(); l.List != list {
			p.Errorf("it reads list %q in place of %q", l.List, list)
		}
		p.same(list, c.Writes(fourFifths))
	})
}

// lists 1 and 4: a chat over HTTP outlives its server.
func TestChatGoesOnWhenItsServerIsKilled(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return w.by != stdio }), func(p *place) {
		c := p.chat("one")
		list := c.Writes("c:Read the parser i:Fix the parser p:Run the tests").List()
		p.served.Kill()
		p.serve(strings.TrimPrefix(p.url, "http://"))
		then := c.Writes("c:Read the parser c:Fix the parser i:Run the tests")
		if p.same(list, then); p.certain() {
			then.Lacks("Continues")
		}
		p.expectLists(1)
	})
}

// lists 1: where a hook tells that the process goes on with another chat, the hook
// decides.
func TestHookTellsChatsApart(t *testing.T) {
	each(t, []where{{stdio, known("claude-code")}}, func(p *place) {
		c := p.chat("one")
		calls := func(session, call, plan string) chattest.Answer {
			p.hook(session, call)
			return c.With(`"claudecode/toolUseId":%q`, call).Writes(plan)
		}
		const begun = "c:Write a failing test i:Fix the bug p:Run the tests p:Commit"
		first := calls("one", "toolu_1", begun).List()
		then := calls("two", "toolu_2", begun)
		p.another(first, then)
		p.same(then.List(), calls("two", "toolu_3", "c:Write a failing test c:Fix the bug"))
		p.holds(first, begun)
		p.same(first, calls("one", "toolu_4", "c:Write a failing test c:Fix the bug i:Run the tests p:Commit"))
	})
}

// BAD-INPUT 44, 53: a call on a named list that is repeated with its operation id by the
// process or the session that comes next is not applied again.
func TestRepeatAfterAKillIsAppliedOnce(t *testing.T) {
	mine := known("my-agent")
	each(t, []where{{stdio, mine}, {inSession, mine}, {sessionless, mine}}, func(p *place) {
		c := p.named("", "release")
		list := c.InOperation("1").Adds("A", "B").List()
		if c.By == stdio {
			c.kill()
		}
		p.same(list, p.named("", "release").InOperation("1").Adds("A", "B"))
		p.holds(list, "p:A p:B")
	})
}
