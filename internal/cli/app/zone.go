package app

import (
	"fmt"
	"runtime"
	"strings"
	"time"
	_ "time/tzdata" // images, slim containers and Windows have no files of time zones
)

// WrongZone returns what is wrong with the variable TZ; empty for nothing. Without a word Go
// counts in UTC where it has a zone that is not known.
func WrongZone(getenv func(string) string) string {
	zone := strings.TrimPrefix(getenv("TZ"), ":")
	if _, err := time.LoadLocation(zone); err == nil || strings.HasPrefix(zone, "/") || runtime.GOOS == "windows" {
		return ""
	}
	return fmt.Sprintf("TZ=%s is no time zone that is known, so that days and times are those of UTC: name one such as Europe/Berlin", zone)
}
