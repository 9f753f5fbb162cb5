//go:build e2e && linux

package chats

import (
	"fmt"
	"strings"
	"testing"
)

// has checks that an answer says each text.
func (p *place) has(a answer, texts ...string) {
	p.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			p.Errorf("the answer does not say %q: %s", text, a.text)
		}
	}
}

// same checks that two calls meant one list, and another that they did not.
func (p *place) same(first, then answer) {
	p.Helper()
	if first.list == "" || first.list != then.list {
		p.Errorf("the call means list %q in place of %q: %s; there are %v", then.list, first.list, then.text, p.lists())
	}
}

func (p *place) another(first, then answer) {
	p.Helper()
	if then.list == "" || first.list == then.list {
		p.Errorf("the call means list %q, which is no other one: %s; there are %v", then.list, then.text, p.lists())
	}
}

// holds checks what a list holds, as inShort says it.
func (p *place) holds(id, want string) {
	p.Helper()
	if got := p.shown(id); got.String() != want {
		p.Errorf("list %s holds %q in place of %q", id, got, want)
	}
}

// onBoard checks that lists are open and not put away.
func (p *place) onBoard(lists ...answer) {
	p.Helper()
	states := p.states()
	for _, l := range lists {
		if got := p.shown(l.list); got.Archived || states[l.list] == "" {
			p.Errorf("list %s is not on the board: %v, %q", l.list, got, states[l.list])
		}
	}
}

// lists 2
func TestPlanCutDownIsTheSameList(t *testing.T) {
	each(t, everywhere(), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests")
		then := c.writes("Read the parser:completed")
		if p.certain() {
			p.same(first, then)
			p.has(then, "Fix the parser", "Run the tests")
		} else if first.list != then.list {
			p.holds(first.list, "Read the parser:completed, Fix the parser:in_progress, Run the tests:pending")
			p.onBoard(first)
		}
	})
}

// lists 3
func TestPlanWithNothingInCommonPutsTheFirstAway(t *testing.T) {
	each(t, which(everywhere(), where.certain), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests")
		then := c.writes("Write the manual:in_progress", "Draw the pictures", "Print it")
		p.another(first, then)
		p.has(then, "Fix the parser", "Run the tests")
		old, states := p.lists()[first.list], p.states()
		if !old.Archived || old.State == "working" || old.State == "left open" {
			p.Errorf("the first list is %q, archived %t", old.State, old.Archived)
		}
		if state, known := states[first.list]; known || states[then.list] != "working" {
			p.Errorf("front ends are told that the first list is %q and the second %q", state, states[then.list])
		}
		if board := p.run("lists", "--json"); strings.Contains(board, first.list) {
			p.Errorf("it is on the board: %s", board)
		}
		p.holds(first.list, "Read the parser:completed, Fix the parser:in_progress, Run the tests:pending")

		p.run("archive", "--undo", first.list)
		if p.shown(first.list).Archived {
			p.Error("a person cannot bring the first list back")
		}
	})
}

// lists 3
func TestFirstPlanWrittenAgainComesBack(t *testing.T) {
	each(t, which(oneOfEachKind(), where.certain), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests")
		p.another(first, c.writes("Write the manual:in_progress", "Draw the pictures", "Print it"))
		again := c.writes("Read the parser:completed", "Fix the parser:completed", "Run the tests:in_progress")
		p.same(first, again)
		p.onBoard(first)
		p.holds(first.list, "Read the parser:completed, Fix the parser:completed, Run the tests:in_progress")
		p.expectLists(2)
	})
}

// lists 3: one item in common is enough.
func TestPlanWithOneItemInCommonIsTheSameList(t *testing.T) {
	each(t, which(everywhere(), where.certain), func(p *place) {
		c := p.chat("one")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests")
		then := c.writes("fix the parser.:completed", "Write the manual:in_progress", "Print it")
		p.same(first, then)
		p.has(then, "Run the tests")
	})
}

// lists 3: a title that no person gave is taken anew when its item is gone; one that
// a person gave stays.
func TestTitleFollowsThePlan(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes("Fix the parser:in_progress", "Run the tests")
		c.writes("Run the tests:in_progress", "Write the manual")
		if title := p.shown(first.list).Title; title != "Run the tests" {
			p.Errorf("the title is %q", title)
		}
		p.run("rename", first.list, "The release")
		c.writes("Write the manual:in_progress", "Print it")
		if title := p.shown(first.list).Title; title != "The release" {
			p.Errorf("the title that a person gave became %q", title)
		}
	})
}

