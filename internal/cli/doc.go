// Package cli is the todo-mcp command line: it has the commands and the
// settings table, and builds store, board, tools and server from them.
//
// A setting is a flag, an environment variable or a line of the config file;
// the first of these that is present wins. One table lists them all. A value
// that is not allowed is an error that says what is allowed, and no command
// runs.
package cli
