//go:build e2e && linux

package chats

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	reader = "Read the parser"
	// agents and persons are wordings of one item that are too long for an excerpt.
	agents  = "Fix the crash of the parser on an empty file, and add the case to the table of inputs that it must refuse"
	persons = "Make the parser refuse an empty file with the error that the specification names, and leave the table of inputs as it is"
)

// long returns a text of so many characters with a beginning and an end of its own.
func long(characters int) string {
	const begin, end = "Begin with the table of inputs: ", " and end with a note for Ann"
	middle := strings.Repeat("then look at the next row of it, ", characters)
	return begin + middle[:characters-len(begin)-len(end)] + end
}

// intact checks that there is one list, with items of these ids.
func (p *place) intact(first answer, ids string) {
	p.Helper()
	if got := p.shown(first.list); got.ids() != ids {
		p.Errorf("the items are %s in place of %s: %s", got.ids(), ids, got)
	}
	p.expectLists(1)
}

// told returns what an answer says behind the counts.
func (a answer) told() string {
	_, told, _ := strings.Cut(a.text, "\n")
	return told
}

// Hand 1: a new wording is told whole, and copying it gives the same item.
func TestRewordedItemIsToldWhole(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		p.rewords(first.list, "2", persons)
		told := c.writes(reader+":completed", agents+":in_progress")
		p.same(first, told)
		p.has(told, agents, persons)
		p.holds(first.list, reader+":completed, "+persons+":in_progress")
		p.same(first, c.writes(reader+":completed", persons+":completed"))
		p.holds(first.list, reader+":completed, "+persons+":completed")
		p.intact(first, "1 2")
	})
}

// Hand 1: also where all that the plan has in common is the item that was reworded,
// and where a person reworded every item (lists 3: earlier wordings count).
func TestRewordedPlanIsTheSameList(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		p.edits(first.list, func(tasks []task) []task {
			tasks[0].text, tasks[1].text = "Understand the grammar", persons
			return tasks
		})
		told := c.writes(reader+":completed", agents+":in_progress")
		p.same(first, told)
		p.has(told, reader, "Understand the grammar", agents, persons)
		p.holds(first.list, "Understand the grammar:completed, "+persons+":in_progress")
		p.intact(first, "1 2")
	})
}

// Hand 1: texts of up to 500 characters are told whole, whatever TodoWrite takes.
func TestLongTextsAreToldWhole(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		added, reworded := long(500), strings.Replace(long(490), "Begin", "Start", 1)
		p.edits(first.list, func(tasks []task) []task {
			tasks[1].text = reworded
			return append(tasks, task{mark: " ", text: added})
		})
		told := c.writes(reader+":completed", agents+":in_progress")
		p.has(told, agents, reworded, added)
		p.same(first, c.writes(reader+":completed", reworded+":completed", added+":in_progress"))
		p.holds(first.list, reader+":completed, "+reworded+":completed, "+added+":in_progress")
		p.intact(first, "1 2 3")
	})
}

// Hand 1: a longer one is cut in the middle, and copying what was told gives the
// right item, unchanged.
func TestTextThatIsToldInPartIsTheSameItem(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"0", "200"} {
		t.Run("TodoWrite takes "+limit, func(t *testing.T) {
			each(t, threeCertain(), func(p *place) {
				c := p.chat("one")
				first := c.writes(reader+":in_progress", agents, "Run the tests")
				text := long(2000)
				p.rewords(first.list, "2", text)
				told := c.writes(reader+":completed", agents+":in_progress", "Run the tests")
				part := regexp.MustCompile(`"(Begin with[^"]*for Ann)"`).FindStringSubmatch(told.text)
				if part == nil {
					p.Fatalf("both ends of the text are not told: %s", told.text)
				}
				if n := utf8.RuneCountInString(part[1]); n > 600 {
					p.Errorf("it is told with %d characters", n)
				}
				if !regexp.MustCompile(`\b2\b`).MatchString(strings.ReplaceAll(told.told(), part[1], "")) {
					p.Errorf("the item's place is not told: %s", told.text)
				}
				p.same(first, c.writes(reader+":completed", part[1]+":completed", "Run the tests:in_progress"))
				p.holds(first.list, reader+":completed, "+text+":completed, Run the tests:in_progress")
				p.intact(first, "1 2 3")
			}, "TODO_MAX_CONTENT_LENGTH="+limit)
		})
	}
}

