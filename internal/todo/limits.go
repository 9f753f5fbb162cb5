package todo

import "time"

// The hard caps. A variant's own limits may be lower (docs/spec/variants.md
// V7).
const (
	MaxItems = 1000 // items per list
	MaxText  = 4000 // runes per text
	MaxName  = 100  // runes per list name
	// MaxRequest is the maximum size of one request or input file, in bytes.
	MaxRequest = 1 << 20
)

// Keep is how much a store keeps. The zero value keeps everything. A list's
// newest revision is always kept.
type Keep struct {
	// Revisions is how many of a list's newest revisions are kept; 0 is all.
	Revisions int
	// Age is the age beyond which the next save of a list deletes a revision;
	// 0 is any age.
	Age time.Duration
	// Lists is how many lists a principal may have; 0 is any number. A save
	// that would begin one more fails with [ErrTooManyLists].
	Lists int
}

// First returns the oldest revision to keep of a list at revision newest.
func (k Keep) First(newest int64) int64 {
	if k.Revisions <= 0 {
		return 1
	}
	return max(1, newest-int64(k.Revisions)+1)
}

// Expired reports whether a revision is older than Age at a time.
func (k Keep) Expired(s Snapshot, at time.Time) bool {
	return k.Age > 0 && at.Sub(s.Updated) > k.Age
}
