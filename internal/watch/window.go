package watch

// window returns the first row to show of n rows so that row at is shown whole
// in height lines. It moves top as little as possible, and leaves no lines empty
// at the end while there are rows above. heights returns how many lines a row
// takes.
func window(top, at, n, height int, heights func(int) int) int {
	if n == 0 || height < 1 {
		return 0
	}
	top = min(max(top, 0), n-1)
	at = min(max(at, 0), n-1)
	top = min(top, at)
	used := 0
	for i := at; i >= top; i-- { // from the cursor upwards as far as it fits
		if used += heights(i); used > height {
			top = min(i+1, at)
			break
		}
	}
	left := height
	for i := top; i < n && left > 0; i++ {
		left -= heights(i)
	}
	for top > 0 && left >= heights(top-1) {
		top--
		left -= heights(top)
	}
	return top
}

// anchor is where a cursor was when it was last drawn.
type anchor struct {
	top   int // the first row shown
	index int // the row of the cursor
}

// follow returns the index of the row with an id, and moves top as far as that
// row has moved, so that it stays where it is on the screen. If there is no such
// row any more, it returns the one that took its place.
func (a *anchor) follow(ids []string, id string, selectable func(int) bool) int {
	for i, other := range ids {
		if other == id && id != "" {
			a.top += i - a.index
			a.index = i
			return i
		}
	}
	for _, delta := range []int{1, -1} {
		for i := min(max(a.index, 0), max(len(ids)-1, 0)); i >= 0 && i < len(ids); i += delta {
			if selectable(i) {
				a.index = i
				return i
			}
		}
	}
	a.index = 0
	return -1
}
