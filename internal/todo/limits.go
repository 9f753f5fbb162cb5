package todo

// The hard caps above every variant's own limits (VARIANTS.md V7).
const (
	MaxItems = 1000 // items a list
	MaxText  = 4000 // runes a text
	MaxName  = 100  // runes a list name
)
