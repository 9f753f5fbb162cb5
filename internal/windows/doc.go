// Package windows has tests that run the program for Windows under Wine, as a person, a
// client and a browser do. `make windows` runs them, and the tests of internal/faults that
// kill it.
package windows
