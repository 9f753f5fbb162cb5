//go:build e2e && linux

package chats

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"todo-mcp/internal/chattest"
)

const (
	reader = "Read the parser"
	// agents and persons are wordings of one item that are too long for an excerpt.
	agents  = "Fix the crash of the parser on an empty file, and add the case to the table of inputs that it must refuse"
	persons = "Make the parser refuse an empty file with the error that the specification names, and leave the table of inputs as it is"
	grammar = "Understand the grammar"
	reason  = "the table of inputs comes from Ann, who sends it on Monday after the meeting with the others"
)

// long returns a text of so many characters with a beginning and an end of its own.
func long(characters int) string {
	const begin, end = "Begin with the table of inputs: ", " and end with a note for Ann"
	middle := strings.Repeat("then look at the next row of it, ", characters)
	return begin + middle[:characters-len(begin)-len(end)] + end
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

// lastFirst is the edit that moves the last of three items to the top.
const lastFirst = `{"do":"move","id":"3","to":0}`

// told is what a person does to a list, and what its agent is told.
type told struct {
	plan    string // that the agent has written
	edits   []string
	writes  string   // what the agent writes without knowing
	says    []string // what it is told, each once and in this order
	becomes string   // the list then
	then    string   // what it writes now that it knows, and what the list is then; empty for nothing
	ids     string
}

func hands() map[string]told {
	const tests = " p:Run the tests"
	added, reworded := long(500), strings.Replace(long(490), "Begin", "Start", 1)
	return map[string]told{
		"a new wording is told whole, and copying it gives the same item": {
			"i:" + reader + " p:" + agents, []string{rewords("2", persons)},
			"c:" + reader + " i:" + agents, []string{agents, persons},
			"c:" + reader + " i:" + persons, "c:" + reader + " c:" + persons, "1 2"},
		"a plan of which every item was reworded is the same list (lists 3)": {
			"i:" + reader + " p:" + agents, []string{rewords("1", grammar), rewords("2", persons)},
			"c:" + reader + " i:" + agents, []string{reader, grammar, agents, persons},
			"c:" + grammar + " i:" + persons, "", "1 2"},
		"texts of up to 500 characters are told whole": {
			"i:" + reader + " p:" + agents, []string{rewords("2", reworded), fmt.Sprintf(`{"do":"add","text":%q}`, added)},
			"c:" + reader + " i:" + agents, []string{agents, reworded, added},
			"c:" + reader + " i:" + reworded + " p:" + added, "c:" + reader + " c:" + reworded + " i:" + added, "1 2 3"},
		"several changes of one item are one sentence": {
			"i:" + reader + " p:" + agents, []string{rewords("2", persons), marks("2", "completed")},
			"i:" + reader + " p:" + agents, []string{agents, persons, "completed"},
			"i:" + reader + " c:" + persons, "", "1 2"},
		"a reason is told whole, with a new wording too": {
			"i:" + reader + " p:" + agents, []string{fmt.Sprintf(`{"do":"block","id":"2","text":%q}`, reason), rewords("2", persons)},
			"c:" + reader + " p:" + agents, []string{agents, persons, "blocked", reason},
			"c:" + reader + " b:" + persons, "", "1 2"},
		"what was removed is told whole, and stays removed": {
			"i:" + reader + " p:" + agents + tests, []string{`{"do":"remove","id":"2"}`},
			"c:" + reader + " i:" + agents + tests, []string{agents},
			"c:" + reader + tests, "", "1 3"},
		"a new order is told as the new order": {
			"i:" + reader + " p:" + agents + tests, []string{lastFirst},
			"c:" + reader + " i:" + agents + tests, []string{"order", "Run the tests", reader, agents},
			"p:Run the tests c:" + reader + " i:" + agents, "", "3 1 2"},
	}
}

// Hand 1: what a person changed is told whole.
func TestAPersonsHandIsTold(t *testing.T) {
	eachCase(t, hands(), func(p *place, c *chat, of told) {
		list := c.Writes(of.plan).List()
		p.edit(list, of.edits...)
		answer := c.Writes(of.writes)
		p.same(list, answer)
		if notes := answer.Notes(); !inOrder(notes, of.says...) {
			p.Errorf("%q is not told: %s", of.says, notes)
		} else if n := strings.Count(notes, persons); n > 1 {
			p.Errorf("the new wording is told %d times: %s", n, notes)
		}
		p.holds(list, of.becomes)
		if of.then != "" {
			p.same(list, c.Writes(of.then))
			p.holds(list, of.then)
		}
		if got := p.shown(list).IDs(); got != of.ids {
			p.Errorf("the items are %s in place of %s", got, of.ids)
		}
	})
}

// Hand 1: a text of more than 500 characters is cut in the middle, and copying what was
// told gives the right item, unchanged, whatever TodoWrite takes.
func TestTextThatIsToldInPartIsTheSameItem(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"0", "200"} {
		t.Run("TodoWrite takes "+limit, func(t *testing.T) {
			each(t, threeCertain(), func(p *place) {
				c := p.chat("one")
				list := c.Writes("i:" + reader + " p:" + agents + " p:Run the tests").List()
				text := long(2000)
				p.edit(list, rewords("2", text))
				answer := c.Writes("c:" + reader + " i:" + agents + " p:Run the tests")
				part := regexp.MustCompile(`"(Begin with[^"]*for Ann)"`).FindStringSubmatch(answer.Text())
				if part == nil {
					p.Fatalf("both ends of the text are not told: %s", answer.Text())
				}
				if n := utf8.RuneCountInString(part[1]); n > 600 {
					p.Errorf("it is told with %d characters", n)
				}
				if !regexp.MustCompile(`\b2\b`).MatchString(strings.ReplaceAll(answer.Notes(), part[1], "")) {
					p.Errorf("the item's place is not told: %s", answer.Text())
				}
				p.same(list, c.Writes("c:"+reader+" c:"+part[1]+" i:Run the tests"))
				p.holds(list, "c:"+reader+" c:"+text+" i:Run the tests")
				if got := p.shown(list).IDs(); got != "1 2 3" {
					p.Errorf("the items are %s", got)
				}
				p.expectLists(1)
			}, "TODO_MAX_CONTENT_LENGTH="+limit)
		})
	}
}