// Hand 1: several changes of one item are one sentence with all of them.
func TestChangesOfOneItemAreOneSentence(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		p.rewords(first.list, "2", persons)
		p.marks(first.list, "2", "x")
		told := c.writes(reader+":in_progress", agents)
		p.has(told, agents, persons, "completed")
		if n := strings.Count(told.told(), persons); n != 1 {
			p.Errorf("the new wording is told %d times: %s", n, told.text)
		}
		if !strings.Contains(told.told(), "completed") {
			p.Errorf("that it is completed is not told: %s", told.text)
		}
		p.holds(first.list, reader+":in_progress, "+persons+":completed")
		p.intact(first, "1 2")
	})
}

// Hand 1: a reason is told whole, with a new wording too.
func TestReasonIsToldWhole(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		const reason = "the table of inputs comes from Ann, who sends it on Monday after the meeting with the others"
		p.panel(first.list, fmt.Sprintf(`{"do":"block","id":"2","text":%q}`, reason))
		p.panel(first.list, fmt.Sprintf(`{"do":"text","id":"2","text":%q}`, persons))
		told := c.writes(reader+":completed", agents)
		p.has(told, agents, persons, "blocked", reason)
		p.intact(first, "1 2")
	})
}

// Hand 1: what a person removed is told whole, and stays removed.
func TestRemovedItemIsToldWhole(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents, "Run the tests")
		p.edits(first.list, func(tasks []task) []task { return slices.Delete(tasks, 1, 2) })
		p.has(c.writes(reader+":completed", agents+":in_progress", "Run the tests"), agents)
		p.holds(first.list, reader+":completed, Run the tests:pending")
		p.intact(first, "1 3")
	})
}

// inOrder reports whether a text names items one after the other.
func inOrder(text string, items ...string) bool {
	for _, i := range items {
		_, after, found := strings.Cut(text, i)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// lastFirst is a person's move of the last item to the top.
func lastFirst(tasks []task) []task {
	last := len(tasks) - 1
	return append([]task{tasks[last]}, tasks[:last]...)
}

// Hand 1: a new order is told as the new order.
func TestNewOrderIsTold(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents, "Run the tests")
		p.edits(first.list, lastFirst)
		told := c.writes(reader+":completed", agents+":in_progress", "Run the tests")
		if s := told.told(); !strings.Contains(s, "order") || !inOrder(s, "Run the tests", reader, agents) {
			p.Errorf("the new order is not told: %s", told.text)
		}
		p.holds(first.list, "Run the tests:pending, "+reader+":completed, "+agents+":in_progress")
		p.intact(first, "3 1 2")
	})
}

// habit writes a plan again and again and checks that what a person made of it stays
// at first, and gives way at last: the answer says it again at most three times.
func (p *place) habit(c *chat, first answer, items func(status string) []string, stays func(list) bool, tells func(answer) bool) {
	p.Helper()
	for n, status := range []string{"in_progress", "pending", "in_progress", "pending", "in_progress"} {
		a := c.writes(items(status)...)
		p.same(first, a)
		if l := p.shown(first.list); n < 3 && !stays(l) {
			p.Fatalf("write %d undoes what the person did: %s", n+1, l)
		} else if n == 4 && stays(l) {
			p.Errorf("write %d still has no effect: %s", n+1, l)
		}
		if n < 3 && !tells(a) {
			p.Errorf("write %d is not told what the person did: %s", n+1, a.text)
		}
	}
}

