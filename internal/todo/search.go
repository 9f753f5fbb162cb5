package todo

import (
	"strings"
	"time"
)

// Saying returns the title that the list was given, or the first text of an item, in which a text
// stands, in upper or lower case; empty for none. Of an item it is the text also where what it
// shows while it is in progress, or a reason, has it.
func (s Snapshot) Saying(text string) string {
	text = strings.ToLower(text)
	has := func(whole string) bool { return strings.Contains(strings.ToLower(whole), text) }
	if s.GivenTitle != "" && has(s.GivenTitle) {
		return s.GivenTitle
	}
	for _, i := range s.Items {
		if has(i.Text) || has(i.Active) || has(i.Reason) {
			return i.Text
		}
	}
	return ""
}

// Said is where a text stood in a list last.
type Said struct {
	Revision int64     `json:"revision"`
	Updated  time.Time `json:"updated"` // when that revision was made
	// Text is the title or the text of the item in which it stood, at most [MaxTitle]
	// runes, not escaped for display.
	Text string `json:"text"`
	Left bool   `json:"left"` // true when the newest revision does not say it any more
}
