package render

import (
	"fmt"
	"time"
)

// When says when something was, as people say it: "4 s ago" and "12 m ago" within
// the hour, else the time for today, the weekday too for the last six days, then
// the date, with the year unless it is this one. Days are those of now's time
// zone. A time to come is "just now": clocks differ.
func When(t, now time.Time) string {
	t = t.In(now.Location())
	days := int(midnight(now).Sub(midnight(t)).Round(day) / day)
	switch d := now.Sub(t); {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d m ago", d/time.Minute)
	case days == 0:
		return t.Format("15:04")
	case days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// midnight returns the beginning of t's day.
func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
