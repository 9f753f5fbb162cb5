// Package traces sends spans of MCP requests, and of what they ask of the store, to
// a collector of OpenTelemetry (OTLP over HTTP). It is off unless the standard
// OTEL_ variables turn it on.
//
// Spans have the names and attributes of the OpenTelemetry conventions for MCP, and
// never a text of a list. A collector that is slow or away delays no request: spans
// wait in bounded memory, and what does not fit is dropped.
package traces

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"todo-mcp/internal/store"
	"todo-mcp/server"
)

// Wanted reports whether the OTEL_ variables ask for traces. The error says which
// of them asks for what is not supported; then there are none.
func Wanted(getenv func(string) string) (bool, error) {
	endpoint := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter == "none" || exporter == "" && !endpoint:
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: allowed are otlp and none", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := getenv(name); protocol == "http/protobuf" {
			break
		} else if protocol != "" {
			return false, fmt.Errorf("%s is %q: allowed is http/protobuf", name, protocol)
		}
	}
	return true, nil
}

// closeTimeout is how long the last spans may take to be sent as a process ends.
const closeTimeout = time.Second

// Traces observes MCP requests, and a store. It is safe for concurrent use.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	context  propagation.TextMapPropagator
}

var _ server.Observer = (*Traces)(nil)

// New returns traces of a version of the program, configured by the OTEL_ variables
// of the process: where they are sent, how they are sampled, what is said of this
// service. Failures to send are logged. The caller closes it.
func New(ctx context.Context, version string, log *slog.Logger) (*Traces, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err) }))
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "todo-mcp"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Traces{
		provider: provider, tracer: provider.Tracer("todo-mcp", trace.WithInstrumentationVersion(version)),
		context: propagation.TraceContext{},
	}, nil
}

// Close sends what waits, for at most a second, and ends.
func (t *Traces) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Begin implements server.Observer. The parent is the span that _meta names. That
// of the HTTP header is linked then, and else is the parent itself.
func (t *Traces) Begin(ctx context.Context, o *server.Operation) (context.Context, func()) {
	header := trace.SpanContextFromContext(t.context.Extract(ctx, propagation.HeaderCarrier(o.Header)))
	ctx = t.context.Extract(trace.ContextWithRemoteSpanContext(ctx, header), metaCarrier{o.Meta})
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	if header.IsValid() && !header.Equal(trace.SpanContextFromContext(ctx)) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: header}))
	}
	ctx, span := t.tracer.Start(ctx, o.Method, options...)
	return ctx, func() {
		if span.IsRecording() {
			describe(span, o)
		}
		span.End()
	}
}

// describe gives a span the attributes of a request that was answered.
func describe(span trace.Span, o *server.Operation) {
	set := func(key, value string) {
		if value != "" {
			span.SetAttributes(attribute.String(key, value))
		}
	}
	if o.Tool != "" {
		span.SetName(o.Method + " " + o.Tool)
		set("gen_ai.operation.name", "execute_tool")
	}
	set("mcp.method.name", o.Method)
	set("gen_ai.tool.name", o.Tool)
	set("mcp.protocol.version", o.Protocol)
	set("jsonrpc.request.id", o.RequestID)
	set("network.transport", o.Transport)
	set("error.type", o.ErrorType)
	if o.ErrorType != "" {
		span.SetStatus(codes.Error, "") // no description: it may quote a list
	}
}

// metaCarrier is _meta as a carrier of a trace's context.
type metaCarrier struct{ meta *mcp.Meta }

func (c metaCarrier) Get(key string) string {
	if c.meta == nil {
		return ""
	}
	value, _ := c.meta.AdditionalFields[key].(string)
	return value
}

// Set implements propagation.TextMapCarrier; nothing is told to clients.
func (metaCarrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (metaCarrier) Keys() []string { return nil }

// Store returns the observer of a store. Its calls have spans below that of the
// request they are made for, and none without a request.
func (t *Traces) Store() store.Observer { return storeObserver{t.tracer} }

type storeObserver struct{ tracer trace.Tracer }

func (s storeObserver) Begin(ctx context.Context, operation string) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	ctx, span := s.tracer.Start(ctx, "store "+operation)
	return ctx, func(err error) {
		outcome := store.Outcome(err)
		span.SetAttributes(attribute.String("todo.store.operation", operation), attribute.String("todo.store.outcome", outcome))
		switch outcome {
		case "failed", "unknown":
			span.SetAttributes(attribute.String("error.type", outcome))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
