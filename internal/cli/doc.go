// Package cli is todo-mcp as a command: the commands, the settings table, and
// the place where stores, board, tools and server meet.
//
// Settings come from flags, variables and a file, in this order of weight, all
// through one table. A bad value stops the start and says what is allowed.
package cli
