package todo

import "time"

// The hard caps above every variant's own limits (VARIANTS.md V7).
const (
	MaxItems = 1000 // items a list
	MaxText  = 4000 // runes a text
	MaxName  = 100  // runes a list name
	// MaxRequest is the most bytes of one request or input file.
	MaxRequest = 1 << 20
)

// Keep says how much a store keeps. The zero value keeps everything. Whatever
// it says, a list's newest revision stays.
type Keep struct {
	// Revisions is how many of a list's newest revisions stay; 0 is all.
	Revisions int
	// Age is how old a revision may get before it goes, at its list's next
	// save; 0 is any.
	Age time.Duration
	// Lists is how many lists a principal may have; 0 is any number. Past it no
	// list begins, with [ErrTooManyLists].
	Lists int
}

// First is the oldest revision a list keeps when it is at newest.
func (k Keep) First(newest int64) int64 {
	if k.Revisions <= 0 {
		return 1
	}
	return max(1, newest-int64(k.Revisions)+1)
}

// Expired reports whether a revision is too old at a time.
func (k Keep) Expired(s Snapshot, at time.Time) bool {
	return k.Age > 0 && at.Sub(s.Updated) > k.Age
}
