package app

import "strings"

// Nearest returns which of some names was probably meant; empty for none.
func Nearest(typed string, names []string) (meant string) {
	least := 3
	for _, name := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(name)); d < least && d < len(name)-1 {
			meant, least = name, d
		}
	}
	return meant
}

// distance returns how many characters must be added, removed, replaced or swapped
// with their neighbour to make one text the other.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case x[i-1] == y[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}
