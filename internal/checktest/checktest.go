// Package checktest has the checks that most tests make. It imports the standard library alone,
// so that the tests of every package can import it.
package checktest

import (
	"errors"
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

// Must returns a function that returns value, or ends the test that it is given if err is not nil.
func Must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T { t.Helper(); Check(t, err); return value }
}

// Same checks that got equals want. The argument what names the value in the failure.
func Same[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %s, want %s", what, show(got), show(want))
	}
}

// show returns a text of one line in quotes, which make spaces and controls visible, and a text of more lines
// as it is; both up to 10,000 characters.
func show(value any) string {
	if text, ok := value.(string); ok && !strings.Contains(text, "\n") {
		return fmt.Sprintf("%.10000q", text)
	} else if ok {
		return fmt.Sprintf("%.10000s", text)
	}
	return fmt.Sprintf("%+v", value)
}

// Has checks that a text contains each of the other texts.
func Has(t testing.TB, what any, text string, others ...string) {
	t.Helper()
	for _, other := range others {
		if !strings.Contains(text, other) {
			t.Errorf("%v: no %s in %s", what, other, text)
		}
	}
}

// Err returns the error of a call that returns a value and an error.
func Err(_ any, err error) error { return err }

// Is checks that errors.Is(err, target) is true.
func Is(t testing.TB, what any, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v: %v, want %v", what, err, target)
	}
}

// Fails checks that err is an error whose message contains texts.
func Fails(t testing.TB, what any, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error, want %q", what, texts)
		return
	}
	Has(t, what, err.Error(), texts...)
}
