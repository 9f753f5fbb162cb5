//go:build e2e && linux

package chats

import (
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
)

const (
	parser = "c:Read the parser i:Fix the parser p:Run the tests"
	manual = "i:Write the manual p:Draw the pictures p:Print it"
)

// lists 2 and 3: a certain chat replaces its list as long as one item is in common, and
// is told what it dropped. With nothing in common the next list begins, and the first is
// put away, for people too, until it is written again. After a settled list the next one
// begins, and the settled one stays.
func TestTheListsOfACertainChat(t *testing.T) {
	each(t, which(everywhere(), where.certain), func(p *place) {
		c := p.chat("one")
		first := c.Writes(parser).List()
		p.same(first, c.Writes("c:fix the parser. i:Write the manual p:Print it").Says("Run the tests"))
		p.same(first, c.Writes(parser).Says("Write the manual", "Print it"))
		p.same(first, c.Writes("c:Read the parser").Says("Fix the parser", "Run the tests"))

		c = p.chat("two")
		first = c.Writes(parser).List()
		second := c.Writes(manual).Says("Fix the parser", "Run the tests")
		p.another(first, second)
		old, states := p.lists()[first], p.states()
		if !old.Archived || old.State == "working" || old.State == "left open" {
			p.Errorf("the first list is %q, archived %t", old.State, old.Archived)
		}
		if state, known := states[first]; known || states[second.List()] != "working" {
			p.Errorf("front ends are told that the first list is %q and the second %q", state, states[second.List()])
		}
		if board := p.run("lists", "--json"); strings.Contains(board, first) {
			p.Errorf("it is on the board: %s", board)
		}
		p.holds(first, parser)

		p.same(first, c.Writes("c:Read the parser c:Fix the parser i:Run the tests"))
		p.onBoard(first)
		p.holds(first, "c:Read the parser c:Fix the parser i:Run the tests")
		p.run("archive", "--undo", second.List())
		if p.shown(second.List()).Archived {
			p.Error("a person cannot bring a list back")
		}
	})
}

// lists 2 and 4: where chats share a connection, a plan that is cut down does not take
// the list of another chat.
func TestAPlanCutDownInASharedConnection(t *testing.T) {
	each(t, which(everywhere(), func(w where) bool { return !w.certain() }), func(p *place) {
		c := p.chat("one")
		first := c.Writes(parser).List()
		if c.Writes("c:Read the parser").List() != first {
			p.holds(first, parser)
			p.onBoard(first)
		}
	})
}

// lists 3
func TestPlanAfterASettledListIsTheNext(t *testing.T) {
	each(t, everywhere(), func(p *place) {
		c := p.chat("one")
		c.Writes("c:Read the parser i:Fix the parser")
		first := c.Writes("c:Read the parser c:Fix the parser").List()
		p.another(first, c.Writes(manual))
		after := p.lists()[first]
		if after.State != "finished" || after.Archived || after.Revision != 2 || after.String() != "c:Read the parser c:Fix the parser" {
			p.Errorf("the first list is %q at revision %d: %s", after.State, after.Revision, after)
		}
	})
}

// lists 3: a title that no person gave is taken anew when its item is gone; one that
// a person gave stays.
func TestTitleFollowsThePlan(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		list := c.Writes("i:Fix the parser p:Run the tests").List()
		for _, of := range []struct{ plan, want string }{
			{"i:Run the tests p:Write the manual", "Run the tests"},
			{"i:Write the manual p:Print it", "The release"},
		} {
			if c.Writes(of.plan); p.shown(list).Title != of.want {
				p.Errorf("the title is %q in place of %q", p.shown(list).Title, of.want)
			}
			p.run("rename", list, "The release")
		}
	})
}

// lists 5
func TestClearingShowsAnEmptyListEverywhere(t *testing.T) {
	each(t, oneOfEachKind(), func(p *place) {
		for _, status := range []string{"p", "c"} {
			p.Run(status, func(t *testing.T) {
				q := newPlace(t, p.where)
				c := q.chat("one")
				plan := "c:Read the parser " + status + ":Fix the parser"
				list := c.Writes(plan).List()
				events := q.follow("/api/events")
				cleared := c.Writes("").Says("0 completed, 0 in_progress, 0 pending")
				if got := cleared.Items(); len(got) > 0 {
					q.Errorf("the answer shows %s", chattest.Show(got))
				}
				c.Shows("")
				if l := q.shown(); len(l.Items) > 0 {
					q.Errorf("a person is shown %s", l)
				}
				if line := q.run("show", "--format", "statusline"); strings.Contains(line, "the parser") {
					q.Errorf("the status line is %q", line)
				}
				if todos := q.workspace(""); len(todos) > 0 {
					q.Errorf("a front end restores %v", todos)
				}
				events.Expect("data: []")
				for id, state := range q.states() {
					if l := q.shown(id); len(l.Items) > 0 {
						q.Errorf("front ends are told that %s is %q", l, state)
					}
				}
				history := q.run("history", "--json", list)
				if !strings.Contains(history, "Read the parser") || !strings.Contains(history, "Fix the parser") {
					q.Errorf("the history is %s", history)
				}
				if l := q.shown(list); len(l.Items) == 0 {
					q.run("restore", list, "1") // its plan is in its history
				}
				q.holds(list, plan)
			})
		}
	})
}

