package todo

import "time"

// The hard caps. A variant's own limits may be lower (docs/spec/variants.md
// V7).
const (
	MaxItems = 1000 // items per list
	MaxText  = 4000 // runes per text
	MaxName  = 100  // runes per list name
	// MaxWorkspace is the maximum size of a workspace's path, in bytes; no path
	// that Linux opens is longer.
	MaxWorkspace = 4096
	// MaxID is the highest id of an item, as a number: a list never gets there.
	MaxID = 1_000_000_000
	// MaxLabel is the maximum length of what is only a label, such as a client or
	// an id, in bytes.
	MaxLabel = 1024
	// MaxRequest is the maximum size of one request or input file, in bytes.
	MaxRequest = 1 << 20
)

// Keep is how much a store keeps. The zero value keeps everything. A list's
// newest revision is always kept.
type Keep struct {
	// Revisions is how many of a list's newest revisions are kept; 0 is all.
	Revisions int
	// Age is the age beyond which later saves of a list delete a revision, see
	// [Keep.Expired]; 0 is any age.
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

// MaxExpired is the most revisions that one save deletes for their age.
const MaxExpired = 2

// Witness returns the number of the revision that bears witness to the age of
// others, see [Keep.Expired]; below 1 there is none, and no revision expires. A
// clock that jumps has to stay wrong for as many saves as lie in between before
// a revision is lost.
func (k Keep) Witness(newest int64) int64 { return newest - 8 }

// Expired reports whether a revision is older than Age, and was when the witness
// was written.
func (k Keep) Expired(s, witness, newest Snapshot) bool {
	at := witness.Updated
	if newest.Updated.Before(at) {
		at = newest.Updated
	}
	return k.Age > 0 && at.Sub(s.Updated) > k.Age
}
