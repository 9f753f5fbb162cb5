//go:build linux

package programtest

import (
	"slices"
	"strings"
	"testing"
)

// The check finds a lost write, a write that is there in part, and a missing revision.
func TestHistoryFindsLosses(t *testing.T) {
	const good = `{"list":{"id":"l"},"revision":1,"items":[{"text":"a-1.0"},{"text":"a-1.1"},{"text":"a-1.2"}]}
{"list":{"id":"l"},"revision":2,"items":[{"text":"a-1.0"},{"text":"a-1.1"},{"text":"a-1.2"},{"text":"b-1.0"}]}
`
	h, err := readHistory(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	there := Acknowledged{"l", 1, "a-1"}
	all := []Acknowledged{there, {"l", 2, "b-1"}, {"l", 3, "a-1"}, {"m", 1, "a-1"}, {"l", 1, "c-1"}, {}}
	if lost := h.Lost(all); !slices.Equal(lost, all[1:]) {
		t.Errorf("lost: %v", lost)
	}
	if torn := h.Torn(); len(torn) != 1 || !strings.HasPrefix(torn[0], "b-1 in revision 2") {
		t.Errorf("in part: %v", torn)
	}
	if h.Made("a-1") != 1 || h.Made("c-1") != 0 {
		t.Errorf("made %d and %d times", h.Made("a-1"), h.Made("c-1"))
	}
	if _, err := readHistory(strings.NewReader(strings.Replace(good, `"revision":2`, `"revision":3`, 1))); err == nil {
		t.Error("a missing revision was not found")
	}
}