// lists 3
func TestPlanAfterASettledListIsTheNext(t *testing.T) {
	each(t, everywhere(), func(p *place) {
		c := p.chat("one")
		c.writes("Read the parser:completed", "Fix the parser:in_progress")
		first := c.writes("Read the parser:completed", "Fix the parser:completed")
		then := c.writes("Write the manual:in_progress", "Print it")
		p.another(first, then)
		after := p.lists()[first.list]
		if after.State != "finished" || after.Archived || after.Revision != 2 || after.String() != "Read the parser:completed, Fix the parser:completed" {
			p.Errorf("the first list is %q at revision %d: %s", after.State, after.Revision, after)
		}
	})
}

// lists 5
func TestClearingShowsAnEmptyListEverywhere(t *testing.T) {
	each(t, oneOfEachKind(), func(p *place) {
		for _, status := range []string{"pending", "completed"} {
			p.Run(status, func(t *testing.T) {
				q := newPlace(t, p.where)
				c := q.chat("one")
				first := c.writes("Read the parser:completed", "Fix the parser:"+status)
				events := q.follow("/api/events")
				cleared := c.writes()
				q.has(cleared, "0 completed, 0 in_progress, 0 pending")
				if len(cleared.items) > 0 {
					q.Errorf("the answer shows %s", inShort(cleared.items))
				}
				if l := c.reads(); len(l.Items) > 0 {
					q.Errorf("the agent reads %s", l)
				}
				if l := q.shown(); len(l.Items) > 0 {
					q.Errorf("a person is shown %s", l)
				}
				if line := q.run("show", "--format", "statusline"); strings.Contains(line, "the parser") {
					q.Errorf("the status line is %q", line)
				}
				if todos := q.workspace(""); len(todos) > 0 {
					q.Errorf("a front end restores %v", todos)
				}
				if !events("data: []") {
					q.Error("no event shows an empty list")
				}
				for id, state := range q.states() {
					if l := q.shown(id); len(l.Items) > 0 {
						q.Errorf("front ends are told that %s is %q", l, state)
					}
				}
				if history := q.run("history", "--json", first.list); !strings.Contains(history, "Read the parser") || !strings.Contains(history, "Fix the parser") {
					q.Errorf("the history is %s", history)
				}
				if status == "completed" {
					q.restores(first)
				}
			})
		}
	})
}

// restores checks that the plan of a settled list that was cleared is in its history.
func (p *place) restores(settled answer) {
	p.Helper()
	if l := p.shown(settled.list); len(l.Items) == 0 {
		p.run("restore", settled.list, "1")
	}
	p.holds(settled.list, "Read the parser:completed, Fix the parser:completed")
}

// lists 5: where several chats could have sent it, [] is refused.
func TestClearingOneOfSeveralChatsIsRefused(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return !w.certain() }), func(p *place) {
		c := p.chat("")
		c.writes("Read the parser:completed", "Fix the parser:in_progress")
		c.writes("Write the manual:in_progress", "Print it")
		text := c.refused("TodoWrite", plan())
		p.has(answer{text: text}, "Fix the parser", "Write the manual")
	})
}

// lists 1 and 4
func TestChatsInOneConnectionHaveTheirOwnLists(t *testing.T) {
	sharing := which(everywhere(), func(w where) bool { return !w.certain() || w.shares })
	each(t, append(sharing, where{inSession, known("claude-ai")}), func(p *place) {
		c := p.chat("")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress", "Run the tests", "Write a note", "Commit")
		then := c.writes("Write the manual:in_progress", "Draw the pictures", "Print it")
		p.another(first, then)
		p.onBoard(first, then)
		goesOn := c.writes("Read the parser:completed", "Fix the parser:completed", "Run the tests:in_progress", "Tell Ann", "Commit")
		p.same(first, goesOn)
		p.same(then, c.writes("Write the manual:completed", "Draw the pictures:in_progress", "Print it"))
		p.holds(first.list, "Read the parser:completed, Fix the parser:completed, Run the tests:in_progress, Tell Ann:pending, Commit:pending")
		p.onBoard(first, then)
		p.expectLists(2)
	})
}

// generic are steps that plans for many tasks have.
func generic() []string {
	return []string{"Write a failing test", "Fix the bug", "Run the tests", "Commit"}
}

// lists 1: the host's id of the chat tells two in one connection apart.
func TestChatsWithIDsInOneConnectionHaveTheirOwnLists(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return w.meta != "" }), func(p *place) {
		one := p.chat("one")
		two := one.as("two")
		p.goOnApart(one, two)
	})
}

// lists 1: two live processes or sessions in one folder are two conversations.
func TestProcessesInOneFolderHaveTheirOwnLists(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return w.by != sessionless }), func(p *place) {
		p.goOnApart(p.chat("one"), p.chat("two"))
	})
}

