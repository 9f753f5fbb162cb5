package todo

// The hard caps (docs/spec/variants.md V7).
const (
	MaxItems     = 1000              // items per list
	MaxText      = 4000              // runes per text
	MaxSize      = 256_000           // bytes of all texts of a list, see [Size]
	MaxName      = 100               // runes per list name
	MaxKey       = 500               // runes per id that an agent gives an item
	MaxTitle     = 200               // runes per title of a list
	MaxWorkspace = 4096              // bytes of a workspace's path; Linux opens no longer path
	MaxID        = 1_000_000_000     // the highest id of an item, as a number
	MaxRevision  = 1_000_000_000_000 // the highest revision of a list
	MaxLabel     = 1024              // bytes of a label, such as a client or an id
	MaxRequest   = 1 << 20           // bytes of a request or input file
)

// Size returns the size of all texts of these items, in bytes.
func Size(items []Item) (size int) {
	for _, i := range items {
		size += len(i.Text) + len(i.Active) + len(i.Reason) + len(i.Priority) + len(i.DueDate) +
			len(i.Key) + len(i.Details) + len(i.Owner) + len(i.WaitsFor)
	}
	return size
}

// CheckSize returns a [*SizeError] for more than [MaxItems] items, or more than [MaxSize] bytes of texts.
func CheckSize(items []Item) error {
	if n := len(items); n > MaxItems {
		return &SizeError{Items: n}
	}
	if size := Size(items); size > MaxSize {
		return &SizeError{Size: size}
	}
	return nil
}

// Spare says why a list may be removed to make room. Stores save it, to find such lists without reading their items.
type Spare int

// Why lists may be removed, in the order in which they are removed.
const (
	NotSpare      Spare = iota
	SpareDeleted        // a person deleted it
	SpareUnseen         // it is open and has one revision; stores keep it if they showed it to another chat
	SpareFinished       // it has no open item
)

// Spare returns why a list at this revision may be removed. Unless deleted, a list is kept if it has a name; if a
// person changed it last and it is not archived; or if it is open and either has several revisions or no chat began it.
func (s Snapshot) Spare() Spare {
	kept := s.List.Name != "" || s.Writer.Person && !s.Archived
	switch {
	case s.Deleted:
		return SpareDeleted
	case kept, s.Open() && (s.Revision > 1 || s.List.Conversation == ""):
		return NotSpare
	case s.Open():
		return SpareUnseen
	}
	return SpareFinished
}
