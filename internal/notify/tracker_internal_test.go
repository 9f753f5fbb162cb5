package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A list is told of when it has stood so for a while, once, and not again before long;
// not what was so before, nor what a person did.
//
// Each row has how a list stands from when on, by hand of a person where it says so, and
// what is told when. "none" is that it is not there.
func TestTracker(t *testing.T) {
	for name, c := range map[string]struct{ stands, told string }{
		"waits":                      {"0s working, 10s waiting", "25s waiting"},
		"answered in time":           {"0s working, 10s waiting, 24s working", ""},
		"so before the start":        {"0s waiting", ""},
		"so before the start, anew":  {"0s waiting, 10s working, 20s waiting", "35s waiting"},
		"finished":                   {"0s working, 10s finished", "15s finished"},
		"failed":                     {"0s working, 10s failed", "15s failed"},
		"idle, archived":             {"0s working, 10s idle, 20s archived", ""},
		"left open":                  {"0s idle, 10s left open", "1m10s left open"},
		"its agent comes back":       {"0s working, 10s left open, 1m0s working", ""},
		"left open before":           {"0s left open, 10s working, 20s left open", "1m20s left open"},
		"two states in a minute":     {"0s working, 10s waiting, 30s finished", "25s waiting, 1m25s finished"},
		"three states in a minute":   {"0s working, 10s waiting, 30s working, 40s finished", "25s waiting, 1m25s finished"},
		"it flips":                   {"0s working, 10s waiting, 2m0s working, 3m0s waiting, 4m0s working", "25s waiting"},
		"it flips and stays":         {"0s working, 10s waiting, 2m0s working, 3m0s waiting", "25s waiting, 10m25s waiting"},
		"a person ticks the last":    {"0s working, 10s finished by person", ""},
		"a person edits meanwhile":   {"0s working, 10s waiting, 12s waiting by person", ""},
		"a person, then the agent":   {"0s working, 10s working by person, 20s finished", "25s finished"},
		"a person, then it is left":  {"0s working by person, 10s left open", "1m10s left open"},
		"new, and finished at once":  {"0s none, 10s finished", "15s finished"},
		"deleted before it is told":  {"0s working, 10s waiting, 12s none", ""},
		"an old one that comes back": {"0s none, 10m0s old left open", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.told, play(t, c.stands)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What another process told of before a list came to stand so is told later, and what it
// told since is not.
func TestToldElsewhere(t *testing.T) {
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for told, due := range map[time.Duration]time.Time{-5 * time.Minute: began.Add(sameAfter - 5*time.Minute), -10 * time.Second: {}, 5 * time.Second: {}} {
		tr := tracker{began: began}
		tr.see(began.Add(-time.Second), map[string]*account.Group{"list": group("working", 0, began)})
		tr.see(began, map[string]*account.Group{"list": group("waiting", 1, began)})
		tr.told("list", began.Add(told))
		if next := tr.next(); !next.Equal(due) {
			t.Errorf("told %s after: due %s, want %s", told, next, due)
		}
	}
}

// What comes to stand so between the start and the first look is told, though it was
// never seen otherwise.
func TestBeforeTheFirstLook(t *testing.T) {
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for updated, due := range map[time.Duration]time.Time{-time.Second: {}, time.Second: began.Add(7 * time.Second)} {
		tr := tracker{began: began}
		tr.see(began.Add(2*time.Second), map[string]*account.Group{"list": group("finished", 1, began.Add(updated))})
		if next := tr.next(); !next.Equal(due) {
			t.Errorf("changed %s after the start: due %s, want %s", updated, next, due)
		}
	}
}

// play shows a tracker how a list stands, second by second, and returns what it tells.
func play(t *testing.T, stands string) string {
	t.Helper()
	began := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	tr := tracker{began: began.Add(1)} // what is so at 0s is so before the start
	var told []string
	f, seq := (*account.Group)(nil), int64(0)
	steps := strings.Split(stands, ", ")
	for at := time.Duration(0); at < 20*time.Minute; at += time.Second {
		now := began.Add(at)
		if when, what, _ := strings.Cut(steps[0], " "); len(steps[0]) > 0 && when == at.String() {
			f, seq = group(what, seq, now), seq+1
			steps = append(steps[1:], "")
		}
		all := make(map[string]*account.Group)
		if f != nil {
			all["list"] = f
		}
		tr.see(now, all)
		next := tr.next()
		for _, id := range tr.due(now, false) {
			if next.After(now) {
				t.Errorf("%s: due before %s", at, next)
			}
			told = append(told, fmt.Sprint(at, " ", tr.lists[id].state))
			tr.told(id, now)
		}
	}
	return strings.Join(told, ", ")
}

// group is one list of which a step of [play] says how it stands; nil for none.
func group(what string, seq int64, now time.Time) *account.Group {
	what, person := strings.CutSuffix(what, " by person")
	what, old := strings.CutPrefix(what, "old ")
	if what == "none" {
		return nil
	}
	s := todo.Snapshot{List: todo.List{ID: "list"}, Items: []todo.Item{{ID: "1"}}, Updated: now, Seq: seq + 1, Writer: todo.Writer{Person: person}}
	if strings.HasSuffix(what, "left open") { // nobody writes that
		s.Seq = seq
	}
	if old {
		s.Updated = now.Add(-time.Hour)
	}
	return &account.Group{Main: s, States: map[string]todo.Standing{"list": {State: todo.State(what)}}}
}
