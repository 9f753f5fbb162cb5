package todo

// Identity is who reads and writes lists, as sign-in found it. The zero Identity
// is the server itself, which needs no sign-in.
type Identity struct {
	// Principal is whose lists they are: a person's or program's, or a team's. Empty
	// is the server itself.
	Principal string
	// Subject tells the person or program that signed in apart from others with the
	// same principal. It never changes; empty without sign-in.
	Subject string
	// User is the name of the same, for people and logs. It may change, and two may
	// have the same.
	User string
	// ReadOnly is true for one that may see the lists and change nothing.
	ReadOnly bool
}

// For returns the lists of an identity's principal, written in its User's name,
// or not at all if it is ReadOnly.
func (b *Board) For(id Identity) Lists {
	return Lists{board: b, principal: id.Principal, user: id.User, readOnly: id.ReadOnly}
}
