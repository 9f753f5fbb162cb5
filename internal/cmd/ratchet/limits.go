package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// limit is a row of testdata/ratchet.txt.
type limit struct {
	name  string
	limit int
	aim   string // the number that the project wants in the end, or - for none
	how   string // how it is counted
}

var row = regexp.MustCompile(`^(\S+) +(\d+) +(\d+|-) +(\S.*)$`)

// parse reads the limits.
func parse(text string) (all []limit, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("testdata/ratchet.txt: %q is not NAME LIMIT AIM HOW", line)
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		all = append(all, limit{m[1], n, m[3], m[4]})
	}
	return all, nil
}

// judge returns an error if a number is over its limit, or more than one percent below it.
func (l limit) judge(count int) error {
	switch {
	case count > l.limit:
		return fmt.Errorf("%s: %d, and the limit is %d (%s). Take something away, or raise the limit in testdata/ratchet.txt and say in the same commit what for", l.name, count, l.limit, l.how)
	case count*100 < l.limit*99:
		return fmt.Errorf("%s: %d, and the limit is still %d: `make functions LOWER=-lower` lowers it, so that what was taken away stays away", l.name, count, l.limit)
	}
	return nil
}

// lowered returns the text of the limits, in which each limit above its count is replaced by the count.
func lowered(text string, limits []limit, counts map[string]int) string {
	for _, l := range limits {
		if count, ok := counts[l.name]; ok && count < l.limit {
			old := regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(l.name) + ` +)` + strconv.Itoa(l.limit) + `\b`)
			width := len(strconv.Itoa(l.limit))
			text = old.ReplaceAllString(text, fmt.Sprintf("${1}%-*d", width, count))
		}
	}
	return text
}
