package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Agent is how people are shown the client that an agent works in.
type Agent struct {
	Name  string // as people say it; safe to show
	Glyph string // the id of its own plain shape; "agent" for most
}

// Writer returns who made a revision: the agent, or for a person you, with the name
// of the user where one is signed in.
func Writer(w todo.Writer, agent, you string) string {
	if w.Person {
		return cmp.Or(Safe(w.User), you)
	}
	return strings.TrimSuffix(agent+" for "+Safe(w.User), " for ")
}

// AgentOf returns how people are shown a client by the name that it gives itself
// in MCP. An unknown client keeps its name; one without a name is "An agent".
func AgentOf(name string) Agent {
	c := clients.Find(name)
	return Agent{cmp.Or(c.Title, Safe(name), "An agent"), cmp.Or(c.Glyph, "agent")}
}

// Client returns the name of a client's agent, or empty if it has none: for lines
// that leave out what is not known.
func Client(name string) string {
	if name == "" {
		return ""
	}
	return AgentOf(name).Name
}

// Count returns a number with what is counted: "1 list", "3 lists".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

const day = 24 * time.Hour

// Took says how long something took, in its two largest units, rounded down: "10s",
// "4m 10s", "1h 04m", "2d 03h". A negative duration is "0s": clocks differ.
func Took(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %02dh", d/day, d%day/time.Hour)
}

// Roughly says how long something took in its largest unit: "4m".
func Roughly(d time.Duration) string {
	text, _, _ := strings.Cut(Took(d), " ")
	return text
}

// agoFor is for how long [When] says how long ago something was.
const agoFor = 12 * time.Hour

// When says when something was, as people say it: "4s ago" and "3h ago" for half a
// day, then as [Moment] does. A time to come is "0s ago".
func When(t, now time.Time) string {
	if d := now.Sub(t); d < agoFor {
		return Roughly(d) + " ago"
	}
	return Moment(t, now)
}

// Moment says when something was, as short as it can be told from now: the time of
// day today, the weekday too for the last six days, then the date, with the year
// unless it is this one. A time to come is one of today.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	switch days := DaysAgo(t, now); {
	case days <= 0:
		return t.Format("15:04")
	case days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// DaysAgo returns how many midnights lie between a time and now, in now's time zone.
func DaysAgo(t, now time.Time) int {
	return int(todo.Midnight(now).Sub(todo.Midnight(t.In(now.Location()))).Round(day) / day)
}
