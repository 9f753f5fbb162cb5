package todo

// The hard caps. A variant's own limits may be lower (docs/spec/variants.md
// V7).
const (
	MaxItems = 1000 // items per list
	MaxText  = 4000 // runes per text
	// MaxSize is the maximum size of a list, of all its texts together (see [Size]), in
	// bytes. Some 60,000 tokens are no plan but a mistake.
	MaxSize  = 256_000
	MaxName  = 100 // runes per list name
	MaxKey   = 500 // runes per id that an agent gives an item
	MaxTitle = 200 // runes per title of a list
	// MaxWorkspace is the maximum size of a workspace's path, in bytes; no path
	// that Linux opens is longer.
	MaxWorkspace = 4096
	// MaxID is the highest id of an item, as a number: a list never gets there.
	MaxID = 1_000_000_000
	// MaxRevision is the highest revision of a list: it never gets there either,
	// and can be counted up and down from without an overflow.
	MaxRevision = 1_000_000_000_000
	// MaxLabel is the maximum length of what is only a label, such as a client or
	// an id, in bytes.
	MaxLabel = 1024
	// MaxRequest is the maximum size of one request or input file, in bytes.
	MaxRequest = 1 << 20
)

// Size returns the size of a list of these items, in bytes: of all that agents and
// people say of them.
func Size(items []Item) (size int) {
	for _, i := range items {
		size += len(i.Text) + len(i.Active) + len(i.Reason) + len(i.Priority) + len(i.DueDate) +
			len(i.Key) + len(i.Details) + len(i.Owner) + len(i.WaitsFor)
	}
	return size
}

// CheckSize returns a [*SizeError] if a list of these items has too many, or is larger than
// [MaxSize].
func CheckSize(items []Item) error {
	if n := len(items); n > MaxItems {
		return &SizeError{Items: n}
	}
	if size := Size(items); size > MaxSize {
		return &SizeError{Size: size}
	}
	return nil
}

// Spare says why a list may make room for others. A store keeps it beside the list's
// newest revision, to find such lists without their items.
type Spare int

// Why lists make room, in the order in which they go.
const (
	NotSpare      Spare = iota
	SpareDeleted        // by a person, who can bring it back for a day as long as there is room
	SpareUnseen         // it is open and has one revision, unless others were shown it
	SpareArchived       // it is finished and archived
	SpareFinished       // it is finished
)

// Spare returns why a list at this revision may make room. What a person kept may not, by
// its name, or by a change after which it was not archived.
func (s Snapshot) Spare() Spare {
	kept := s.List.Name != "" || s.Writer.Person && !s.Archived
	switch {
	case s.Deleted:
		return SpareDeleted
	case kept, s.Open() && (s.Revision > 1 || s.List.Conversation == ""):
		return NotSpare
	case s.Open():
		return SpareUnseen
	case s.Archived:
		return SpareArchived
	}
	return SpareFinished
}
