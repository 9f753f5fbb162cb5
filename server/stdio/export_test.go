package stdio

import "testing"

// SetParent says which id the parent process has, until the test ends.
func SetParent(t *testing.T, id func() int) {
	before := getppid
	getppid = id
	t.Cleanup(func() { getppid = before })
}