// lists 1, 4 and 5: chats in one connection have their own lists. Where several could
// have sent it, [] is refused.
func TestChatsInOneConnectionHaveTheirOwnLists(t *testing.T) {
	sharing := which(everywhere(), func(w where) bool { return !w.certain() || w.shares })
	each(t, append(sharing, where{inSession, known("claude-ai")}), func(p *place) {
		c := p.chat("")
		first := c.Writes("c:Read the parser i:Fix the parser p:Run the tests p:Write a note p:Commit").List()
		then := c.Writes(manual)
		second := then.List()
		p.another(first, then)
		p.onBoard(first, second)
		const goesOn = "c:Read the parser c:Fix the parser i:Run the tests p:Tell Ann p:Commit"
		p.same(first, c.Writes(goesOn))
		p.same(second, c.Writes("c:Write the manual i:Draw the pictures p:Print it"))
		p.holds(first, goesOn)
		p.onBoard(first, second)
		p.expectLists(2)
		if !p.certain() {
			c.refused(step("")).Says("Fix the parser", "Write the manual")
		}
	})
}

// lists 1: the host's id of the chat tells two in one connection apart; two live
// processes or sessions in one folder are two conversations, also if their host told no
// id.
func TestTwoChatsInOneFolder(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		in   func(where) bool
		ids  [2]string
		once bool // both in one connection
	}{
		"ids in one connection":      {func(w where) bool { return w.meta != "" }, [2]string{"one", "two"}, true},
		"processes or sessions":      {func(w where) bool { return w.by != sessionless }, [2]string{"one", "two"}, false},
		"processes that told no ids": {func(w where) bool { return w.by == stdio && w.variable != "" }, [2]string{"", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, which(everywhere(), of.in), func(p *place) {
				one := p.chat(of.ids[0])
				two := one.as(of.ids[1])
				if !of.once {
					two = p.chat(of.ids[1])
				}
				p.keepApart(one, two)
			})
		})
	}
}

// keepApart checks that two chats that write the same plan each go on with their own.
func (p *place) keepApart(one, two *chat) {
	p.Helper()
	first, then := one.Writes(generic).List(), two.Writes(generic)
	other := then.List()
	p.another(first, then)
	p.same(first, one.Writes("c:Write a failing test i:Fix the bug p:Run the tests p:Commit"))
	p.same(other, two.Writes("i:Write a failing test p:Fix the bug p:Run the tests p:Commit"))
	p.same(first, one.Writes("c:Write a failing test c:Fix the bug i:Run the tests p:Commit"))
	p.holds(first, "c:Write a failing test c:Fix the bug i:Run the tests p:Commit")
	p.holds(other, "i:Write a failing test p:Fix the bug p:Run the tests p:Commit")
	p.onBoard(first, other)
	p.expectLists(2)
}

// lists 3: a list with a name of its own is replaced in place.
func TestNamedListIsReplacedInPlace(t *testing.T) {
	var places []where
	for _, by := range []chattest.Transport{stdio, inSession, sessionless} {
		for _, name := range []string{"claude-code", "cursor-vscode", "my-agent"} {
			places = append(places, where{by, known(name)})
		}
	}
	each(t, places, func(p *place) {
		c := p.named("one", "release")
		list := c.Writes("c:Read the parser i:Fix the parser").List()
		p.same(list, c.Writes("i:Write the manual p:Print it").Says("Fix the parser"))
		c.Writes("c:Write the manual c:Print it")
		p.same(list, c.Writes("i:Buy paper p:Buy ink"))
		p.holds(list, "i:Buy paper p:Buy ink")
		p.expectLists(1)
	})
}

// lists 6: steps are added unless all is completed; one that failed is not. The numbers
// of the next list go on.
func TestStepsGoOnWithTheirNumbers(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		list := c.Adds("A", "B").List()
		c.Sets("1", "completed")
		p.same(list, c.Adds("C"))
		c.Sets("2", "failed")
		c.Sets("3", "completed")
		p.same(list, c.Adds("D"))

		c = p.chat("two")
		list = c.Adds("Read the parser", "Fix the parser").List()
		c.Sets("1", "completed")
		c.Sets("2", "completed")
		next := c.Adds("Write the manual", "Print it")
		p.another(list, next)
		if ids := p.shown(next.List()).IDs(); ids != "3 4" {
			p.Errorf("the numbers of the next list are %s", ids)
		}
		c.Sets("1", "running").Says(`#1 "Read the parser"`)
		p.holds(next.List(), "p:Write the manual p:Print it")
		c.Sets("3", "running").Says(`#3 "Write the manual"`)
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
				list := c.Writes("i:Read the parser").List()
				if by == "id" {
					name = list
				}
				stream, events := p.follow("/api/stream?list="+name), p.follow("/api/events?list="+name)
				c.Writes("c:Read the parser")
				c.Writes(manual)
				stream.Expect("Write the manual")
				events.Expect("Write the manual")
				if todos := p.workspace("?list=" + name); len(todos) == 0 || todos[0].Content != "Write the manual" {
					p.Errorf("after a reload it has %v", todos)
				}
			})
		})
	}
}
