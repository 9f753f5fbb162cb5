// Package server is todo-mcp as an MCP server: the tools, resources and
// prompts, who is calling, and the two transports, stdio and streamable HTTP.
//
// It promises that calls of one list are applied in arrival order, that an
// answer is sent only when what it says is on disk, that one client's messages
// never act on another's calls, and that bad input is refused before it reaches
// a list. Both protocol eras are served on one endpoint, decided per request.
// It may drop notifications to a client that does not read them.
package server
