// Package checktest has the checks that most tests make. It imports the standard library alone,
// so that the tests of every package can import it.
package checktest

import (
	"fmt"
	"strings"
	"testing"
)

// Check ends a test on an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns the value that came with no error. An error ends the test that it is given.
func Must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T { t.Helper(); Check(t, err); return value }
}

// Same checks that a value is the one that is wanted. A failure says what of.
func Same[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %s, want %s", what, show(got), show(want))
	}
}

// show returns a text of one line in quotes, since its spaces and controls count, and longer ones as they are.
func show(value any) string {
	if text, ok := value.(string); ok && !strings.Contains(text, "\n") {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%+v", value)
}

// Has checks that a text has others.
func Has(t testing.TB, what any, text string, others ...string) {
	t.Helper()
	for _, other := range others {
		if !strings.Contains(text, other) {
			t.Errorf("%v: no %s in %s", what, other, text)
		}
	}
}