// Hand 2: a wording, or an order, that the agent was told of is not undone by its habit:
// the answer says it again at most three times. Then the agent's wish counts.
func TestAHabitDoesNotUndo(t *testing.T) {
	type habit struct {
		edit  string
		stays func(chattest.List) bool
		tells func(string) bool
		ids   string
	}
	eachCase(t, map[string]habit{
		"wording": {rewords("2", persons), func(l chattest.List) bool { return strings.Contains(l.String(), persons) },
			func(text string) bool { return strings.Contains(text, persons) }, "1 2 3"},
		"order": {lastFirst, func(l chattest.List) bool { return l.IDs() == "3 1 2" },
			func(text string) bool { return inOrder(text, "Run the tests", reader, agents) }, "1 2 3"},
	}, func(p *place, c *chat, of habit) {
		const others = " p:" + agents + " p:Run the tests"
		list := c.Writes("p:" + reader + others).List()
		p.edit(list, of.edit)
		for n, status := range []string{"i", "p", "i", "p", "i"} {
			a := c.Writes(status + ":" + reader + others)
			p.same(list, a)
			if l := p.shown(list); n < 3 && !of.stays(l) {
				p.Fatalf("write %d undoes what the person did: %s", n+1, l)
			} else if n == 4 && of.stays(l) {
				p.Errorf("write %d still has no effect: %s", n+1, l)
			}
			if n < 3 && !of.tells(a.Text()) {
				p.Errorf("write %d is not told what the person did: %s", n+1, a.Text())
			}
		}
		p.holds(list, "i:"+reader+others)
		if got := p.shown(list).IDs(); got != of.ids {
			p.Errorf("the items are %s", got)
		}
	})
}
