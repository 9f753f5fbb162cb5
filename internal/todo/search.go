package todo

import (
	"strings"
	"time"
)

// Says reports whether a text stands in the title that the list was given or in an item,
// in upper or lower case.
func (s Snapshot) Says(text string) bool {
	_, ok := s.Saying(text)
	return ok
}

// Saying returns the first text in which [Snapshot.Says] finds another one; of an item its
// text, also where what it shows while it is in progress, or a reason, has it.
func (s Snapshot) Saying(text string) (whole string, ok bool) {
	text = strings.ToLower(text)
	has := func(whole string) bool { return strings.Contains(strings.ToLower(whole), text) }
	if s.GivenTitle != "" && has(s.GivenTitle) {
		return s.GivenTitle, true
	}
	for _, i := range s.Items {
		if has(i.Text) || has(i.Active) || has(i.Reason) {
			return i.Text, true
		}
	}
	return "", false
}

// Said is where a text stood in a list last.
type Said struct {
	Revision int64     `json:"revision"`
	Updated  time.Time `json:"updated"` // when that revision was made
	// Text is the title or the text of the item in which it stood, at most [MaxTitle]
	// runes, not escaped for display.
	Text string `json:"text"`
	// Left is true when the newest revision does not say it any more.
	Left bool `json:"left"`
}
