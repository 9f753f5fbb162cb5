package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

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

// observe tells [Config.Observe] of a message that was answered, if it was a request.
func (r *request) observe(answer mcp.JSONRPCMessage, took time.Duration) {
	if r.server.Observe == nil || r.message.ID == nil {
		return
	}
	method, protocol, transport, errorType := r.message.Method, r.Protocol, "tcp", r.errorType
	if !slices.Contains(methods, mcp.MCPMethod(method)) {
		method = "_OTHER"
	}
	if r.message.Modern {
		protocol = r.message.Protocol
	}
	if !slices.Contains(mcp.ValidProtocolVersions, protocol) {
		protocol = ""
	}
	if r.Process {
		transport = "pipe"
	}
	refused, isRefused := answer.(mcp.JSONRPCError)
	switch {
	case isRefused && errors.Is(r.came.Err(), context.Canceled):
		errorType = errorCancelled
	case isRefused && errorType == "":
		errorType = strconv.Itoa(refused.Error.Code)
	}
	r.server.Observe(took, errorType, r.tool, method, protocol, transport)
}
