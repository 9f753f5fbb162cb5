// Package render turns snapshots into text for people: a box for terminals,
// plain lines, Markdown, a status line, a table of lists, and a description of
// what changed. It also converts snapshots to JSON documents for programs, and
// those back to snapshots.
//
// It guarantees three things about the text for people. No stored text can
// control the terminal, reorder or hide other text, or break out of its line
// (see [Safe]); texts are cleaned when they are written, but this package does
// not rely on it. Columns and borders line up by display cells, also for CJK,
// emoji and combining marks. And every function is pure: the same snapshot, time
// and width produce the same bytes. An item with an unknown status is shown as
// pending.
//
// A text that does not fit is cut, and ends in "…".
//
// Widths are in display cells; a character of ambiguous width counts as one
// cell. Results of several lines end in a line break, results of one line do
// not.
//
// The package imports the standard library, internal/todo, internal/account,
// internal/clients and displaywidth.
package render
