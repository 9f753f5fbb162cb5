// Package faults has only tests: which acknowledged writes are left when the program is killed, the power goes, the
// disk is full, fails or is read-only, when processes write one list at once, and when the program is told to end under
// load.
//
// Every test runs the real binary and real clients of it, on stdio and over HTTP. `make test` runs a short form and
// `make faults` the long one, which ends with a table of what was tried, how often, and what was lost. All tests need
// Linux. Tests with a simulated disk need /dev/fuse, too; without it they report that they were not run.
package faults
