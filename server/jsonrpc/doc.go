// Package jsonrpc checks a message and reads its envelope before the transports
// pass it to mcp-go, and builds the answers to refused messages.
//
// A message that lenient JSON readers could interpret differently is refused
// (BAD-INPUT 16–21, 26). The answer to a refused message has the id of the
// request whenever the message has exactly one valid id. That holds also for a
// message that is too large to be kept in memory, which is scanned: on stdio for
// one of any size, over HTTP up to the size that package edge reads (BAD-INPUT 8,
// 27).
package jsonrpc
