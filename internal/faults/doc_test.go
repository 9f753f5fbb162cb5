// Package faults holds tests alone: what is left of acknowledged writes when the
// program is killed, the power goes, the disk is full, fails or is read-only, when
// processes write one list at once, and when the program is told to end under load.
//
// Every test runs the real binary and real clients of it, on stdio and over HTTP.
// `make test` runs a short form and `make faults` the long one, which ends with a
// table of what was tried, how often, and what was lost. They need Linux. Those
// that take away what was not synced need /dev/fuse as well, and without it say
// that they were not run.
package faults
