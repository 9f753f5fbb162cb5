package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Operation is one request of a client that was answered. Nothing in it was made up
// by the client.
type Operation struct {
	// Method is the request's method, or "_OTHER" for one that MCP does not have.
	Method string
	// Tool is the tool that was called; empty for another method, and for a tool that
	// is not there.
	Tool string
	// Protocol is the version of the protocol; empty where it is not said, as on
	// stdio before 2026-07-28.
	Protocol string
	// Transport is "pipe" for stdio and "tcp" for HTTP.
	Transport string
	// ErrorType is empty for a request that succeeded, "tool_error" for a result
	// that says so, "cancelled" for one whose caller left or cancelled it before it was
	// answered, "read_only" for one that would have changed what its caller may only read,
	// and else the code of the JSON-RPC error.
	ErrorType string
	// Took is how long it took; for a stream, until its end.
	Took time.Duration
}

// The error types that are no codes.
const errorTool, errorCancelled, errorReadOnly = "tool_error", "cancelled", "read_only"

// methods are those that MCP has for requests.
var methods = []mcp.MCPMethod{
	mcp.MethodInitialize, mcp.MethodPing, mcp.MethodServerDiscover, mcp.MethodSetLogLevel, mcp.MethodCompletionComplete,
	mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPromptsList, mcp.MethodPromptsGet,
	mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
	mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSubscriptionsListen,
	mcp.MethodTasksGet, mcp.MethodTasksList, mcp.MethodTasksResult, mcp.MethodTasksCancel,
}

// observe tells of a message that was answered, if it was a request.
func (r *request) observe(answer mcp.JSONRPCMessage, took time.Duration) {
	if r.server.Observe == nil || r.message.ID == nil {
		return
	}
	o := Operation{Method: r.message.Method, Tool: r.tool, Protocol: r.Protocol, Transport: "tcp", Took: took}
	if !slices.Contains(methods, mcp.MCPMethod(o.Method)) {
		o.Method = "_OTHER"
	}
	if r.message.Modern {
		o.Protocol = r.message.Protocol
	}
	if !slices.Contains(mcp.ValidProtocolVersions, o.Protocol) {
		o.Protocol = ""
	}
	if r.Process {
		o.Transport = "pipe"
	}
	refused, isRefused := answer.(mcp.JSONRPCError)
	switch {
	case isRefused && errors.Is(r.came.Err(), context.Canceled):
		o.ErrorType = errorCancelled
	case isRefused && r.errorType == "":
		o.ErrorType = strconv.Itoa(refused.Error.Code)
	default:
		o.ErrorType = r.errorType
	}
	r.server.Observe(o)
}
