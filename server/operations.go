package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"todo-mcp/internal/todo"
)

// Observer is told of every request that is answered, of notifications not. It is
// safe for concurrent use.
type Observer interface {
	// Begin is called before a request is answered. It is answered with the context
	// that Begin returns, and then end is called: by then o is complete.
	Begin(ctx context.Context, o *Operation) (_ context.Context, end func())
}

// Operation is one request of a client. Nothing in it but Meta, Header and
// RequestID was made up by the client.
type Operation struct {
	// Method is the request's method, or "_OTHER" for one that MCP does not have.
	Method string
	// Tool is the tool that is called; empty for another method, and as long as it
	// is not found.
	Tool string
	// RequestID is the request's id as text, cut to 64 bytes.
	RequestID string
	// Protocol is the version of the protocol; empty where it is not said, as on
	// stdio before 2026-07-28.
	Protocol string
	// Transport is "pipe" for stdio and "tcp" for HTTP.
	Transport string
	// ErrorType is empty for a request that succeeded, "tool_error" for a result
	// that says so, "cancelled" for one whose caller had gone before it was answered,
	// and else the code of the JSON-RPC error.
	ErrorType string
	// Meta is the request's _meta, nil for none; Header is empty on stdio.
	Meta   *mcp.Meta
	Header http.Header
}

// Values of [Operation.ErrorType].
const (
	toolError = "tool_error" // a result with isError
	cancelled = "cancelled"  // see abandoned
)

// unlisted is the [Operation.Method] of a method that is not of MCP.
const unlisted = "_OTHER"

// observe returns the options by which mcp-go tells of each request, and adds
// what they leave out to hooks. They are none without observers.
func (c Config) observe(hooks *mcpserver.Hooks) []mcpserver.ServerOption {
	if len(c.Observers) == 0 {
		return nil
	}
	hooks.AddBeforeAny(func(ctx context.Context, id any, _ mcp.MCPMethod, _ any) {
		operationOf(ctx).RequestID = todo.Cut(fmt.Sprint(id), 64)
	})
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		var e interface{ ToJSONRPCError() mcp.JSONRPCError }
		if abandoned(ctx, err) {
			operationOf(ctx).ErrorType = cancelled
		} else if errors.As(err, &e) {
			operationOf(ctx).ErrorType = strconv.Itoa(e.ToJSONRPCError().Error.Code)
		}
	})
	t := operations{c.Observers}
	return []mcpserver.ServerOption{mcpserver.WithTracer(t), mcpserver.WithMetaPropagator(t), mcpserver.WithPropagator(t)}
}

type operationKey struct{}

// operationOf returns the operation of a context; a new one if it has none.
func operationOf(ctx context.Context) *Operation {
	if o, ok := ctx.Value(operationKey{}).(*Operation); ok {
		return o
	}
	return &Operation{}
}

// operations is how mcp-go tells of requests: as a tracer that tells observers. The
// spans that mcp-go has below a request are not told.
type operations struct{ observers []Observer }

// ExtractMeta implements tracing.MetaPropagator; it is called first.
func (operations) ExtractMeta(ctx context.Context, meta *mcp.Meta) context.Context {
	return context.WithValue(ctx, operationKey{}, &Operation{Meta: meta})
}

// Extract implements tracing.Propagator; it is called second.
func (operations) Extract(ctx context.Context, header http.Header) context.Context {
	operationOf(ctx).Header = header
	return ctx
}

// InjectMeta implements tracing.MetaPropagator: nothing is told to clients.
func (operations) InjectMeta(_ context.Context, meta *mcp.Meta) *mcp.Meta { return meta }

// Inject implements tracing.Propagator: nothing is told to clients.
func (operations) Inject(context.Context, http.Header) {}

// Start implements tracing.Tracer.
func (t operations) Start(ctx context.Context, _ string, kind tracing.SpanKind, attributes ...tracing.Attribute) (context.Context, tracing.Span) {
	o := operationOf(ctx)
	if kind != tracing.SpanKindServer {
		return ctx, &ending{operation: o}
	}
	o.Transport = "tcp"
	if PeerOf(ctx).Process {
		o.Transport = "pipe"
	}
	for _, a := range attributes {
		switch a.Key {
		case "mcp.method":
			o.Method = listed(a.Value)
		case "mcp.protocol.version":
			o.Protocol = a.Value
		}
	}
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		o.Protocol = info.ProtocolVersion
	}
	if !slices.Contains(mcp.ValidProtocolVersions, o.Protocol) {
		o.Protocol = ""
	}
	span := &ending{operation: o}
	for _, observer := range t.observers {
		var end func()
		ctx, end = observer.Begin(ctx, o)
		span.ends = append(span.ends, end)
	}
	return tracing.ContextWithSpan(ctx, span), span
}

// listed returns a method that MCP has, else unlisted.
func listed(method string) string {
	switch mcp.MCPMethod(method) {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodServerDiscover, mcp.MethodSetLogLevel, mcp.MethodCompletionComplete,
		mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPromptsList, mcp.MethodPromptsGet,
		mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe,
		mcp.MethodSubscriptionsListen, mcp.MethodTasksGet, mcp.MethodTasksList, mcp.MethodTasksResult, mcp.MethodTasksCancel:
		return method
	}
	return unlisted
}

// ending is the span of an operation, which ends with it.
type ending struct {
	operation *Operation
	ends      []func()
}

func (e *ending) SetAttributes(attributes ...tracing.Attribute) {
	for _, a := range attributes {
		if a.Key == "mcp.tool.name" { // mcp-go has found it
			e.operation.Tool = a.Value
		}
	}
}

// SetStatus implements tracing.Span. The description may quote a client.
func (e *ending) SetStatus(code tracing.StatusCode, _ string) {
	if code == tracing.StatusError && e.operation.ErrorType == "" {
		e.operation.ErrorType = toolError
	}
}

func (e *ending) RecordError(error) {}

// End implements tracing.Span. The observer that began last ends first.
func (e *ending) End() {
	for _, end := range slices.Backward(e.ends) {
		end()
	}
}
