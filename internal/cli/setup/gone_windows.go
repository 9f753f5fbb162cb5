package setup

// isGone reports whether the host is gone, which nothing says here: install sets up nothing that
// asks.
func isGone(int) bool { return true }
