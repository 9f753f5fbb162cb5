// Package jsonrpc reads what the transports must know of a message before mcp-go
// has it, and words refusals.
//
// It promises that a message which lenient JSON readers take for something else
// is refused (BAD-INPUT 16–21, 26), and that a refusal carries the id of the
// request whenever it can be told, also of a message that is too long to be read.
package jsonrpc
