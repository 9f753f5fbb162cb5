package render

import (
	"fmt"
	"time"

	"todo-mcp/internal/todo"
)

// When says when something was, as people say it: "4 s ago" and "12 m ago" within
// the hour, else as [Moment] does. A time to come is "just now": clocks differ.
func When(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d m ago", d/time.Minute)
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
