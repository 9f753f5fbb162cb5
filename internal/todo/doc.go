// Package todo is the model of todo-mcp: items, lists, snapshots, the changes
// that lead from one snapshot to the next, and the board that applies them.
//
// It promises three things. A snapshot is immutable and whole: no reader ever
// sees half of a write. A write that was acknowledged is in the [Store], and
// revisions of a list are dense (1, 2, 3 …). A change that writes back what a
// variant showed, unchanged, loses nothing of what the list holds, whichever
// variant wrote it first (projection equality, see [View]).
//
// It may drop one thing: a [Watcher] that is slow sees the newest snapshot of a
// list, not each one between.
//
// The package imports the standard library only.
package todo
