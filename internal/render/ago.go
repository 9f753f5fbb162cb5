package render

import (
	"fmt"
	"time"
)

const day = 24 * time.Hour

// Ago formats a duration since an event in its largest whole unit: "4m ago",
// "3h ago", "2d ago". Less than a minute is "just now", as are negative
// durations, which occur when clocks differ.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/day)
}

// Took formats the duration of something in its two largest units, rounded
// down: "10s", "4m 10s", "1h 4m", "2d 3h". A negative duration is "0s".
func Took(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
}