// Hand 2: a wording that the agent was told of is not undone by its habit.
func TestOldWordingIsAHabit(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader, agents)
		p.rewords(first.list, "2", persons)
		p.habit(c, first, func(status string) []string { return []string{reader + ":" + status, agents} },
			func(l list) bool { return strings.Contains(l.String(), persons) },
			func(a answer) bool { return strings.Contains(a.text, persons) })
		if l := p.shown(first.list); !strings.Contains(l.String(), agents) {
			p.Errorf("the agent's wish does not count: %s", l)
		}
		p.expectLists(1)
	})
}

// Hand 2: an order that the agent was told of is not undone by its habit.
func TestOldOrderIsAHabit(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader, agents, "Run the tests")
		p.edits(first.list, lastFirst)
		p.habit(c, first, func(status string) []string { return []string{reader + ":" + status, agents, "Run the tests"} },
			func(l list) bool { return l.ids() == "3 1 2" },
			func(a answer) bool { return inOrder(a.text, "Run the tests", reader, agents) })
		p.intact(first, "1 2 3")
	})
}

// Hand 2: neither is a habit where the agent does what it was told.
func TestToldOnceIsEnough(t *testing.T) {
	each(t, threeCertain(), func(p *place) {
		c := p.chat("one")
		first := c.writes(reader, agents, "Run the tests")
		p.edits(first.list, func(tasks []task) []task {
			tasks[1].text = persons
			return lastFirst(tasks)
		})
		p.has(c.writes(reader+":in_progress", agents, "Run the tests"), persons)
		heeds := c.writes("Run the tests", reader+":completed", persons+":in_progress")
		if s := heeds.told(); s != "" {
			p.Errorf("it is told again: %s", s)
		}
		p.holds(first.list, "Run the tests:pending, "+reader+":completed, "+persons+":in_progress")
		p.intact(first, "3 1 2")
	})
}

// Hand 2: a wording that is neither the old nor the person's is the agent's new one,
// with the item's number or in its place.
func TestNewWordingIsTheAgents(t *testing.T) {
	t.Parallel()
	const neither = "Fix the crash of the parser, and nothing else"
	for name, write := range map[string]string{
		"by number":   ofIDs("1 "+reader+":completed", "2 "+neither+":in_progress"),
		"in its line": plan(reader+":completed", neither+":in_progress"),
	} {
		t.Run(name, func(t *testing.T) {
			each(t, threeCertain(), func(p *place) {
				c := p.chat("one")
				first := c.writes(reader+":in_progress", agents)
				p.rewords(first.list, "2", persons)
				p.has(c.writes(reader+":in_progress", agents), persons)
				p.same(first, c.calls("TodoWrite", write))
				p.holds(first.list, reader+":completed, "+neither+":in_progress")
				p.expectLists(1)
			}, "TODO_ITEM_IDS=true")
		})
	}
}

// Hand 3: what a person does is no sign that the agent works.
func TestPersonsEditIsNoWork(t *testing.T) {
	each(t, []where{{onStdio, known("gemini-cli-mcp-client")}, {onStdio, known("cursor-vscode")}}, func(p *place) {
		c := p.chat("one")
		first := c.writes(reader+":in_progress", agents)
		c.kill()
		for _, act := range []func(){
			func() { p.rewords(first.list, "2", persons) },
			func() { p.run("rename", first.list, "The release") },
			func() { p.run("archive", first.list) },
			func() { p.run("archive", "--undo", first.list) },
			func() { p.run("restore", first.list, "1") },
		} {
			act()
			if state := p.lists()[first.list].State; state == "working" || state == "idle" {
				p.Errorf("the list is %q", state)
			}
		}
		if state := p.states()[first.list]; state != "left open" {
			p.Errorf("front ends are told that it is %q", state)
		}
	})
}