// lists 1: also two of a host that told no id.
func TestProcessesWithoutIDsHaveTheirOwnLists(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return w.by == onStdio && w.variable != "" }), func(p *place) {
		p.goOnApart(p.chat(""), p.chat(""))
	})
}

// goOnApart checks that two chats that write the same plan each go on with their own.
func (p *place) goOnApart(one, two *chat) {
	p.Helper()
	first, other := one.writes(generic()...), two.writes(generic()...)
	p.another(first, other)
	p.same(first, one.writes("Write a failing test:completed", "Fix the bug:in_progress", "Run the tests", "Commit"))
	p.same(other, two.writes("Write a failing test:in_progress", "Fix the bug", "Run the tests", "Commit"))
	p.same(first, one.writes("Write a failing test:completed", "Fix the bug:completed", "Run the tests:in_progress", "Commit"))
	p.holds(first.list, "Write a failing test:completed, Fix the bug:completed, Run the tests:in_progress, Commit:pending")
	p.holds(other.list, "Write a failing test:in_progress, Fix the bug:pending, Run the tests:pending, Commit:pending")
	p.onBoard(first, other)
	p.expectLists(2)
}

// lists 3: a list with a name of its own is replaced in place.
func TestNamedListIsReplacedInPlace(t *testing.T) {
	var places []where
	for _, by := range []transport{onStdio, inSession, sessionless} {
		for _, name := range []string{"claude-code", "cursor-vscode", "my-agent"} {
			places = append(places, where{by, known(name)})
		}
	}
	each(t, places, func(p *place) {
		c := p.named("one", "release")
		first := c.writes("Read the parser:completed", "Fix the parser:in_progress")
		wholly := c.writes("Write the manual:in_progress", "Print it")
		p.same(first, wholly)
		p.has(wholly, "Fix the parser")
		c.writes("Write the manual:completed", "Print it:completed")
		p.same(first, c.writes("Buy paper:in_progress", "Buy ink"))
		p.holds(first.list, "Buy paper:in_progress, Buy ink:pending")
		p.expectLists(1)
	})
}

// lists 6: one that failed is not completed.
func TestStepsAreAddedUnlessAllIsCompleted(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.calls("create_todos", `{"items":["Read the parser","Fix the parser"]}`)
		c.calls("update_todo", `{"id":"1","status":"completed"}`)
		p.same(first, c.calls("create_todos", `{"items":["Run the tests"]}`))
		c.calls("update_todo", `{"id":"2","status":"failed"}`)
		c.calls("update_todo", `{"id":"3","status":"completed"}`)
		p.same(first, c.calls("create_todos", `{"items":["Fix it again"]}`))
		p.expectLists(1)
	})
}

// lists 6
func TestStepsGoOnWithTheirNumbers(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.calls("create_todos", `{"items":["Read the parser","Fix the parser"]}`)
		for id := range 2 {
			c.calls("update_todo", fmt.Sprintf(`{"id":"%d","status":"completed"}`, id+1))
		}
		next := c.calls("create_todos", `{"items":["Write the manual","Print it"]}`)
		p.another(first, next)
		if ids := p.shown(next.list).ids(); ids != "3 4" {
			p.Errorf("the numbers of the next list are %s", ids)
		}
		old := c.call("update_todo", `{"id":"1","status":"running"}`)
		p.has(old, `#1 "Read the parser"`)
		p.holds(next.list, "Write the manual:pending, Print it:pending")
		p.has(c.calls("update_todo", `{"id":"3","status":"running"}`), `#3 "Write the manual"`)
	})
}

// lists 7
func TestFrontEndFollowsTheChat(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"id", "name"} {
		t.Run("by "+by, func(t *testing.T) {
			each(t, threeCertain(), func(p *place) {
				name := map[string]string{"id": "", "name": "release"}[by]
				c := p.named("one", name)
				first := c.writes("Read the parser:in_progress")
				if by == "id" {
					name = first.list
				}
				stream, events := p.follow("/api/stream?list="+name), p.follow("/api/events?list="+name)
				c.writes("Read the parser:completed")
				c.writes("Write the manual:in_progress", "Print it")
				if !stream("Write the manual") {
					p.Error("/api/stream does not go on with the next plan of the chat")
				}
				if !events("Write the manual") {
					p.Error("/api/events does not go on with the next plan of the chat")
				}
				if todos := p.workspace("?list=" + name); len(todos) == 0 || todos[0].Content != "Write the manual" {
					p.Errorf("after a reload it has %v", todos)
				}
			})
		})
	}
}
