// Package server implements the MCP server: its tools, resources, prompts and
// subscriptions, and the rules that derive from a message who is calling and
// which list a call means. The transports are in other packages (server/stdio,
// server/mcphttp); they pass messages to [Server.MCP] and the sender as a
// [Peer] in the context.
//
// Calls on one list are applied in the order in which they arrive. An answer is
// sent only after the change it reports is on disk. Invalid input is refused
// before it reaches a list. The era of the protocol, with sessions or without,
// is decided for each request. Notifications to a client that does not read them
// may be dropped.
package server
