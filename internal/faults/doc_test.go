// Package faults has only tests. They check that acknowledged writes survive a killed program, a power loss, a disk
// that is lost, full, failing or read-only, several processes that write one list, and a SIGTERM under load.
//
// Every test runs the real binary and real clients of it, on stdio and over HTTP. `make test` runs a short form and
// `make faults` the long one, which ends with a table of what was tried, how often, and what was lost. All tests need
// Linux, some PostgreSQL. Tests with a simulated disk need /dev/fuse; without it they report that they were not run.
package faults
