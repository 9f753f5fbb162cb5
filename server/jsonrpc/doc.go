// Package jsonrpc checks a message and reads its envelope before the transports
// pass it to mcp-go, and builds the answers to refused messages.
//
// A message that lenient JSON readers could interpret differently is refused
// (BAD-INPUT 16–21, 26). The answer to a refused message has the id of the
// request whenever the message has exactly one valid id, even when the message
// is too long to be read.
package jsonrpc
