package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"
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
	// that says so, "cancelled" for one whose caller had gone before it was answered,
	// and else the code of the JSON-RPC error.
	ErrorType string
	// Took is how long it took; for a stream, until its end.
	Took time.Duration
}

// Values of [Operation.ErrorType].
const (
	toolError = "tool_error" // a result with isError
	cancelled = "cancelled"  // see abandoned
)

// unlisted is the [Operation.Method] of a method that is not of MCP.
const unlisted = "_OTHER"

// observe returns the options by which mcp-go tells of each request, and adds
// what they leave out to hooks. They are none if nobody observes.
func (c Config) observe(hooks *mcpserver.Hooks) []mcpserver.ServerOption {
	if c.Observe == nil {
		return nil
	}
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		span, ok := tracing.SpanFromContext(ctx).(*operationSpan)
		if !ok {
			return // it was refused before it was begun
		}
		var e interface{ ToJSONRPCError() mcp.JSONRPCError }
		if abandoned(ctx, err) {
			span.ErrorType = cancelled
		} else if errors.As(err, &e) {
			span.ErrorType = strconv.Itoa(e.ToJSONRPCError().Error.Code)
		}
	})
	return []mcpserver.ServerOption{mcpserver.WithTracer(operationTracer{c.Observe})}
}

// operationTracer is how mcp-go tells of requests: each is a span.
type operationTracer struct{ observe func(Operation) }

// Start implements tracing.Tracer. What mcp-go does below a request is not observed.
func (t operationTracer) Start(ctx context.Context, name string, kind tracing.SpanKind, _ ...tracing.Attribute) (context.Context, tracing.Span) {
	if kind != tracing.SpanKindServer {
		return tracing.NoopTracer().Start(ctx, name, kind)
	}
	peer := PeerOf(ctx)
	span := &operationSpan{Operation: Operation{Method: unlisted, Protocol: peer.Protocol, Transport: "tcp"},
		observe: t.observe, began: time.Now()}
	if peer.Process {
		span.Transport = "pipe"
	}
	if method := strings.TrimPrefix(name, "mcp."); slices.Contains(methods, mcp.MCPMethod(method)) {
		span.Method = method
	}
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		span.Protocol = info.ProtocolVersion
	}
	if !slices.Contains(mcp.ValidProtocolVersions, span.Protocol) {
		span.Protocol = ""
	}
	return tracing.ContextWithSpan(ctx, span), span
}

// methods are those that MCP has for requests.
var methods = []mcp.MCPMethod{
	mcp.MethodInitialize, mcp.MethodPing, mcp.MethodServerDiscover, mcp.MethodSetLogLevel, mcp.MethodCompletionComplete,
	mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPromptsList, mcp.MethodPromptsGet,
	mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead,
	mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSubscriptionsListen,
	mcp.MethodTasksGet, mcp.MethodTasksList, mcp.MethodTasksResult, mcp.MethodTasksCancel,
}

// operationSpan is an operation that goes on.
type operationSpan struct {
	Operation
	observe func(Operation)
	began   time.Time
}

// SetAttributes implements tracing.Span: mcp-go says which tool it has found.
func (s *operationSpan) SetAttributes(attributes ...tracing.Attribute) {
	for _, a := range attributes {
		if a.Key == "mcp.tool.name" {
			s.Tool = a.Value
		}
	}
}

// SetStatus implements tracing.Span. The description may quote a client.
func (s *operationSpan) SetStatus(code tracing.StatusCode, _ string) {
	if code == tracing.StatusError && s.ErrorType == "" {
		s.ErrorType = toolError
	}
}

// RecordError implements tracing.Span. The error may quote a client.
func (s *operationSpan) RecordError(error) {}

// End implements tracing.Span.
func (s *operationSpan) End() {
	s.Took = time.Since(s.began)
	s.observe(s.Operation)
}
