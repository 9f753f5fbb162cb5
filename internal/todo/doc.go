// Package todo is the model of todo-mcp: items, lists, snapshots, the changes
// that lead from one snapshot to the next, and the board that applies them.
//
// It promises three things. A snapshot is immutable and complete: no reader
// ever sees half of a write. A write that was acknowledged is in the [Store],
// and revisions of a list are dense (1, 2, 3 …). A change that writes back
// unchanged what a variant showed loses nothing of the list, whichever variant
// wrote the list before (projection equality, see [View]).
//
// Readers that are slow may miss something: a [Watcher] receives the newest
// snapshot of a list but not each one before it, and [Calls] drop the oldest.
//
// The package imports only the standard library.
package todo
