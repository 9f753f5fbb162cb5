//go:build !linux

package cli_test

import "testing"

// built is empty: the scripts run the program of the tests.
func built(*testing.T) string { return "" }
