//go:build !linux

package cli_test

import "testing"

// built returns no folder, so that the scripts run the test binary.
func built(*testing.T) string { return "" }
